"""The words of the program at the tc hook: what its map holds, and how a member of a segment is told."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.platform_record import bpf

TARGET = struct.Struct("=IIQ")  # struct target of redirect.bpf.c
OBJECT_NOTE = Path("/run/bmwg-tc/object")  # of a node: which object file its kernel was found to take
JsonValue = Any  # as in drivers.api
KEY = struct.Struct("=I")


def member_told(
    name: str, names: Mapping[int, str], stored: bytes | None, member: Mapping[str, Any]
) -> dict[str, JsonValue]:
    """Return a member as evidence: its program by tag, whom it leads to, frames sent there so far.

    `names` are the members by interface number, `stored` is its entry of the map as the kernel has it.
    """
    number, peer, frames = TARGET.unpack(stored) if stored else (0, 0, 0)
    return {
        "interface": name,
        "hook": "tc ingress",
        "program": "redirect",
        "program_tag": bpf.tag(member["program_id"]),
        "target": names.get(number),
        "by": "bpf_redirect_peer" if peer else "bpf_redirect",
        "frames": frames,
    }
