"""The bench of acts: pods or servers come and go on one ground, which must be as it was in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Evidence
from bmwg.drivers.paths import path_driver
from bmwg.drivers.platform_record.deployment import take_ground
from bmwg.drivers.watch.isolation import require_closed, require_own_ports
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.profile import of_frames
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.records import NOTHING, VM, Outcome
from bmwg.resources.kinds.acts.line import figures_of
from bmwg.resources.kinds.repeated.bed_bench import BedBench
from bmwg.resources.kinds.repeated.measure import Stand
from bmwg.resources.run.guest_record import record_machine


class ActsBench(BedBench[ActsSpec, ActsResult]):
    """The cells of acts of one run, one after the other."""

    kind = ACTS

    @property
    def machines(self) -> bool:
        """Servers want the testbed's provider of machines to stand."""
        return any(planned.cell.hosting == VM for planned in self.whole_plan)

    def figures(self, outcome: Outcome, told: Mapping[str, float]) -> str:
        """Say times in the units of their experiment."""
        return figures_of(outcome, told)

    def together(self, wanted: Planned[ActsSpec]) -> list[Planned[ActsSpec]]:
        """Return the cell alone: each has a ground of its own."""
        return [wanted]

    def measure(self, group: list[Planned[ActsSpec]]) -> None:
        """Measure one cell on a ground that stands, unless something lacks."""
        (planned,) = group
        optionless = planned.cell.network == NOTHING  # a server's, or the cluster's own
        missing = None if optionless else self.no_option(planned.cell.network)
        if missing is None:
            ground = Ground(bed=self.open_bed(), cell=of_frames(planned), mode=planned.spec.mode)
            workload = registry.workload(planned.spec.workload, kind=ACTS.name)(ground)
            missing = workload.probe()
        if missing is not None:
            self.keep_lacking(planned, missing)
            return
        executions = self.executions(planned)
        deployment_id = self.new_deployment(self.kind.name, planned.cell.path, planned.cell.network)
        evidence = self._rehearsed(ground, workload)
        self.run.store.add_deployment(deployment_id, evidence)

        def take() -> Any:
            return take_ground(ground.bed, ground.cell, evidence, dict(workload.describe()))

        with self.guard.watched(deployment_id, evidence, take, goes_on=bool(executions.done)):
            workload.attach((ground,))
            executions.run(Stand(deployment_id=deployment_id, run=workload.run, leaks=self.leaks))
            workload.detach()
            self.answers.keep(self.guard.judged([executions.answer()])[0])

    def _rehearsed(self, ground: Ground, workload: ActsWorkload) -> Evidence:
        """Make and remove the path once, unmeasured: what it is, and that it leads nowhere else."""
        with path_driver(ground.cell, ground.bed).deploy() as deployment:
            machine = ground.bed.tester.machine
            require_own_ports(deployment.ports, self.testbed.lab_ports, machine)
            require_closed(ground.bed)
            provider = deployment.evidence.get("provider", {}).get("name", ground.bed.machines_driver)
            record_machine(self.run.store, deployment.evidence, provider)
            return {**deployment.evidence, "offered_by": dict(workload.describe())}
