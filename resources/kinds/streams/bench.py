"""The bench of streams: which cells are measured on one deployment, or in turns, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import BetweenPods, Evidence, Missing, PodPathDriver, ServedPath
from bmwg.drivers.machines import guest_clock, qemu_place
from bmwg.drivers.platform_record.deployment import take_between
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.watch.isolation import require_closed
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.of_streams import StreamsWorkload
from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.cells.vnics import AXIS
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.profile import GOODPUT, OPERATION, TRANSLATED
from bmwg.methodology.kinds.streams.records import StreamsResult, StreamsSpec
from bmwg.methodology.records import GUESTS, NOTHING, Cell, Outcome, OutcomeType
from bmwg.reports.store.redact import redact
from bmwg.resources.kinds.repeated.bed_bench import BedBench
from bmwg.resources.kinds.repeated.measure import DeploymentBrokenError, Stand
from bmwg.resources.kinds.streams import crossings, turns
from bmwg.resources.kinds.streams.turns import Executions
from bmwg.resources.run.answers import is_of_cell
from bmwg.resources.run.guest_record import record_machines_of_pods
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.outcomes import one_line
from bmwg.resources.run.platform import PlatformGuard

_UNITS = {GOODPUT: (1e6, "Mbit/s"), OPERATION: (1e6, "ms an operation")}
LACKING = "PATH-02"  # of what a path needs; guests tell it only when they stand


class StreamsBench(BedBench[StreamsSpec, StreamsResult]):
    """The cells of streams of one run. All of one deployment are measured while it stands.

    Those of a sweep whose forms take turns are measured together, form by form and block by block.
    """

    kind = STREAMS

    def __init__(
        self,
        run: OpenRun,
        *,
        testbed: Testbed,
        plan: Sequence[Planned[StreamsSpec]],
        profile: Mapping[str, Any],
        seed: int,
    ) -> None:
        super().__init__(run, testbed=testbed, plan=plan)
        self._profile = profile
        self._seed = seed
        self._unmade = False  # whether a form of the sweep could not be made
        self._guards: dict[tuple[str, str], PlatformGuard] = {}

    def figures(self, outcome: Outcome, told: Mapping[str, float]) -> str:
        """Say goodput with what was lost, or the mean time of a round trip or an operation."""
        scale, unit = _UNITS.get(outcome.metric, (1e3, "us there and back"))
        half = told.get("half_width_95")
        spread = f" +/- {half / scale:.1f}" if half is not None else ""
        lost = f", at most {told['lost_ratio']:.2%} lost" if "lost_ratio" in told else ""
        return f"{told['mean'] / scale:.1f}{spread} {unit}{lost} ({of_repetitions(told)})"

    def together(self, wanted: Planned[StreamsSpec]) -> list[Planned[StreamsSpec]]:
        """Return the cells of its deployment, or of its sweep where the sweep's forms take turns."""
        if sweep := self._sweep(wanted):
            return [planned for planned in self.whole_plan if self._sweep(planned) == sweep]
        return [one for one in self.whole_plan if not self._sweep(one) and _place(one) == _place(wanted)]

    def measure(self, group: list[Planned[StreamsSpec]]) -> None:
        """Measure the cells of one deployment, or a sweep in all its forms."""
        sweep = self._sweep(group[0])
        if not sweep:
            self._measure_place(group)
            return
        self._unmade = False
        left: dict[str, Executions] = {}
        apart: list[list[Planned[StreamsSpec]]] = []
        for (hosting, _), cells in turns.cells_of(group).items():
            if hosting in order.MACHINES and self.why_translated():
                apart.append(cells)
                continue
            _, able = self._able(cells)
            left |= {one.cell.cell_id: self.executions(one) for one in able}
        planned = order.forms(self._profile, [one.cell for one in self.whole_plan], sweep)
        in_turns = turns.Turns(sweep, planned, left, self._seed)
        in_turns.take(partial(self._visit, left), self._broke, self._failed)
        for cells in apart:  # they are held against nothing, and would disturb whom they stood between
            try:
                self._measure_place(cells)
            except ToolkitError as error:
                if not is_of_cell(error):
                    raise
                self._not_made([cell for cell in cells if cell.cell.cell_id not in self.answers], error)
        if self._unmade:
            self.run.attempt(self.rest)  # what failed may be the node's fault: the next sweep has new ones

    def _sweep(self, planned: Planned[StreamsSpec]) -> str:
        return order.sweep_of(self._profile, planned.cell)

    def _able(
        self, group: Sequence[Planned[StreamsSpec]]
    ) -> tuple[PodPathDriver | None, list[Planned[StreamsSpec]]]:
        """Return the path of cells of one place, and those that can be measured; keep that others cannot."""
        cell = group[0].cell
        path: PodPathDriver | None = None
        lack = None if cell.network == NOTHING else self.no_option(cell.network)
        if lack is None:
            path = self._path(cell)
            lack = path.probe_pods() or self._translated(cell)
        workloads = {} if lack else self._workloads(group[0])
        able = []
        for planned in group:
            missing = lack or _unanswered(path, planned) or workloads[planned.spec.workload].probe()
            if missing is None:
                able.append(planned)
            else:
                self.keep_lacking(planned, missing)
        return path, able

    def _path(self, cell: Cell) -> PodPathDriver:
        found: PodPathDriver = registry.load(registry.PATH, cell.path)(cell, self.open_bed())
        return found

    def why_translated(self) -> str:
        """Return why the instructions of a guest on a node would be translated; empty where KVM runs them."""
        bed = self.open_bed()
        each = (bed.node(node.name).call(qemu_place.translated) for node in self.testbed.nodes)
        return next((why for why in each if why), "")

    def _translated(self, cell: Cell) -> Missing | None:
        """Return why a server in a guest is not measured where its instructions would be translated."""
        if cell.hosting not in GUESTS or self._profile.get(TRANSLATED):
            return None
        if not (why := self.why_translated()):
            return None
        return Missing(
            what=f"hosting form {cell.hosting} without KVM",
            reason=f"a guest's instructions would be translated here ({why})",
            mend="BMWG_PROFILE=guests for figures that show function, or a machine with /dev/kvm",
        )

    def _visit(
        self, left: dict[str, Executions], mine: Mapping[str, Executions], due: Callable[[], str | None]
    ) -> None:
        """Deploy one form of a sweep for the executions that are due of it; keep the answers that it has."""
        first = next(iter(mine.values())).planned
        workloads = self._workloads(first)
        with self._path(first.cell).between_pods() as between:
            guard = self._guard(first.cell)
            with self._watched(guard, first.cell, between, workloads, mine.values()) as (name, fault):
                workload = workloads[first.spec.workload]
                workload.attach((*between.ends, *between.more))
                stand = Stand(
                    deployment_id=name, run=between_looks(between, workload), leaks=self.leaks, fault=fault
                )
                had = [cell for cell in mine if mine[cell].ended]  # before a run that was cut off
                while (cell := due()) in mine:
                    assert cell is not None
                    mine[cell].once(stand)
                    had.append(cell)
                workload.detach()
                for answer in guard.judged([mine[cell].answer() for cell in dict.fromkeys(had)]):
                    if mine[answer.cell.cell_id].ended:
                        self.answers.keep(answer)
                        del left[answer.cell.cell_id]

    def _broke(self, over: Collection[Executions], error: DeploymentBrokenError) -> None:
        """Tell that a form broke; keep what its cells came to that have no other execution."""
        self.run.display.note(f"a form of a sweep: {error}; its next turn has a new deployment")
        for executions in over:
            self.answers.keep(
                self._guard(executions.planned.cell).judged_after_break([executions.answer()])[0]
            )

    def _failed(self, over: Collection[Executions], error: ToolkitError) -> None:
        """Keep that a form could not be deployed in its turn; what it came to before stands."""
        for executions in over:
            if executions.done:
                self.run.display.note(f"{executions.planned.cell.cell_id}: {redact(one_line(error))}")
                self.answers.keep(
                    self._guard(executions.planned.cell).judged_after_break([executions.answer()])[0]
                )
        self._not_made(
            [cell_executions.planned for cell_executions in over if not cell_executions.done], error
        )

    def _not_made(self, cells: Collection[Planned[StreamsSpec]], error: ToolkitError) -> None:
        self._unmade = True
        for planned in cells:
            if isinstance(error, TestbedError) and error.error_id == LACKING:
                self.keep_lacking(planned, Missing(what=error.what, reason=error.found, mend=error.hint))
            else:
                why = redact(f"form {planned.cell.hosting} was not made: {one_line(error)}")
                self.keep_without(planned, OutcomeType.INVALID, why)

    def _guard(self, cell: Cell) -> PlatformGuard:
        """Return what watches the deployments of one form, between which those of others stand."""
        form = order.form_of(cell)
        if form not in self._guards:
            self._guards[form] = self.new_guard()
        return self._guards[form]

    def _measure_place(self, group: Sequence[Planned[StreamsSpec]]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        cell = group[0].cell
        path, able = self._able(group)
        workloads = self._workloads(group[0]) if able else {}
        left = [self.executions(planned) for planned in able]
        while left and path is not None:
            try:
                with path.between_pods() as between:
                    self._measure_on_one(left, between, workloads)
            except TestbedError as error:
                if error.error_id != LACKING or any(executions.done for executions in left):
                    raise
                lack = Missing(what=error.what, reason=error.found, mend=error.hint)  # told by a guest alone
                while left:
                    self.keep_lacking(left.pop(0).planned, lack)
            except DeploymentBrokenError as error:
                self.run.display.note(f"{cell.path}, {cell.network}: {error}; a new deployment is made")
                if left[0].ended:  # each break is a repetition that is not valid
                    self.answers.keep(self.guard.judged_after_break([left.pop(0).answer()])[0])

    @contextmanager
    def _watched(
        self,
        guard: PlatformGuard,
        cell: Cell,
        between: BetweenPods,
        workloads: Mapping[str, StreamsWorkload],
        cells: Iterable[Executions],
    ) -> Iterator[tuple[str, Callable[[], str | None]]]:
        """Record a deployment and watch it; yields its id, and what says that it no longer stands."""
        bed = self.open_bed()
        require_closed(bed)
        deployment_id = self.new_deployment(self.kind.name, *words_of(cell, self._profile))
        programs: dict[str, Any] = {name: dict(one.describe()) for name, one in workloads.items()}
        crossed = [one.at for one in between.crossed]
        evidence: Evidence = {**between.evidence, "workloads": programs, "crossed": crossed}
        self.run.store.add_deployment(deployment_id, evidence)
        record_machines_of_pods(self.run.store, evidence)
        goes_on = any(executions.done for executions in cells)

        def take() -> Any:
            return take_between(bed, cell, between, programs)

        with guard.watched(deployment_id, evidence, take, goes_on=goes_on):
            yield deployment_id, Liveness(bed).fault

    def _measure_on_one(
        self, left: list[Executions], between: BetweenPods, workloads: Mapping[str, StreamsWorkload]
    ) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        cell = left[0].planned.cell
        with self._watched(self.guard, cell, between, workloads, left) as (deployment_id, fault):
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
                self.answers.keep(self.guard.judged([left.pop(0).answer()])[0])

    def _workloads(self, mine: Planned[StreamsSpec]) -> dict[str, StreamsWorkload]:
        """Return what offers the load of all cells of a way, made of the nodes that the pods may stand on.

        Those of answered cells are among them: each deployment of a way has the same programs in its record.
        """
        bed = self.open_bed()
        nodes = [bed.node(node.name) for node in self.testbed.nodes]
        names = dict.fromkeys(
            planned.spec.workload for planned in self.whole_plan if _place(planned) == _place(mine)
        )
        return {name: registry.workload(name, kind=STREAMS.name)(nodes) for name in names}


def between_looks(between: BetweenPods, workload: StreamsWorkload) -> Callable[[StreamsSpec], StreamsResult]:
    """Return what offers a load between two looks at the interfaces that it has to cross."""

    def run(spec: StreamsSpec) -> StreamsResult:
        crossed = between.crossed
        with guest_clock.held([end.pod.node for end in between.ends]) as off:
            first = crossings.look(crossed)
            result = workload.run(spec)
            last = crossings.look(crossed)
        went = crossings.between(crossed, spec.payload_ways, first, last)
        return replace(result, crossings=went, faults=(*result.faults, *off))

    return run


def _unanswered(path: PodPathDriver | None, planned: Planned[StreamsSpec]) -> Missing | None:
    """Return why the path's answering end has no server of a workload, where it is not ours to start."""
    return path.unanswered(planned.spec.workload) if isinstance(path, ServedPath) else None


def words_of(cell: Cell, profile: Mapping[str, Any]) -> list[str]:
    """Name a cell's deployment: of cells with the same words, each is held against the first.

    Pods of another number, forms of a sweep that take turns and guests with other NICs are apart.
    """
    axes = dict(cell.axes)
    words = [str(axes[AXIS])] if AXIS in axes else []
    words += [cell.hosting] if order.sweep_of(profile, cell) else []
    words += [f"{axes['pods']}pods"] if "pods" in axes else []
    return [cell.path, *words, cell.network]


def _place(planned: Planned[StreamsSpec]) -> tuple[str, str, str, str, int]:
    """Return what has to stand for a cell."""
    cell = planned.cell
    vnic = str(dict(cell.axes).get(AXIS, ""))
    return cell.path, cell.hosting, cell.network, vnic, planned.spec.pods
