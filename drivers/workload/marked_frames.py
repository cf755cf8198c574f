"""Offered frames of which each tells by which configuration it came: by the mark (DSCP) that this gave it."""

from __future__ import annotations

from typing import ClassVar

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.offered_frames import OfferedFrames

_AT_SERVICE = 15  # the octet of a frame whose six high bits are the DSCP
MARKS = (10, 18)  # choice: AF11 and AF21 (rfc2597-6); frames are offered with none


class ByMark(OfferedFrames):
    """Frames of which those count that have one of the marks; the others went round."""

    tells_at: ClassVar[int] = _AT_SERVICE
    _way: dict[int, int]

    def _forget(self) -> None:
        super()._forget()
        self._way = {}

    def _passed(self, number: int, told: int) -> bool:
        self._way[number] = told >> 2
        return self._way[number] in MARKS

    def came(self, mark: int, from_ns: int, until_ns: int) -> int:
        """How many frames came with that mark, of those offered in a time."""
        with self._lock:
            mine = (one for one in self._since(from_ns) if self._sent[one] < until_ns)
            return sum(self._way.get(one) == mark for one in mine)


class MarkedFrames(ByMark, MovingFrames):
    """The timed frames."""

    def __init__(self, ports: tuple[TesterPort, TesterPort], *, frame_octets: int, interval_us: int) -> None:
        super().__init__(ports, frame_octets=frame_octets, interval_us=interval_us, ways=MARKS)


class MarkedBeside(ByMark, BesideFrames):
    """Those of a load beside."""
