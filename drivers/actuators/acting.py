"""A tester with more than traffic: an act on the DUT, a modifier or a neighbour beside the frames.

The trial's spec says what goes on, the result when it did.
Ids: ACT-02 an act that nothing here can do, ACT-03 an act that did not end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from bmwg.drivers import registry
from bmwg.drivers.actuators.place import Act, Actuator, Place
from bmwg.drivers.api.protocols import JsonValue, Trials
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.watch import clocks, frame_neighbours
from bmwg.drivers.watch.clocks import ClockBound
from bmwg.drivers.watch.frame_neighbours import Working
from bmwg.drivers.workload.modifiers import Active, modifiers
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import Direction, FrameFormat, TrialResult, TrialSpec

ACT_DEADLINE_S = CALL_DEADLINE_S + 10  # choice: a switch's restart has the longest call; most take seconds


@contextmanager
def acting(traffic: Trials, place: Place) -> Iterator[Trials]:
    """Return the tester with acts and modifiers; as it is where there are no nodes (a simulated tester)."""
    if not place.bed.nodes:
        yield traffic
        return
    with ActingTraffic(traffic, place) as able:
        yield able


def settle(traffic: Trials) -> None:
    """Have no modifier stand and no neighbour work any longer: the platform is then as it was before."""
    if isinstance(traffic, ActingTraffic):
        traffic.end()


class ActingTraffic:
    """Wraps the tester of one deployment. A modifier stands from the first trial that asks for it to the next
    trial that does not, or to the end of the deployment. What it configures follows the trial: filters let
    the addresses of its directions and format through, whichever cell the deployment was made for. The
    neighbour of a cell works from before its first trial until `end`.
    """

    def __init__(self, traffic: Trials, place: Place) -> None:
        self._traffic = traffic
        self._place = place
        self._stands: tuple[str, Direction, FrameFormat] | None = None
        self._active: Active | None = None
        self._stack = ExitStack()
        self._working: Working | None = None
        self._beside = ExitStack()

    def __enter__(self) -> ActingTraffic:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self) -> None:
        """Have no modifier stand and no neighbour work."""
        self._working = None
        with self._beside:
            self.settle(None)

    def learn(self, spec: TrialSpec, /) -> None:
        """As the tester does, with the modifier standing already."""
        self.settle(spec)
        self._traffic.learn(spec)

    def settle(self, spec: TrialSpec | None) -> None:
        """Have the modifier of this trial and no other stand (None: none), and the cell's neighbour work."""
        if spec is not None and self._working is None:
            cell, bed = self._place.cell, self._place.bed
            self._working = self._beside.enter_context(frame_neighbours.working(bed, cell))
        wanted = (spec.modifier, spec.direction, spec.frame_format) if spec and spec.modifier else None
        if wanted == self._stands:
            return
        self._stands = self._active = None
        self._stack.close()
        if spec is not None and wanted is not None:
            cell = replace(
                self._place.cell,
                direction=spec.direction,
                frame_format=spec.frame_format,
                frame_octets=spec.frame_octets,
            )
            known = modifiers(replace(self._place, cell=cell), wanted[0])
            if wanted[0] not in known:
                raise _unknown("modifier", wanted[0], known)
            self._active = self._stack.enter_context(known[wanted[0]]())
            self._stands = wanted

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Run one trial with what it asks for.

        What happened is in `auxiliary`: `act.*`, `modifier.*`, and `host.neighbour_*`.
        """
        self.settle(spec)
        worked = self._working.read() if self._working else {}
        if self._active:
            self._active.prepare()
        before = self._active.counts() if self._active and not self._active.standing else {}
        seen: dict[str, int] = {}
        if spec.act is None or spec.act_at_s is None:
            result = self._traffic.run(spec)
        else:
            actuator: Actuator = registry.load(registry.ACTUATOR, spec.act, where="a trial; nothing was sent")
            if (act := actuator(self._place)) is None:
                raise _unknown("act", spec.act, {})
            result, seen = self._with_act(spec, act, spec.act_at_s)
        if self._working:
            seen |= self._working.beside(worked)
        if self._active:
            after = self._active.counts()
            seen |= {f"modifier.{name}": count - before.get(name, 0) for name, count in after.items()}
        return replace(result, auxiliary=tuple(sorted((*result.auxiliary, *seen.items()))))

    def _clock(self) -> ClockBound | None:
        """Return the clock of the node against the tester's, which stamps frames; None where it is one."""
        node, tester = self._place.node, self._place.bed.tester.machine
        if node.machine is tester:
            return None
        return clocks.bound(node) if tester is HERE else clocks.between(tester, node)

    def _with_act(self, spec: TrialSpec, act: Act, at_s: float) -> tuple[TrialResult, dict[str, int]]:
        done: list[dict[str, JsonValue]] = []
        errors: list[BaseException] = []
        known = self._clock()

        def work() -> None:
            try:
                time.sleep(at_s)
                done.append(act())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, name=f"act {spec.act}", daemon=True)
        thread.start()
        try:
            result = self._traffic.run(spec)
        finally:
            thread.join(at_s + ACT_DEADLINE_S)
        if errors:
            raise errors[0]
        if not done:
            raise DriverError(
                "ACT-03", f"act {spec.act}", expected=f"an end within {ACT_DEADLINE_S:g} s", found="none"
            )
        times = {name: int(value) for name, value in done[0].items()}
        if known:  # by the tester's clock, and wide enough to hold what the other one may be off
            times["began_ns"] += known.offset_ns - known.bound_ns
            times["ended_ns"] += known.offset_ns + known.bound_ns
            times["clock_bound_ns"] = known.bound_ns
        return result, {f"act.{name}": value for name, value in times.items()}


def _unknown(what: str, found: str, known: Mapping[str, object]) -> ConfigError:
    return ConfigError(
        "ACT-02",
        f"{what} of a trial; nothing was sent",
        expected=", ".join(known) or f"no {what} on this path",
        found=found,
    )


_: type[Trials] = ActingTraffic
