"""The bench of streams: which cells are measured on one deployment, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api import BetweenPods, Missing, PodPathDriver
from bmwg.drivers.isolation import LeakWatch, require_closed
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.record.deployment import take_between
from bmwg.drivers.standing import Standing
from bmwg.drivers.testbed import Testbed
from bmwg.drivers.workload.of_streams import StreamsWorkload
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.streams.kind import without_execution
from bmwg.methodology.kinds.streams.profile import Planned
from bmwg.methodology.kinds.streams.records import KIND
from bmwg.methodology.records import NOTHING, Outcome, OutcomeType
from bmwg.reports.store import Run
from bmwg.reports.store.redact import redact
from bmwg.resources.measure import is_of_cell
from bmwg.resources.open_run import OpenRun
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import PlatformGuard
from bmwg.resources.pod_to_pod.line import line_of
from bmwg.resources.pod_to_pod.measure import CellExecutions, DeploymentBrokenError, Stand


class StreamsBench:
    """The cells of streams of one run. The bed is opened when the first cell needs it, and closed to rest."""

    def __init__(
        self, run: OpenRun, *, testbed: Testbed, plan: Sequence[Planned], continued: Run | None
    ) -> None:
        self._run = run
        self._testbed = testbed
        self._plan = plan
        self._continued = continued
        earlier = run.continued.platform if run.continued else None
        self._guard = PlatformGuard(testbed, run.store.platform, run.display.note, run.machine, earlier)
        self._leaks = run.stack.enter_context(LeakWatch(testbed.lab_ports))
        self.mends = dict(continued.mends) if continued else {}  # what supplies what a cell lacked
        standing = continued.of_kind(KIND) if continued else ()
        self._outcomes = {one.cell.cell_id: one for one in standing}
        self._deployments = continued.last_deployment if continued else 0
        self._stack = ExitStack()
        self._bed: Bed | None = None

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._guard.begin_suite(suite)

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        return line_of(outcome)

    def rest(self) -> None:
        """Remove nodes and links; whoever asks next gets new ones."""
        self._bed = None
        self._stack.close()

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        All planned cells of one deployment are measured while it stands, those of other tests too.
        """
        mine = [one for one in self._plan if one.test_id == test_id]
        for planned in mine:
            self._ensure(planned)
        return [self._outcomes[planned.cell.cell_id] for planned in mine]

    def _ensure(self, wanted: Planned) -> None:
        if wanted.cell.cell_id in self._outcomes:
            return
        if self._run.stopped is not None:
            raise self._run.stopped
        place = _place(wanted)
        group = [
            planned
            for planned in self._plan
            if _place(planned) == place and planned.cell.cell_id not in self._outcomes
        ]
        try:
            self._measure_group(group)
        except ToolkitError as error:
            if not is_of_cell(error):
                self._run.stopped = error
                raise
            for planned in group:
                if planned.cell.cell_id not in self._outcomes:
                    reason = redact(one_line(error))
                    self._keep(without_execution(planned, OutcomeType.INVALID, reason))
            self._run.attempt(self.rest)  # a node may be lost: the next cells have new ones
        except BaseException as error:
            self._run.stopped = error
            raise

    def _measure_group(self, group: list[Planned]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        cell = group[0].cell
        path: PodPathDriver | None = None
        lack = self._not_offered(cell.network)
        if lack is None:
            path = registry.load(registry.PATH, cell.path)(cell, self._open_bed())
            lack = path.probe_pods()
        workloads = {} if lack else self._workloads(group[0])
        left = []
        for planned in group:
            missing = lack or workloads[planned.spec.workload].probe()
            if missing is None:
                left.append(CellExecutions(planned, self._run.store, self._recorded(planned)))
                continue
            reason = f"{missing.what}: {missing.reason}"
            self._keep(without_execution(planned, OutcomeType.NOT_ASSESSED, reason), missing.mend)
        broken = 0
        while left and path is not None:
            try:
                with path.between_pods() as between:
                    self._measure_on_one(left, between, workloads)
            except DeploymentBrokenError as error:
                self._run.display.note(f"{cell.path}, {cell.network}: {error}; a new deployment is made")
                broken += 1
                if left[0].ended or broken > left[0].planned.asked.max_invalid:
                    outcome = left.pop(0).answer()
                    self._keep(self._guard.judged_after_break([outcome])[0])

    def _measure_on_one(
        self, left: list[CellExecutions], between: BetweenPods, workloads: Mapping[str, StreamsWorkload]
    ) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        run, bed, cell = self._run, self._open_bed(), left[0].planned.cell
        require_closed(bed)
        self._deployments += 1
        deployment_id = f"streams-{cell.path}-{cell.network}-{self._deployments}"
        programs: dict[str, Any] = {name: dict(one.describe()) for name, one in workloads.items()}
        crossed = [one.at for one in between.crossed]
        evidence = {**between.evidence, "workloads": programs, "crossed": crossed}
        run.store.add_deployment(deployment_id, evidence)
        goes_on = any(one.done for one in left)

        def take() -> Any:
            return take_between(bed, cell, between, programs)

        with self._guard.watched(deployment_id, evidence, take, goes_on=goes_on):
            fault = Standing(bed).fault
            while left:
                workload = workloads[left[0].planned.spec.workload]
                workload.attach(between.ends)
                stand = Stand(
                    deployment_id=deployment_id,
                    between=between,
                    workload=workload,
                    fault=fault,
                    leaks=self._leaks,
                )
                left[0].run(stand)
                workload.detach()
                outcome = left.pop(0).answer()
                self._keep(self._guard.judged([outcome])[0])

    def _not_offered(self, network: str) -> Missing | None:
        """Return that the testbed file has no option of that name."""
        if network in {NOTHING, *(one.name for one in self._testbed.networks)}:
            return None
        return Missing(
            what=f"network option {network}",
            reason="the testbed file has no option of this name",
            mend="name it under `networks` of the testbed file (docs/cni-option.md)",
        )

    def _open_bed(self) -> Bed:
        if self._bed is None:
            folder = self._run.store.folder.resolve()
            opened = open_bed(self._testbed, self._run.ledger, folder, self._run.owner)
            self._bed = self._stack.enter_context(opened)
        return self._bed

    def _workloads(self, mine: Planned) -> dict[str, StreamsWorkload]:
        """Return what offers the load of all cells of a way, made of the nodes that the pods may stand on.

        Those of answered cells are among them: each deployment of a way has the same programs in its record.
        """
        bed = self._open_bed()
        nodes = [bed.node(node.name) for node in self._testbed.nodes]
        names = dict.fromkeys(one.spec.workload for one in self._plan if _place(one) == _place(mine))
        return {name: registry.workload(name, kind=KIND)(nodes) for name in names}

    def _recorded(self, planned: Planned) -> list[Any]:
        executions = self._continued.executions if self._continued else ()
        return [one for one in executions if one.cell_id == planned.cell.cell_id]

    def _keep(self, outcome: Outcome, mend: str = "") -> None:
        self._run.store.add_outcome(outcome, mend=mend)
        self._outcomes[outcome.cell.cell_id] = outcome
        if mend:
            self.mends[outcome.outcome_id] = mend
        self._run.display.note(f"{outcome.cell.cell_id}: {line_of(outcome)}")


def _place(planned: Planned) -> tuple[str, str, str]:
    """Return what has to stand for a cell."""
    return planned.cell.path, planned.cell.hosting, planned.cell.network
