"""The bench of jobs: the forms of an experiment stand together, and take turns in random blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Evidence, Missing
from bmwg.drivers.machines import guest_clock
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.platform_record.deployment import take_place
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.of_jobs import JobPlace, JobsWorkload
from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import (
    EXPERIMENTS,
    FLOP_PER_S,
    OCTETS_PER_S,
    architecture_of,
    first_part,
)
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.plan.blocks import next_up
from bmwg.methodology.records import BAREMETAL, Outcome, OutcomeType
from bmwg.reports.store.redact import redact
from bmwg.resources.kinds.jobs import places
from bmwg.resources.kinds.repeated.bed_bench import BedBench
from bmwg.resources.kinds.repeated.measure import CellExecutions, DeploymentBrokenError, Stand
from bmwg.resources.run.answers import is_of_cell
from bmwg.resources.run.guest_record import record_machines_of_pods
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.outcomes import one_line
from bmwg.resources.run.platform import PlatformGuard

Executions = CellExecutions[JobsSpec, JobsResult]
_SCALES = {OCTETS_PER_S: (1e6, "MB/s"), FLOP_PER_S: (1e9, "Gflop/s")}


class JobsBench(BedBench[JobsSpec, JobsResult]):
    """The cells of jobs of one run, experiment by experiment."""

    kind = JOBS

    def __init__(
        self,
        run: OpenRun,
        *,
        testbed: Testbed,
        plan: Sequence[Planned[JobsSpec]],
        seed: int,
        translated: bool = False,
    ) -> None:
        super().__init__(run, testbed=testbed, plan=plan)
        self._seed = seed
        self._unmade = False  # whether a form of the experiment could not be made
        self._translated = translated
        self._guards: dict[str, PlatformGuard] = {BAREMETAL: self.guard}

    def figures(self, outcome: Outcome, told: Mapping[str, float]) -> str:
        """Say the mean of a job's first figure, of several by its name."""
        part, unit = first_part(outcome.metric), next(iter(EXPERIMENTS[outcome.metric].figures.values()))
        scale, word = _SCALES.get(unit, (1.0, unit))
        half = told.get(f"{part}half_width_95")
        spread = f" +/- {half / scale:.1f}" if half is not None else ""
        mean = f"{told[f'{part}mean'] / scale:.1f}{spread} {word} ({of_repetitions(told, part)})"
        return f"{part.removesuffix('.')} {mean}".strip()

    def together(self, wanted: Planned[JobsSpec]) -> list[Planned[JobsSpec]]:
        """Return the cells of the experiment beside one neighbour: its forms take turns."""
        return [planned for planned in self.whole_plan if _experiment(planned) == _experiment(wanted)]

    def measure(self, group: list[Planned[JobsSpec]]) -> None:
        """Measure an experiment in all forms that can be had here, in random blocks."""
        bed = self.open_bed()
        workload, lack = self._workload(group[0], bed)
        forms: dict[str, Executions] = {}
        for planned in group:
            missing = lack or places.lacking(
                planned.cell.hosting,
                bed,
                planned.spec,
                translated=self._translated,
                architecture=architecture_of(planned.cell),
            )
            if missing is None:
                forms[planned.cell.hosting] = self.executions(planned)
            else:
                self.keep_lacking(planned, missing)
        if workload is None:
            return
        broken = 0
        self._unmade = False
        while forms:
            try:
                self._measure_standing(forms, workload, bed)
            except DeploymentBrokenError as error:
                self.run.display.note(f"{group[0].metric}: {error}; new deployments are made")
                broken += 1
                if broken > group[0].asked.max_invalid:
                    for hosting, executions in forms.items():
                        self.answers.keep(self._guard(hosting).judged_after_break([executions.answer()])[0])
                    break
        if self._unmade:
            self.run.attempt(
                self.rest
            )  # what failed may be the node's fault: the next experiment has new ones

    def _workload(self, planned: Planned[JobsSpec], bed: Bed) -> tuple[JobsWorkload | None, Missing | None]:
        """Return what runs the experiment's job, or why it cannot be run here."""
        spec = planned.spec
        if spec.workload not in registry.names(registry.WORKLOAD):
            return None, Missing(
                what=f"program {spec.workload}",
                reason="no workload of that name is installed here",
                mend="docs/hosts.md, programs of your own",
            )
        node = bed.node(self.testbed.nodes[0].name)
        made: JobsWorkload = registry.workload(spec.workload, kind=JOBS.name)([node])
        lack = made.probe() or places.no_space(bed, places.wanted_octets(spec))
        return (None, lack) if lack else (made, None)

    def _measure_standing(self, forms: dict[str, Executions], workload: JobsWorkload, bed: Bed) -> None:
        """Measure while all forms stand; a form is taken away when it has its answer."""
        experiment = _experiment(next(iter(forms.values())).planned)
        with ExitStack() as stack:
            placed = self._stand(forms, workload, bed, stack)
            order = [one.cell.hosting for one in self.whole_plan if _experiment(one) == experiment]
            each = [[hosting] for hosting in order]
            while forms:
                done = {hosting: len(one.done) for hosting, one in forms.items()}
                ended = {hosting for hosting in order if hosting not in forms or forms[hosting].ended}
                hosting = next_up(each, done, ended, seed=self._seed, experiment=experiment)
                if hosting is not None:
                    forms[hosting].once(placed[hosting])
                for name in [name for name, one in forms.items() if one.ended]:
                    self.answers.keep(self._guard(name).judged([forms.pop(name).answer()])[0])

    def _stand(
        self, forms: dict[str, Executions], workload: JobsWorkload, bed: Bed, stack: ExitStack
    ) -> dict[str, Stand[JobsSpec, JobsResult]]:
        """Make all forms, then watch each: what one is does not depend on when another was made.

        A form that cannot be made has its answer and is taken away; the others stand.
        """
        made = {}
        for hosting in list(forms):
            try:
                planned = forms[hosting].planned
                room, other = places.wanted_octets(planned.spec), architecture_of(planned.cell)
                making = places.form(bed, hosting, disk_octets=room, architecture=other)
                made[hosting] = stack.enter_context(making)
                if other and (lack := _asking(workload, made[hosting]).probe()):
                    self.keep_lacking(planned, replace(lack, mend=f"sh setup/guest.sh {other}"))
                    del made[hosting], forms[hosting]
            except ToolkitError as error:
                if not is_of_cell(error):
                    raise
                self._not_made(forms.pop(hosting), error)
        fault = Liveness(bed).fault
        found = {}
        for hosting, form in made.items():
            cell = forms[hosting].planned.cell
            told = dict(_asking(workload, form).describe())
            deployment_id = self.new_deployment(self.kind.name, cell.path, hosting, str(told["program"]))
            evidence: Evidence = {
                **form.evidence,
                "workloads": {str(told["program"]): told},
                "beside": [other for other in made if other != hosting],
            }
            self.run.store.add_deployment(deployment_id, evidence)
            record_machines_of_pods(self.run.store, evidence)
            take = _taking(bed, cell, evidence, told)
            goes_on = bool(forms[hosting].done)
            stack.enter_context(self._guard(hosting).watched(deployment_id, evidence, take, goes_on=goes_on))
            found[hosting] = Stand(
                deployment_id=deployment_id,
                run=_running(workload, form),
                leaks=self.leaks,
                fault=fault,
            )
        return found

    def _not_made(self, executions: Executions, error: ToolkitError) -> None:
        """Keep that one form of the experiment could not be made, with what it was that failed."""
        self._unmade = True
        why = redact(f"form {executions.planned.cell.hosting} was not made: {one_line(error)}")
        self.keep_without(executions.planned, OutcomeType.INVALID, why)

    def _guard(self, hosting: str) -> PlatformGuard:
        """Return what watches the deployments of one form, which stand beside those of others."""
        if hosting not in self._guards:
            self._guards[hosting] = self.new_guard()
        return self._guards[hosting]


def _experiment(planned: Planned[JobsSpec]) -> str:
    return neighbours.apart(planned.metric, planned.cell)


def _asking(workload: JobsWorkload, form: JobPlace) -> JobsWorkload:
    """Return the workload as it asks for its program: on the nodes, or in a form with its own programs."""
    return type(workload)([form.place.node]) if form.own_programs else workload


def _taking(bed: Bed, cell: Any, evidence: Evidence, told: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: take_place(bed, cell, evidence, told)


def _running(workload: JobsWorkload, form: JobPlace) -> Callable[[JobsSpec], JobsResult]:
    """Return what runs a job in a form, with no file of an earlier one there."""

    def run(spec: JobsSpec) -> JobsResult:
        places.cleared(form)
        workload.attach((form,))
        try:
            with guest_clock.held((form.place.node,)) as off:
                result = workload.run(spec)
            return replace(result, faults=(*result.faults, *off)) if off else result
        finally:
            workload.detach()
            places.cleared(form)

    return run
