"""What a place boots or unpacks before its program runs, in octets, each with what was counted.

A number never stands without that: a file's length is not what its file system gave to it, and a layer that
is packed is not what it unpacks to. What runs on the root of its host has no image, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

KEY: Final = "boots_or_unpacks"  # in the evidence of whatever it is told of


class Counted(StrEnum):
    """What of a file or an image was counted, by the name that its number has in a record."""

    LENGTH = "length_octets"
    ALLOCATED = "allocated_octets"
    PACKED = "packed_octets"
    ARCHIVE = "archive_octets"
    UNPACKED = "unpacked_octets"
    AS_TOLD = "told_octets"


WORDS: Mapping[Counted, str] = MappingProxyType(
    {
        Counted.LENGTH: "lengths of the files (apparent size)",
        Counted.ALLOCATED: "what the file system holds for the files (allocated size)",
        Counted.PACKED: "layers, compressed as the archive has them",
        Counted.ARCHIVE: "layers as tar archives, not compressed",
        Counted.UNPACKED: "lengths of the files in the layers, unpacked",
        Counted.AS_TOLD: "as the cluster's API tells it; runtimes count differently, compressed or unpacked",
    }
)
KERNEL, INITRAMFS, DISK, LAYERS = "kernel", "initramfs", "disk image", "container image"
UNPACKED_KERNEL = "kernel (uncompressed by us)"  # a distribution's own file is several times smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Booted:
    """`parts` are octets by what was counted, of each thing that is booted or unpacked, by its name.

    `besides` says what else the place has that has no octets of its own. Without parts it is a sentence by
    itself: that there are none (`none: ...`), or why they are not known.
    """

    parts: Mapping[str, Mapping[Counted, int]] = field(default_factory=dict)
    besides: str = ""

    def __post_init__(self) -> None:
        """Refuse what says nothing, and numbers that are no counts."""
        if not self.parts and not self.besides:
            raise ValueError("nothing is booted or unpacked, and nothing says why")
        for name, told in self.parts.items():
            for counted, octets in told.items():
                if octets < 0:
                    raise ValueError(f"{name}: {Counted(counted).value} is {octets}")

    def total(self, counted: Counted) -> int | None:
        """Return the sum over all parts; None where one of them has no such number, or there is none."""
        each = [told.get(counted) for told in self.parts.values()]
        return None if not each or None in each else sum(octets for octets in each if octets is not None)

    def as_builtins(self) -> dict[str, Any]:
        """Return what a record holds: the numbers, and what each name of them means."""
        counted = [one for one in Counted if any(one in told for told in self.parts.values())]
        return {
            "parts": {name: {one.value: told[one] for one in told} for name, told in self.parts.items()},
            "counted": {one.value: WORDS[one] for one in counted},
            "besides": self.besides,
        }

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> Booted:
        """Read what `as_builtins` gave. Raises ValueError for a number of a name that is not known."""
        parts = {
            name: {Counted(counted): int(octets) for counted, octets in told.items()}
            for name, told in data["parts"].items()
        }
        return cls(parts=parts, besides=data["besides"])


ROOT_OF_ITS_NODE = Booted(besides="none: the root of its node, read-only")
NATIVE = Booted(besides="none: the root of its host")
