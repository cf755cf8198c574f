"""What of libbpf the networks need, by ctypes: load an object, fill a map, attach a program at a tc hook.

The library is the one that the tester is linked with. Ids: BPF-01 it is not there, BPF-02 the kernel refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from bmwg.methodology.errors import TestbedError

_NAME = "libbpf.so.1"
INGRESS, EGRESS = 1, 2  # enum bpf_tc_attach_point
_MAP_INFO_OCTETS = 64  # struct bpf_map_info: type, id, ...; the kernel fills what there is room for


class _Hook(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("interface", ctypes.c_int),
        ("attach_point", ctypes.c_int),
        ("parent", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
    )


class _Options(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("program", ctypes.c_int),
        ("flags", ctypes.c_uint32),
        ("program_id", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
    )


def library() -> ctypes.CDLL:
    """Return libbpf, silent; TestbedError BPF-01 without it."""
    try:
        found = ctypes.CDLL(_NAME, use_errno=True)
    except OSError as error:
        raise TestbedError(
            "BPF-01", f"no {_NAME}", found=str(error), hint="apt-get install libbpf-dev"
        ) from error
    for name in ("bpf_object__open_file", "bpf_object__find_program_by_name", "bpf_object__find_map_by_name"):
        getattr(found, name).restype = ctypes.c_void_p
    found.libbpf_set_print(None)
    return found


class Object:
    """A loaded object file: its programs and maps live as long as it, or what they are attached to."""

    def __init__(self, path: Path) -> None:
        self._library = library()
        opened = self._library.bpf_object__open_file(str(path).encode(), None)
        if not opened:
            raise _refused(f"open {path}", -ctypes.get_errno())
        self._object = ctypes.c_void_p(opened)
        _check(self._library.bpf_object__load(self._object), f"load {path.name}")

    def program(self, name: str) -> int:
        """Return the file descriptor of a program."""
        found = self._library.bpf_object__find_program_by_name(self._object, name.encode())
        return int(self._library.bpf_program__fd(ctypes.c_void_p(found)))

    def map(self, name: str) -> int:
        """Return the file descriptor of a map."""
        found = self._library.bpf_object__find_map_by_name(self._object, name.encode())
        return int(self._library.bpf_map__fd(ctypes.c_void_p(found)))

    def write(self, map_fd: int, key: bytes, value: bytes) -> None:
        """Store an entry of a map."""
        _check(self._library.bpf_map_update_elem(map_fd, key, value, ctypes.c_uint64(0)), "write a map")

    def erase(self, map_fd: int, key: bytes) -> None:
        """Remove an entry of a map, if it is there."""
        self._library.bpf_map_delete_elem(map_fd, key)

    def attach(self, program: int, interface: int) -> int:
        """Attach a program at the tc ingress hook of an interface (by number); return the program's id."""
        hook = _Hook(size=ctypes.sizeof(_Hook), interface=interface, attach_point=INGRESS)
        made = self._library.bpf_tc_hook_create(ctypes.byref(hook))
        if made not in (0, -errno.EEXIST):
            raise _refused("make a tc hook", made)
        options = _Options(size=ctypes.sizeof(_Options), program=program)
        _check(
            self._library.bpf_tc_attach(ctypes.byref(hook), ctypes.byref(options)), "attach at the tc hook"
        )
        return int(options.program_id)

    def close(self) -> None:
        """Let go of the object; what is attached stays."""
        self._library.bpf_object__close(self._object)


def read(map_fd: int, key: bytes, octets: int) -> bytes | None:
    """Return an entry of a map, or None."""
    value = ctypes.create_string_buffer(octets)
    return value.raw if library().bpf_map_lookup_elem(map_fd, key, value) == 0 else None


def map_number(map_fd: int) -> int:
    """Return the number by which the kernel knows a map, as long as anything uses it."""
    info = ctypes.create_string_buffer(_MAP_INFO_OCTETS)
    length = ctypes.c_uint32(_MAP_INFO_OCTETS)
    _check(library().bpf_obj_get_info_by_fd(map_fd, info, ctypes.byref(length)), "tell of a map")
    return int(struct.unpack_from("=II", info.raw)[1])


@contextlib.contextmanager
def map_of(number: int) -> Iterator[int]:
    """Open the map of a number; TestbedError BPF-02 when nothing uses it any more."""
    descriptor = library().bpf_map_get_fd_by_id(ctypes.c_uint32(number))
    _check(descriptor, f"open map {number}")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def detach(interface: int) -> None:
    """Remove the tc hook of an interface with all that is attached there. Idempotent."""
    hook = _Hook(size=ctypes.sizeof(_Hook), interface=interface, attach_point=INGRESS | EGRESS)
    library().bpf_tc_hook_destroy(ctypes.byref(hook))


def _check(result: int, act: str) -> None:
    if result < 0:
        raise _refused(act, result)


def _refused(act: str, result: int) -> TestbedError:
    number = -result
    return TestbedError(
        "BPF-02",
        f"the kernel refused to {act}",
        found=f"{errno.errorcode.get(number, str(number))} {os.strerror(number)}",
        hint="Linux 5.10 or newer with cls_bpf is needed, and root",
    )
