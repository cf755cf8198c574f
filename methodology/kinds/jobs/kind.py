"""The kind as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from bmwg.methodology.answers import repeated
from bmwg.methodology.answers.student import interval
from bmwg.methodology.kinds.jobs.profile import (
    EXPERIMENTS,
    FORMAT,
    PROFILES,
    cell_of_axes,
    first_part,
    part_of,
)
from bmwg.methodology.kinds.jobs.records import (
    DOUBTED,
    KIND,
    JobsResult,
    JobsSpec,
    contradictions,
    shortcomings,
)
from bmwg.methodology.kinds.repeated.kind import RepeatedKind
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.matrix import Place
from bmwg.methodology.records import Cell, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas import load


class _Jobs(RepeatedKind[JobsSpec, JobsResult]):
    """Jobs among the kinds of load."""

    name = KIND
    unit = "jobs"
    schema = load(KIND)
    profile_format = FORMAT
    families = tuple(EXPERIMENTS)
    headline = tuple(f"{metric}.{first_part(metric)}mean" for metric in EXPERIMENTS)
    places: ClassVar[Mapping[str, tuple[Place, ...]]] = dict.fromkeys(EXPERIMENTS, ())  # rfc8172-2: no goal
    spec_type = JobsSpec
    result_type = JobsResult
    profiles = PROFILES

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        return cell_of_axes(axes)

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Say how forms took turns."""
        return (
            "within each experiment, hosting forms take turns in randomized blocks, each of one execution of"
            f" each form, seed {seed}"
        )

    def judged(self, spec: JobsSpec, result: JobsResult) -> Assessment:
        """Say whether an execution went on as long as asked and told each figure of its job."""
        if found := contradictions(spec, result):
            return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
        if found := shortcomings(spec, result, figures_of(spec)):
            return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
        return Assessment(validity=Validity.VALID)

    def values(self, planned: Planned[JobsSpec], results: Sequence[JobsResult]) -> tuple[Quantity, ...]:
        """Return the mean of each figure, of several each by its name."""
        found: tuple[Quantity, ...] = ()
        for name, unit in EXPERIMENTS[planned.metric].figures.items():
            each = interval([result.figure(name) or 0.0 for result in results])
            metric = f"{planned.metric}.{part_of(planned.metric, name)}".removesuffix(".")
            found += repeated.quantities(metric, each, unit)
        return found

    def remarks(self, results: Sequence[JobsResult]) -> tuple[str, ...]:
        """Say what the program itself doubts."""
        doubted = [str(result.effective[DOUBTED]) for result in results if DOUBTED in result.effective]
        if not doubted:
            return ()
        counts = Counter(name for told in doubted for name in told.split(", "))
        named = ", ".join(f"{name} ({count})" for name, count in counts.items())
        return (
            f"the program doubts its own results in {len(doubted)} of {len(results)} executions: {named}",
        )

    def first_figure(self, planned: Planned[JobsSpec]) -> str:
        """Return the metric of the figure that stands for an experiment."""
        return f"{planned.metric}.{first_part(planned.metric)}".removesuffix(".")


def figures_of(spec: JobsSpec) -> tuple[str, ...]:
    """Return the names of what a job must tell; none of a job that no experiment has."""
    same = (one for one in EXPERIMENTS.values() if (one.workload, one.job) == (spec.workload, spec.job))
    return next((tuple(experiment.figures) for experiment in same), ())


JOBS = _Jobs()
