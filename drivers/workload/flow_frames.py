"""Offered frames of several flows, of which each tells by its source address who forwarded it last."""

from __future__ import annotations

import struct
from collections import Counter
from typing import ClassVar

from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.offered_frames import OfferedFrames

FLOWS = 64  # choice: so many that each replica gets some of them, told apart by their source port
_AT_SOURCE, _AT_HOP_LIMIT, _AT_PORT = slice(6, 12), 22, 34
_FIRST_PORT = 49152  # rfc6335-6: the first dynamic port
_MAC_BITS = 48


class ByForwarder(OfferedFrames):
    """Frames of the flows, in turn, with who forwarded each."""

    _by: dict[int, int]

    def _forget(self) -> None:
        super()._forget()
        self._by = {}

    def _frame(self, number: int) -> bytes:
        whole = super()._frame(number)
        port = struct.pack("!H", _FIRST_PORT + number % FLOWS)
        return whole[:_AT_PORT] + port + whole[_AT_PORT + 2 :]

    def _told(self, frame: bytes) -> int:
        return frame[_AT_HOP_LIMIT] << _MAC_BITS | int.from_bytes(frame[_AT_SOURCE], "big")

    def _passed(self, number: int, told: int) -> bool:
        self._by[number] = told & (1 << _MAC_BITS) - 1
        return super()._passed(number, told >> _MAC_BITS)

    def came_by(self, from_ns: int, until_ns: int) -> Counter[int]:
        """Count the frames that came of those offered in a time, by the address that forwarded them."""
        with self._lock:
            mine = (one for one in self._since(from_ns) if self._sent[one] <= until_ns)
            return Counter(self._by[one] for one in mine if one in self._received)


class FlowFrames(ByForwarder, MovingFrames):
    """The timed frames. They answer for the second port's address, which the replicas ask for."""

    answers: ClassVar[bool] = True

    def settled_ns(self, since_ns: int) -> int | None:
        """Return when the last flow came first by who forwards it in the end; None while all stay."""
        last: dict[int, int] = {}
        moved: dict[int, int] = {}
        with self._lock:
            for number in sorted(self._since(since_ns - FLOWS * 10_000_000)):
                if number not in self._received:
                    continue
                flow, by = number % FLOWS, self._by[number]
                if flow in last and last[flow] != by and self._sent[number] >= since_ns:
                    moved[flow] = self._received[number]
                last[flow] = by
        return max(moved.values(), default=None)


class FlowsBeside(ByForwarder, BesideFrames):
    """Those of a load beside: of the same flows, so that it is spread as the timed frames are."""
