"""The bench of acts: pods or servers come and go on one ground, which must be as it was in the end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api import JsonValue, Missing
from bmwg.drivers.isolation import LeakWatch, require_closed, require_own_ports
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.record.deployment import take_ground
from bmwg.drivers.record.sampling import between as sampled_between
from bmwg.drivers.record.sampling import sample
from bmwg.drivers.testbed import Testbed
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.kind import (
    MEASURED,
    answered,
    assessed,
    body_of,
    result_of,
    spec_of,
    tried,
    without_execution,
)
from bmwg.methodology.kinds.acts.profile import Planned
from bmwg.methodology.kinds.acts.records import KIND, ActsResult
from bmwg.methodology.records import VM, Cell, Outcome, OutcomeType
from bmwg.methodology.repeated import Tried, repeated
from bmwg.reports.store import Run
from bmwg.reports.store.redact import redact
from bmwg.resources.lifecycle.line import line_of
from bmwg.resources.measure import is_of_cell
from bmwg.resources.open_run import OpenRun
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import PlatformGuard, host_counts


class ActsBench:
    """The cells of acts of one run. The bed is opened when the first cell needs it, and closed to rest."""

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
        """Answer one test: an outcome for each of its cells, measured now unless it stands already."""
        mine = [one for one in self._plan if one.test_id == test_id]
        for planned in mine:
            self._ensure(planned)
        return [self._outcomes[planned.cell.cell_id] for planned in mine]

    def _ensure(self, planned: Planned) -> None:
        if planned.cell.cell_id in self._outcomes:
            return
        if self._run.stopped is not None:
            raise self._run.stopped
        try:
            self._measure(planned)
        except ToolkitError as error:
            if not is_of_cell(error):
                self._run.stopped = error
                raise
            reason = redact(one_line(error))
            self._keep(without_execution(planned, OutcomeType.INVALID, reason))
            self._run.attempt(self.rest)  # a node may be lost: the next cells have new ones
        except BaseException as error:
            self._run.stopped = error
            raise

    def _measure(self, planned: Planned) -> None:
        missing = self._not_offered(planned.cell)
        if missing is None:
            ground = Ground(bed=self._open_bed(), cell=_of_frames(planned))
            workload = registry.workload(planned.spec.workload, kind=KIND)(ground)
            missing = workload.probe()
        if missing is not None:
            reason = f"{missing.what}: {missing.reason}"
            self._keep(without_execution(planned, OutcomeType.NOT_ASSESSED, reason), missing.mend)
            return
        done = [tried(one.seq, spec_of(one.body), result_of(one.body)) for one in self._recorded(planned)]
        self._deployments += 1
        deployment_id = f"acts-{planned.cell.path}-{planned.cell.network}-{self._deployments}"
        evidence = self._rehearsed(ground, workload)
        self._run.store.add_deployment(deployment_id, evidence)

        def take() -> Any:
            return take_ground(ground.bed, ground.cell, evidence, dict(workload.describe()))

        with self._guard.watched(deployment_id, evidence, take, goes_on=bool(done)):
            workload.attach((ground,))
            began_s = time.monotonic()
            repeated(
                lambda: self._one(planned, workload, deployment_id, done),
                planned.asked,
                lambda: time.monotonic() - began_s,
                done,
            )
            workload.detach()
            self._keep(self._guard.judged([answered(planned, done)])[0])

    def _rehearsed(self, ground: Ground, workload: ActsWorkload) -> dict[str, JsonValue]:
        """Make and remove the path once, unmeasured: what it is, and that it leads nowhere else."""
        with path_driver(ground.cell, ground.bed).deploy() as deployment:
            require_own_ports(deployment.ports, self._testbed.lab_ports)
            require_closed(ground.bed)
            return {**deployment.evidence, "offered_by": dict(workload.describe())}

    def _one(
        self,
        planned: Planned,
        workload: ActsWorkload,
        deployment_id: str,
        done: list[Tried[ActsResult]],
    ) -> Tried[ActsResult]:
        spec = replace(planned.spec, number=len(done) + 1)
        self._leaks.begin()
        began_ns, host = time.monotonic_ns(), sample()
        try:
            result = workload.run(spec)
        except ToolkitError as error:
            if not is_of_cell(error):
                raise
            result = ActsResult(faults=(one_line(error),))
        self._leaks.check()  # RFC 6815: the run ends before anything is concluded
        result = replace(
            result,
            faults=tuple(redact(one) for one in result.faults),
            wall_ns=time.monotonic_ns() - began_ns,
        )
        found = assessed(spec, result)
        seq = self._run.store.append(
            cell_id=planned.cell.cell_id,
            deployment_id=deployment_id,
            metric=planned.metric,
            test_id=planned.test_id,
            phase=MEASURED,
            body=body_of(spec, result, dict(host_counts(sampled_between(host, sample())))),
            validity=found.validity,
            reason=found.reason,
        )
        done.append(tried(seq, spec, result))
        return done[-1]

    def _not_offered(self, cell: Cell) -> Missing | None:
        """Return that the testbed file has no option of that name, which servers do not need."""
        network = cell.network
        if cell.hosting == VM or network in {one.name for one in self._testbed.networks}:
            return None
        return Missing(
            what=f"network option {network}",
            reason="the testbed file has no option of this name",
            mend="name it under `networks` of the testbed file (docs/cni-option.md)",
        )

    def _open_bed(self) -> Bed:
        if self._bed is None:
            folder = self._run.store.folder.resolve()
            opened = open_bed(
                self._testbed,
                self._run.ledger,
                folder,
                self._run.owner,
                machines=any(one.cell.hosting == VM for one in self._plan),
            )
            self._bed = self._stack.enter_context(opened)
        return self._bed

    def _recorded(self, planned: Planned) -> list[Any]:
        executions = self._continued.executions if self._continued else ()
        return [one for one in executions if one.cell_id == planned.cell.cell_id]

    def _keep(self, outcome: Outcome, mend: str = "") -> None:
        self._run.store.add_outcome(outcome, mend=mend)
        self._outcomes[outcome.cell.cell_id] = outcome
        if mend:
            self.mends[outcome.outcome_id] = mend
        self._run.display.note(f"{outcome.cell.cell_id}: {line_of(outcome)}")


def _of_frames(planned: Planned) -> Cell:
    """Return the cell of frames whose path the acts make."""
    cell: Mapping[str, Any] = {
        name: getattr(planned.cell, name) for name in ("path", "hosting", "function", "network")
    }
    return Cell(**cell, frame_octets=planned.spec.frame_octets)
