"""A configuration that is exchanged for another while frames pass: rules of a firewall, flows of a switch.

Frames are offered all the time, and each that comes tells by a mark which configuration let it through. So
it is seen from when the new one is in force, and what was lost on the way; counters of the function, read
while nothing is offered, show that the old one let all through before, and the new one after. There and back
are two exchanges.

Ids: EXCH-01 frames are lost while nothing is exchanged.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import ClassVar

from bmwg.drivers.actuators.place import Place
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload import exchanged_flows, exchanged_rules
from bmwg.drivers.workload.beside_frames import HalfLoad, half_load
from bmwg.drivers.workload.lost_frames import counted, fared, loss, until
from bmwg.drivers.workload.marked_frames import MARKS, ByMark, MarkedBeside, MarkedFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.methodology.errors import DriverError, ToolkitError
from bmwg.methodology.kinds.acts.experiments import NODE_PATH, PATH, SWITCH_PATH
from bmwg.methodology.kinds.acts.records import (
    FLUSH_FIRST,
    TABLE_FLUSHED,
    TABLE_LOADING,
    ActsSpec,
    Life,
)


class Exchanges(OfActs):
    """Exchanges a configuration of what stands, there and back, with frames on their way all the time."""

    tells: ClassVar[str] = "what is exchanged, by whose mark a frame is known"
    wait_s: ClassVar[float] = (
        0.0  # that nothing stands between two steps of an exchange, besides what they take
    )
    counts_at_once: ClassVar[bool] = True  # a frame is counted by what stands when it passes, and not later

    @abstractmethod
    def exchange(self, place: Place, *, entries: int, mark: int, flush_first: bool) -> dict[str, int]:
        """Have the configuration of that mark in force; returns moments of the monotonic clock."""

    @abstractmethod
    def counts(self, place: Place) -> dict[str, int]:
        """Return what each configuration has let through, by its mark, and what was `stopped`."""

    def prepare(self, place: Place) -> None:
        """Make what stands beside both configurations."""

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        place = Place(cell=ground.cell, bed=ground.bed)
        with ExitStack() as stack:
            deployment = stack.enter_context(path_driver(ground.cell, ground.bed).deploy())
            self.prepare(place)
            self.exchange(place, entries=spec.entries, mark=MARKS[0], flush_first=False)
            ports = (deployment.ports[0], deployment.ports[1])
            frames = MarkedFrames(ports, frame_octets=spec.frame_octets, interval_us=spec.interval_us)
            stack.enter_context(frames.offering())
            frames.begin()
            if not frames.wait(spec.first_frame_s):
                return
            beside = stack.enter_context(half_load(ports, spec, routers=0, by=MarkedBeside))
            while len(lives) < spec.cycles:
                old, new = MARKS if len(lives) % 2 == 0 else MARKS[::-1]
                lives.append(_Exchange(self, place, frames, beside, spec, began_ns).life(old, new))


class FilterExchanges(Exchanges):
    """The rules of a firewall, in a node's kernel or in that of a pod."""

    paths: ClassVar[tuple[str, ...]] = (NODE_PATH, PATH)
    function: ClassVar[str] = "firewall"

    def exchange(self, place: Place, *, entries: int, mark: int, flush_first: bool) -> dict[str, int]:
        """Have these rules in force."""
        return place.router(
            exchanged_rules.exchange,
            entries=entries,
            mark=mark,
            flush_first=flush_first,
            wait_s=self.wait_s,
        )

    def counts(self, place: Place) -> dict[str, int]:
        """Return what the rules count."""
        return place.router(exchanged_rules.counts, marks=list(MARKS))


class FlowExchanges(Exchanges):
    """The flows of an Open vSwitch."""

    paths: ClassVar[tuple[str, ...]] = (SWITCH_PATH,)
    function: ClassVar[str] = "ovs-netdev"
    counts_at_once: ClassVar[bool] = False  # Open vSwitch gives what it has not counted yet to the new flows

    def prepare(self, place: Place) -> None:
        """Have the table that counts."""
        place.node.call(exchanged_flows.prepare, marks=list(MARKS))

    def exchange(self, place: Place, *, entries: int, mark: int, flush_first: bool) -> dict[str, int]:
        """Have these flows in force."""
        return place.node.call_within(
            60.0,
            exchanged_flows.exchange,
            entries=entries,
            mark=mark,
            flush_first=flush_first,
            wait_s=self.wait_s,
        )

    def counts(self, place: Place) -> dict[str, int]:
        """Return what the flows count."""
        return place.node.call(exchanged_flows.counts, marks=list(MARKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """A time in which one configuration stood: what came of its frames, and what the function counted."""

    counts: dict[str, int]  # at its end
    came: int
    by_rule: int
    by_others: int


class _Exchange:
    """One exchange, from the request until all frames come by the new configuration."""

    def __init__(
        self,
        by: Exchanges,
        place: Place,
        frames: MarkedFrames,
        beside: HalfLoad | None,
        spec: ActsSpec,
        began_ns: int,
    ) -> None:
        self._by, self._place, self._frames, self._beside = by, place, frames, beside
        self._spec, self._began_ns = spec, began_ns
        self._senders: Sequence[ByMark] = [frames]
        if beside is not None and isinstance(beside.frames, ByMark):
            self._senders = [frames, beside.frames]

    def life(self, old: int, new: int) -> Life:
        """Exchange it. Raises what the exchange raises, and says how the frames fared meanwhile."""
        frames, spec = self._frames, self._spec
        before = self._side(old)
        from_ns = time.monotonic_ns()
        self._require_steady(from_ns)
        odd = frames.oddities
        asked_ns = time.monotonic_ns()
        try:
            steps = self._by.exchange(
                self._place, entries=spec.entries, mark=new, flush_first=spec.mode == FLUSH_FIRST
            )
        except ToolkitError as error:
            raise fared(error, frames, asked_ns, spec.first_frame_s) from error
        ready_ns = time.monotonic_ns()
        first = until(lambda: frames.first_by(new, asked_ns), spec.first_frame_s)
        since_ns = time.monotonic_ns()  # of the first frame by it, which may come long after it is confirmed
        by_frames = counted(frames, asked_ns, since_ns=since_ns, within_s=spec.first_frame_s)
        beside = {} if self._beside is None else self._beside.told(asked_ns, by_frames[0])
        until_ns = time.monotonic_ns()
        after = self._side(new)
        amid = {name: self._first[name] - count for name, count in before.counts.items()}
        passed = [one.between(from_ns, time.monotonic_ns()) for one in self._senders]
        told = {
            "before_came_frames": before.came,
            "before_rule_frames": before.by_rule,
            "after_came_frames": after.came,
            "after_rule_frames": after.by_rule,
            "wrong_rule_frames": before.by_others + after.by_others,
            "sent_frames": sum(offered for offered, _ in passed),
            "came_frames": sum(received for _, received in passed),
            "counted_frames": sum(amid.values()) + after.by_rule + after.by_others,
            "stale_frames": sum(one.came(old, ready_ns, until_ns) for one in self._senders),
        }
        if self._by.counts_at_once:
            told["stopped_frames"] = amid["stopped"]
        if TABLE_FLUSHED in steps:
            flushed = steps[TABLE_FLUSHED], steps[TABLE_LOADING]
            told["came_when_flushed_frames"] = sum(one.came(old, *flushed) for one in self._senders)
        life = life_of(
            frames.amid(by_frames, first, frames.last_by(old, asked_ns), odd),
            self._began_ns,
            asked_ns=asked_ns,
            steps={**steps, **loss(by_frames[1], asked_ns)},
            moments={"ready_ns": ready_ns},
        )
        return replace(life, told={**told, **beside})

    def _side(self, mark: int) -> _Side:
        """Let frames pass while nothing is exchanged, and count them at the tester and in the function."""
        self._first = first = self._counts()
        from_ns = time.monotonic_ns()
        self._require_steady(from_ns)
        last = self._counts()
        counted = {name: count - first[name] for name, count in last.items()}
        until_ns = time.monotonic_ns()
        return _Side(
            counts=last,
            came=sum(one.came(mark, from_ns, until_ns) for one in self._senders),
            by_rule=counted.pop(str(mark)),
            by_others=sum(counted.values()),
        )

    def _counts(self) -> dict[str, int]:
        """Return the function's counts, of a time in which nothing is on its way."""
        with ExitStack() as stack:
            for sender in self._senders:
                stack.enter_context(sender.pausing())
            return self._by.counts(self._place)

    def _require_steady(self, from_ns: int) -> None:
        now = time.monotonic_ns
        if (
            until(lambda: self._frames.settled_since(from_ns, now()) or None, self._spec.first_frame_s)
            is None
        ):
            raise DriverError(
                "EXCH-01",
                "an exchange of a configuration",
                expected=f"half a second in which all frames come, within {self._spec.first_frame_s:g} s",
                found="frames that are lost while nothing is exchanged",
            )


_: type[ActsWorkload] = FilterExchanges
__: type[ActsWorkload] = FlowExchanges
