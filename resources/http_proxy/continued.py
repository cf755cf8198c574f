"""Takes up a run of HTTP experiments that was cut off: answers stay, repetitions of other cells are used.

A search for a rate begins anew, for its load would follow from a deployment that is gone. Nothing is changed
here. Ids are those of `resources.continuation`, and HPROF-02 its profile is none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.http.profile import HttpProfile, Planned
from bmwg.methodology.http.records import HttpOutcome, Repetition
from bmwg.reports.http.answers import planned_tests, read_answers
from bmwg.reports.http.journal import read_journal
from bmwg.reports.store import Run, read_run
from bmwg.resources.continuation import require_planned, require_unfinished
from bmwg.schemas.validation import problems


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpContinuation:
    """A run to go on with: its own profile, from its header, not from today's files."""

    run: Run
    profile: HttpProfile
    plan: tuple[Planned, ...]
    outcomes: Mapping[str, HttpOutcome]
    repetitions: tuple[tuple[int, Repetition], ...]

    @property
    def text(self) -> str:
        """Say in a line what of the run stands already."""
        return (
            f"continued after repetition {len(self.repetitions)}: {len(self.outcomes)} answers stand, "
            f"{len(self.plan) - len(self.outcomes)} are left"
        )

    @property
    def deployments(self) -> int:
        """The highest number that a deployment of the run has in its name."""
        names = {*self.run.deployments, *(rep.deployment for _, rep in self.repetitions)}
        numbers = (name.rpartition("-")[2] for name in names)
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def recorded(self, planned: Planned) -> list[tuple[int, Repetition]]:
        """Return the repetitions of a cell that has no answer yet; of a search for a rate none."""
        if planned.rate is not None:
            return []
        return [entry for entry in self.repetitions if entry[1].cell_id == planned.cell.cell_id]


def http_continuation(folder: Path, selected: Collection[str] | None = None) -> HttpContinuation:
    """Read a run that was cut off and check that it can go on with this toolkit and these tests.

    Raises ConfigError RES-01, RES-02, RES-03, HPROF-02, and what reading a run raises. Changes nothing.
    """
    run = read_run(folder)
    require_unfinished(run)
    tests = planned_tests(folder)
    require_planned(run.run_id, tests, selected)
    if wrong := problems(run.profile, "http_profile"):
        raise ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=str(wrong[0]))
    profile = HttpProfile(name=run.profile["name"], data=run.profile)
    answered = read_answers(folder, run.run_id, run.header_sha256)
    return HttpContinuation(
        run=run,
        profile=profile,
        plan=tuple(planned for planned in profile.plan() if planned.test_id in tests),
        outcomes={outcome.cell.cell_id: outcome for outcome in answered},
        repetitions=read_journal(folder, run.run_id, run.header_sha256),
    )
