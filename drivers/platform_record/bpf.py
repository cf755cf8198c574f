"""What a BPF program is: its tag, a hash of its instructions, while its id is only a number given out."""

from __future__ import annotations

import ctypes
import os
import platform
import struct

SYSCALL = {"x86_64": 321, "aarch64": 280}
_PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD = 13, 15
_INFO_OCTETS, _TAG_AT, _TAG_OCTETS = 64, 8, 8  # struct bpf_prog_info: type, id, tag, ...


def tag(program: int | None) -> str | None:
    """The kernel's tag of a loaded program in hexadecimal; None when it may not be asked or is gone."""
    number = SYSCALL.get(platform.machine())
    if number is None or not program:
        return None
    library = ctypes.CDLL(None, use_errno=True)
    wanted = ctypes.create_string_buffer(struct.pack("=III", program, 0, 0), 12)
    descriptor = library.syscall(number, _PROG_GET_FD_BY_ID, wanted, ctypes.sizeof(wanted))
    if descriptor < 0:
        return None
    try:
        info = ctypes.create_string_buffer(_INFO_OCTETS)
        asked = ctypes.create_string_buffer(
            struct.pack("=IIQ", descriptor, _INFO_OCTETS, ctypes.addressof(info)), 16
        )
        if library.syscall(number, _OBJ_GET_INFO_BY_FD, asked, ctypes.sizeof(asked)) != 0:
            return None
        return info.raw[_TAG_AT : _TAG_AT + _TAG_OCTETS].hex()
    finally:
        os.close(descriptor)
