"""The bench of streams: which cells are measured on one deployment, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api import BetweenPods, Missing, PodPathDriver
from bmwg.drivers.hosting import guest_clock
from bmwg.drivers.isolation import require_closed
from bmwg.drivers.record.deployment import take_between
from bmwg.drivers.standing import Standing
from bmwg.drivers.workload.of_streams import StreamsWorkload
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Way
from bmwg.methodology.records import NOTHING, Outcome
from bmwg.methodology.vnics import AXIS
from bmwg.resources.guest_record import record_machines_of_pods
from bmwg.resources.pod_to_pod import crossings
from bmwg.resources.pod_to_pod.line import line_of
from bmwg.resources.repeated.bench import RepeatedBench
from bmwg.resources.repeated.measure import CellExecutions, DeploymentBrokenError, Stand

LACKING = "PATH-02"  # of what a path needs; guests tell it only when they stand
Executions = CellExecutions[StreamsSpec, StreamsResult]


class StreamsBench(RepeatedBench[StreamsSpec, StreamsResult]):
    """The cells of streams of one run. All of one deployment are measured while it stands."""

    kind = STREAMS

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        return line_of(outcome)

    def together(self, wanted: Planned[StreamsSpec]) -> list[Planned[StreamsSpec]]:
        """Return the cells of its deployment."""
        return [one for one in self.whole_plan if _place(one) == _place(wanted)]

    def measure(self, group: list[Planned[StreamsSpec]]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        cell = group[0].cell
        path: PodPathDriver | None = None
        lack = None if cell.network == NOTHING else self.no_option(cell.network)
        if lack is None:
            path = registry.load(registry.PATH, cell.path)(cell, self.open_bed())
            lack = path.probe_pods()
        workloads = {} if lack else self._workloads(group[0])
        left = []
        for planned in group:
            missing = lack or _unanswered(path, planned) or workloads[planned.spec.workload].probe()
            if missing is None:
                left.append(self.executions(planned))
            else:
                self.keep_lacking(planned, missing)
        broken = 0
        while left and path is not None:
            try:
                with path.between_pods() as between:
                    self._measure_on_one(left, between, workloads)
            except TestbedError as error:
                if error.error_id != LACKING or any(one.done for one in left):
                    raise
                lack = Missing(what=error.what, reason=error.found, mend=error.hint)  # told by a guest alone
                while left:
                    self.keep_lacking(left.pop(0).planned, lack)
            except DeploymentBrokenError as error:
                self.run.display.note(f"{cell.path}, {cell.network}: {error}; a new deployment is made")
                broken += 1
                if left[0].ended or broken > left[0].planned.asked.max_invalid:
                    self.keep(self.guard.judged_after_break([left.pop(0).answer()])[0])

    def _measure_on_one(
        self, left: list[Executions], between: BetweenPods, workloads: Mapping[str, StreamsWorkload]
    ) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        bed, cell = self.open_bed(), left[0].planned.cell
        require_closed(bed)
        vnic = [str(dict(cell.axes)[AXIS])] if AXIS in dict(cell.axes) else []
        deployment_id = self.new_deployment(cell.path, *vnic, cell.network)
        programs: dict[str, Any] = {name: dict(one.describe()) for name, one in workloads.items()}
        crossed = [one.at for one in between.crossed]
        evidence = {**between.evidence, "workloads": programs, "crossed": crossed}
        self.run.store.add_deployment(deployment_id, evidence)
        record_machines_of_pods(self.run.store, evidence)
        goes_on = any(one.done for one in left)

        def take() -> Any:
            return take_between(bed, cell, between, programs)

        with self.guard.watched(deployment_id, evidence, take, goes_on=goes_on):
            fault = Standing(bed).fault
            while left:
                workload = workloads[left[0].planned.spec.workload]
                workload.attach((*between.ends, *between.more))
                stand = Stand(
                    deployment_id=deployment_id,
                    run=between_looks(between, workload),
                    leaks=self.leaks,
                    fault=fault,
                )
                left[0].run(stand)
                workload.detach()
                self.keep(self.guard.judged([left.pop(0).answer()])[0])

    def _workloads(self, mine: Planned[StreamsSpec]) -> dict[str, StreamsWorkload]:
        """Return what offers the load of all cells of a way, made of the nodes that the pods may stand on.

        Those of answered cells are among them: each deployment of a way has the same programs in its record.
        """
        bed = self.open_bed()
        nodes = [bed.node(node.name) for node in self.testbed.nodes]
        names = dict.fromkeys(one.spec.workload for one in self.whole_plan if _place(one) == _place(mine))
        return {name: registry.workload(name, kind=STREAMS.name)(nodes) for name in names}


def between_looks(between: BetweenPods, workload: StreamsWorkload) -> Callable[[StreamsSpec], StreamsResult]:
    """Return what offers a load between two looks at the interfaces that it has to cross."""

    def run(spec: StreamsSpec) -> StreamsResult:
        crossed = between.crossed
        with guest_clock.held([one.pod.node for one in between.ends]) as off:
            first = crossings.look(crossed)
            result = workload.run(spec)
            last = crossings.look(crossed)
        went = crossings.between(crossed, _ways(spec), first, last)
        return replace(result, crossings=went, faults=(*result.faults, *off))

    return run


def _ways(spec: StreamsSpec) -> tuple[Way, ...]:
    """Return the directions in which payload goes; each of them is held against the counters."""
    return (Way.FORWARD, Way.REVERSE) if spec.exchange is Exchange.ALL_TO_ALL else (spec.way,)


def _unanswered(path: PodPathDriver | None, planned: Planned[StreamsSpec]) -> Missing | None:
    """Return why the path's answering end has no server of a workload, where it is not ours to start."""
    asked = getattr(path, "unanswered", None)
    found: Missing | None = asked(planned.spec.workload) if asked else None
    return found


def _place(planned: Planned[StreamsSpec]) -> tuple[str, str, str, str, int]:
    """Return what has to stand for a cell."""
    cell = planned.cell
    vnic = str(dict(cell.axes).get(AXIS, ""))
    return cell.path, cell.hosting, cell.network, vnic, planned.spec.pods
