"""What every driver of frames has in common: its kind of load, its ports, and those that a pattern needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing, TesterPort
from bmwg.drivers.api.workload import TWO, Takes
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FRAMES, TrialSpec

if TYPE_CHECKING:
    from bmwg.drivers.testbed.file import Testbed


# What our drivers of frames say of themselves: each sends so many frames, counted, and every port does both.
BY_FRAMES: Mapping[str, JsonValue] = {"load_mode": "frame-based", "duplex": "full"}  # rfc2889-5.1.3, B


class OfFrames:
    """What a tester lacks is refused by its `for_testbed`, before anything is touched."""

    kind: ClassVar[str] = FRAMES
    takes: ClassVar[Takes] = TWO
    one_place: ClassVar[bool] = False
    renews_links: ClassVar[bool] = False

    @classmethod
    def pci_memory_mib(cls, _: Testbed, /) -> int | None:
        """Open no NIC."""
        return None

    def two(self, ports: tuple[TesterPort, ...]) -> tuple[TesterPort, TesterPort]:
        """Return the two ports of a tester that has no more; ConfigError LOAD-01 for another number."""
        self.takes.refuse(type(self).__name__, ports)
        first, second = ports
        return first, second

    def probe(self) -> Missing | None:
        """Nothing is missing of a tester that was made."""
        return None


def refuse_more_ports(spec: TrialSpec, ports: tuple[TesterPort, ...]) -> None:
    """Raise ConfigError TST-17 for a pattern of more ports than are attached."""
    if spec.pattern is not None and spec.pattern.ports > len(ports):
        raise ConfigError(
            "TST-17",
            f"{spec.pattern.words}; no traffic was sent",
            expected=f"{spec.pattern.ports} tester ports",
            found=f"{len(ports)} attached",
            hint="name more ports and their links in the testbed file",
        )
