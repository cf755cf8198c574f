"""Offered frames of which each tells by which way it came: by how many routers it was forwarded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.workload.offered_frames import HOP_LIMIT, OfferedFrames, Seen

_MARGIN_NS = 100_000_000  # choice: a frame may be on its way so long before it is counted as lost
_STEADY_NS = 500_000_000  # choice: so long every frame comes before a way is believed to stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What came of the frames of a time: counts, and times of the monotonic clock in ns.

    `before_ns` is when the last frame was offered that came before the first that was lost, `stopped_ns` when
    the latter was, `again_ns` when the first came after the last that was lost; None where none was. A frame
    that went round, and did not come by the path as well, is `bypassed` and not lost.
    """

    offered: int
    received: int
    bypassed: int
    before_ns: int | None
    stopped_ns: int | None
    again_ns: int | None

    @property
    def lost(self) -> int:
        """How many neither came nor went round."""
        return self.offered - self.received - self.bypassed


class MovingFrames(OfferedFrames):
    """Offers frames to what may be at one of several distances, each known by its number of routers.

    `answers`: say at the second port that its address is there, to whoever asks.
    """

    answers: ClassVar[bool] = False

    def __init__(
        self,
        ports: tuple[TesterPort, TesterPort],
        *,
        frame_octets: int,
        interval_us: int,
        ways: tuple[int, ...],
    ) -> None:
        """`ways` are the numbers of routers that may have forwarded a frame."""
        self._left_of = {HOP_LIMIT - routers: routers for routers in ways}
        self._way: dict[int, int] = {}
        super().__init__(
            ports,
            frame_octets=frame_octets,
            interval_us=interval_us,
            routers=ways[0],
            answers=self.answers,
        )

    def _forget(self) -> None:
        super()._forget()
        self._way = {}

    def _passed(self, number: int, told: int) -> bool:
        if (routers := self._left_of.get(told)) is None:
            return False
        self._way[number] = routers
        return True

    def first_by(self, routers: int, since_ns: int) -> tuple[int, int | None] | None:
        """Return when the first frame came by that way, of those offered since a time; None while none did.

        And when the frame before it was offered, whatever came of that.
        """
        with self._lock:
            mine = [number for number in self._since(since_ns) if self._way.get(number) == routers]
            if not mine:
                return None
            first = min(mine, key=lambda number: self._received[number])
            return self._received[first], self._sent.get(first - 1)

    def last_by(self, routers: int, since_ns: int) -> int | None:
        """Return when the last frame came by that way, of those offered since a time; None where none did."""
        with self._lock:
            came = [self._received[one] for one in self._since(since_ns) if self._way.get(one) == routers]
            return max(came, default=None)

    def first_since(self, since_ns: int) -> tuple[int, int | None] | None:
        """Return when the first frame came of those offered since a time; None while none did.

        And when the last was offered before that, which may have been after this one: it had waited.
        """
        with self._lock:
            came = [one for one in self._since(since_ns) if one in self._received]
            if not came:
                return None
            first = min(came, key=lambda number: self._received[number])
            first_ns = self._received[first]
            others = (at for one, at in self._sent.items() if one != first and at < first_ns)
            return first_ns, max(others, default=None)

    def last_before(self, until_ns: int, since_ns: int) -> int | None:
        """Return when the last frame came of those offered since a time and before another; None: none."""
        with self._lock:
            mine = [one for one in self._since(since_ns) if self._sent[one] <= until_ns]
            return max((self._received[one] for one in mine if one in self._received), default=None)

    def steady(self, now_ns: int) -> bool:
        """Whether all frames came that were offered in the half second before now, but for the very last."""
        with self._lock:
            least_ns = now_ns - _STEADY_NS
            mine = [one for one in self._since(least_ns) if self._sent[one] <= now_ns - _MARGIN_NS]
            return bool(mine) and all(one in self._received for one in mine)

    def settled_since(self, since_ns: int, now_ns: int) -> bool:
        """Whether the half second in which all frames came lies wholly after a time."""
        return now_ns >= since_ns + _STEADY_NS + _MARGIN_NS and self.steady(now_ns)

    def outage(self, from_ns: int, now_ns: int) -> tuple[int, Outage]:
        """Return until when frames are counted, and what came of those offered from a time until then."""
        until_ns = now_ns - _MARGIN_NS
        with self._lock:
            mine = sorted(one for one in self._since(from_ns) if self._sent[one] <= until_ns)
            came = [one for one in mine if one in self._received]
            round_it = [one for one in mine if one in self._bypassed and one not in self._received]
            lost = sorted({*mine} - {*came} - {*round_it})
            before = stopped = again = None
            if lost:
                before = max((self._sent[one] for one in came if one < lost[0]), default=None)
                stopped = self._sent[lost[0]]
                again = min((self._received[one] for one in came if one > lost[-1]), default=None)
        return until_ns, Outage(
            offered=len(mine),
            received=len(came),
            bypassed=len(round_it),
            before_ns=before,
            stopped_ns=stopped,
            again_ns=again,
        )

    def amid(
        self,
        counted: tuple[int, Outage],
        first: tuple[int, int | None] | None,
        last_ns: int | None,
        odd: tuple[int, int],
    ) -> Seen:
        """Return what came of an act: its counted outage, and its first frame if that came by then.

        `odd` are the oddities as they were before it.
        """
        until_ns, out = counted
        reordered, _ = self.oddities
        first_ns, not_before_ns = first if first is not None and first[0] <= until_ns else (None, None)
        return Seen(
            offered=out.offered,
            received=out.received,
            reordered=reordered - odd[0],
            bypassed=out.bypassed,
            not_before_ns=not_before_ns,
            first_ns=first_ns,
            last_ns=last_ns,
        )
