"""A disk image that a guest gets as its root: what it is, and that it is the one that was recorded.

The header is read here and by no other program: a format is never guessed by whoever opens the image later,
and a file that an image names is never opened. Nothing writes an image.

Ids: IMAGE-01 it cannot be read, IMAGE-02 it is no disk image that a guest can have, IMAGE-03 it rests on
another file, IMAGE-04 it is encrypted, IMAGE-05 it is damaged, IMAGE-06 it is not the one that was recorded.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from dataclasses import asdict, dataclass
from enum import StrEnum

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError

READ_DEADLINE_S = 900.0  # choice: 20 GB at 25 MB/s
_CHUNK_OCTETS = 1 << 20
_HEAD_OCTETS = 64 << 10  # all that is looked at lies in it
_SECTOR_OCTETS = 512
_QCOW2 = b"QFI\xfb"
_QCOW2_FIELDS = struct.Struct(">4sIQIIQIIQ")  # up to the table's place; of all versions
_FEATURES_AT = 72  # from version 3 on
_DIRTY, _CORRUPT, _DATA_ELSEWHERE, _KNOWN_FEATURES = 1, 2, 4, 0b11111
_CLUSTER_BITS = range(9, 22)
_BOOT_SIGNATURE = (510, b"\x55\xaa")  # of a partition table, GPT's protective one too
_EXT_SIGNATURE = (1080, b"\x53\xef")  # of ext2, ext3, ext4 without partitions
_OTHERS = (  # formats that would pass for a raw disk
    (0, b"KDMV", "VMDK"),
    (0, b"# Disk DescriptorFile", "VMDK"),
    (0, b"vhdxfile", "VHDX"),
    (0, bytes.fromhex("636f6e6563746978"), "VHD"),
    (0, b"QED\0", "QED"),
    (64, b"\x7f\x10\xda\xbe", "VDI"),
    (32769, b"CD001", "an ISO 9660 image"),
)
_LUKS = b"LUKS\xba\xbe"


class Format(StrEnum):
    """How an image lies in its file, in QEMU's words."""

    RAW = "raw"
    QCOW2 = "qcow2"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestImage:
    """An image as it was found. `octets` is the file's length, `virtual_octets` the disk's in the guest."""

    path: str
    format: Format
    sha256: str
    octets: int
    virtual_octets: int

    @property
    def file(self) -> str:
        """The file's name; its folder tells of a machine what no record needs."""
        return os.path.basename(self.path)

    def record(self) -> dict[str, JsonValue]:
        """What records keep."""
        kept = {name: value for name, value in asdict(self).items() if name != "path"}
        return {"file": self.file, **kept, "format": self.format.value}

    def reference(self) -> dict[str, JsonValue]:
        """What a node needs to find the same image."""
        return {"path": self.path, "sha256": self.sha256}


_Identity = tuple[int, int, int, int, int]
_examined: dict[tuple[str, _Identity], GuestImage] = {}


def examine(path: str, *, within_s: float = READ_DEADLINE_S) -> GuestImage:
    """Tell what an image is and hash its file (octets); again only when the file is another one.

    Raises ConfigError IMAGE-01 to IMAGE-05, TestbedError IMAGE-06 for one that is written meanwhile.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "a folder" if stat.S_ISDIR(status.st_mode) else "no plain file")
        if status.st_size == 0:
            raise _unreadable(path, "an empty one")
        known = _examined.get((path, _identity(status)))
        if known is not None:
            return known
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            kind, virtual_octets = layout(os.pread(descriptor, _HEAD_OCTETS, 0), status.st_size, path)
            sha256 = _hashed(descriptor, path, time.monotonic() + within_s)
            if _identity(os.fstat(descriptor)) != _identity(status):
                raise _changed(path, "an image that nobody writes", "it changed while it was read")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    found = GuestImage(
        path=path, format=kind, sha256=sha256, octets=status.st_size, virtual_octets=virtual_octets
    )
    _examined[path, _identity(status)] = found
    return found


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _hashed(descriptor: int, path: str, end_s: float) -> str:
    digest = hashlib.sha256()
    offset = 0
    while chunk := os.pread(descriptor, _CHUNK_OCTETS, offset):
        digest.update(chunk)
        offset += len(chunk)
        if time.monotonic() > end_s:
            raise _unreadable(path, f"only {offset} octets were read in time")
    return digest.hexdigest()


def layout(head: bytes, octets: int, path: str) -> tuple[Format, int]:
    """Tell format and virtual size (octets) from the beginning of an image whose file has so many octets.

    Raises ConfigError IMAGE-02 to IMAGE-05.
    """
    if head.startswith(_QCOW2):
        return Format.QCOW2, _qcow2(head, octets, path)
    if head.startswith(_LUKS):
        raise _encrypted(path, "LUKS")
    for place, magic, name in _OTHERS:
        if head[place:].startswith(magic):
            raise _foreign(path, name)
    if not any(head[place:].startswith(magic) for place, magic in (_BOOT_SIGNATURE, _EXT_SIGNATURE)):
        raise _foreign(path, "neither qcow2 nor a partition table nor an ext file system")
    if octets % _SECTOR_OCTETS:
        raise _damaged(path, f"a raw disk of {octets} octets, which are no whole sectors")
    return Format.RAW, octets


def _qcow2(head: bytes, octets: int, path: str) -> int:
    if len(head) < _FEATURES_AT + 8:
        raise _damaged(path, f"a header of {len(head)} octets")
    _, version, backing_at, _, cluster_bits, virtual_octets, crypt, entries, table_at = (
        _QCOW2_FIELDS.unpack_from(head)
    )
    if version not in (2, 3):
        raise _foreign(path, f"qcow of version {version}")
    features = struct.unpack_from(">Q", head, _FEATURES_AT)[0] if version > 2 else 0
    if features & ~_KNOWN_FEATURES:
        raise _foreign(path, f"qcow2 with the unknown features {features & ~_KNOWN_FEATURES:#x}")
    if backing_at:
        raise _not_alone(path, "a backing file")
    if features & _DATA_ELSEWHERE:
        raise _not_alone(path, "an external data file")
    if crypt:
        raise _encrypted(path, f"qcow2 with encryption method {crypt}")
    if features & (_DIRTY | _CORRUPT):
        raise _damaged(path, "marked corrupt" if features & _CORRUPT else "marked as not closed")
    if cluster_bits not in _CLUSTER_BITS or not virtual_octets:
        raise _damaged(path, f"clusters of 2^{cluster_bits} octets, a disk of {virtual_octets} octets")
    if not table_at or table_at + 8 * entries > octets:
        raise _damaged(path, f"a table that ends at octet {table_at + 8 * entries} of {octets}")
    return int(virtual_octets)


def require(*, path: str, sha256: str) -> GuestImage:
    """Return the image of this hash; TestbedError IMAGE-06 if it is another now, or what `examine` raises."""
    found = examine(path)
    if found.sha256 != sha256:
        raise _changed(path, f"SHA-256 {sha256}", f"SHA-256 {found.sha256}")
    return found


def unfit(*, path: str, sha256: str) -> str | None:
    """Node function: why this node cannot give a guest the image of this hash; None when it can."""
    try:
        require(path=path, sha256=sha256)
    except ToolkitError as error:
        return f"{error.error_id} {error.found}"
    return None


def _unreadable(path: str, found: str) -> ConfigError:
    return ConfigError(
        "IMAGE-01",
        f"disk image {os.path.basename(path)} cannot be read",
        expected=f"a readable file at {path}",
        found=found,
        hint="vms.image of the testbed file: absolute or relative to that file, not below /run (nodes have"
        " their own)",
    )


def _foreign(path: str, found: str) -> ConfigError:
    return ConfigError(
        "IMAGE-02",
        f"{os.path.basename(path)} is no disk image that a guest can have",
        expected="qcow2, or a raw disk with a partition table or an ext file system",
        found=found,
        hint="qemu-img convert -O qcow2 FROM TO makes one",
    )


def _not_alone(path: str, found: str) -> ConfigError:
    return ConfigError(
        "IMAGE-03",
        f"disk image {os.path.basename(path)} rests on another file",
        expected="one file, which is what the record names by its hash",
        found=found,
        hint="qemu-img convert -O qcow2 FROM TO makes one that holds everything",
    )


def _encrypted(path: str, found: str) -> ConfigError:
    return ConfigError(
        "IMAGE-04",
        f"disk image {os.path.basename(path)} is encrypted",
        expected="one that a guest can read without a secret",
        found=found,
        hint="qemu-img convert -O qcow2 FROM TO makes one that holds everything",
    )


def _damaged(path: str, found: str) -> ConfigError:
    return ConfigError(
        "IMAGE-05",
        f"disk image {os.path.basename(path)} is damaged",
        expected="a whole image that was closed",
        found=found,
        hint="qemu-img check says more",
    )


def _changed(path: str, expected: str, found: str) -> TestbedError:
    return TestbedError(
        "IMAGE-06",
        f"disk image {os.path.basename(path)} is not the one that was recorded",
        expected=expected,
        found=found,
        hint="nothing may write an image while a run uses it",
    )
