"""Takes up the searches of a run of frames that was cut off: their finished trials are used once more.

Ids: RES-06 recorded trials that the procedure did not call for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bmwg.drivers.testbed.file import Testbed, parse_testbed
from bmwg.methodology.errors import TrialInvalid
from bmwg.methodology.plan.planning import PlannedAnswer, recorded_as
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.reading import profile_of
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.reports.store import JournalTrial, Run
from bmwg.resources.run.continuation import begun, standing_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """A run to go on with: its own testbed and profile, from its header, not from today's files."""

    run: Run
    testbed: Testbed
    profile: Profile

    @property
    def text(self) -> str:
        """Say in a line what of the run stands already."""
        return standing_text(self.run)

    def recorded(self, planned: PlannedAnswer) -> Recorded:
        """Return the finished trials of a cell that has no answer yet."""
        mine = (recorded_as(self.profile, planned), planned.cell.cell_id)
        return Recorded([trial for trial in self.run.trials if (trial.metric, trial.cell_id) == mine])


class Recorded:
    """Finished trials of one unfinished measurement, given out once each in their order."""

    def __init__(self, trials: list[JournalTrial] | None = None) -> None:
        self._left = list(trials or ())
        self.deployments: set[str] = set()  # of the trials that were given out

    @property
    def more(self) -> bool:
        """Whether there are trials that were not given out."""
        return bool(self._left)

    def next(self, spec: TrialSpec, phase: str) -> JudgedTrial | None:
        """Return the recorded trial that the procedure asks for now; None when there is no more.

        Raises TrialInvalid RES-06 when the next one is not the one asked for.
        """
        if not self._left:
            return None
        trial = self._left.pop(0)
        if trial.spec != spec or trial.phase != phase:
            raise TrialInvalid(
                "RES-06",
                f"trial {trial.seq} of {trial.cell_id} does not follow from the trials before it",
                expected=f"{phase} at {spec.load} {spec.unit}",
                found=f"{trial.phase} at {trial.spec.load} {trial.spec.unit}, or another frame or duration",
                hint="this run cannot be continued: begin a new one",
            )
        self.deployments.add(trial.deployment_id)
        return JudgedTrial(seq=trial.seq, result=trial.result, validity=trial.validity, reason=trial.reason)


def continuation(folder: Path, selected: Collection[str] | None = None) -> Continuation:
    """Read a run that was cut off and check that it can go on with this toolkit and these tests.

    Raises ConfigError RES-01, RES-02, RES-03, and what `read_run` raises. Changes nothing.
    """
    return going_on(begun(folder, selected))


def going_on(run: Run) -> Continuation:
    """Return a run of frames that can go on, with the testbed and profile of its header."""
    testbed = parse_testbed(_yaml(run.testbed), Path(run.testbed_source or "run.json"))
    profile = profile_of(run.profile, source=f"profile of {run.run_id}")
    return Continuation(run=run, testbed=testbed, profile=profile)


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)
