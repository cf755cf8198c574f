"""Measurements on one deployed cell: traffic driver, journal and display wired into methodology."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from bmwg.drivers.api import TrafficDriver
from bmwg.drivers.isolation import LeakWatch
from bmwg.methodology import latency, throughput
from bmwg.methodology.errors import ToolkitBug, ToolkitError
from bmwg.methodology.planning import PlannedCell
from bmwg.methodology.records import Outcome, TrialSpec, Validity
from bmwg.methodology.search.bisection import search
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.trial import JudgedTrial, Learning, RecordedTrial, TrialPolicy, assess, valid_trial
from bmwg.reports.store import RunStore
from bmwg.resources.continuation import Recorded
from bmwg.resources.progress import LineDisplay, bounds_text, trial_text

# The run itself cannot go on: no disk, an undo that cannot be written, a frame outside, a broken record.
STOPPING = frozenset({"STORE-08", "LEDGER-05", "ISO-03", "RES-06"})


def is_of_cell(error: BaseException) -> bool:
    """Whether an error is the affair of one cell; all others (Ctrl-C, a full disk, a leak) end the run."""
    return (
        isinstance(error, ToolkitError)
        and not isinstance(error, ToolkitBug)
        and error.error_id not in STOPPING
    )


class CellMeasurement:
    """Runs trials on a cell that is deployed, and records each before anything uses it."""

    def __init__(
        self,
        *,
        planned: PlannedCell,
        metric: str,
        deployment_id: str,
        traffic: TrafficDriver,
        store: RunStore,
        policy: TrialPolicy,
        display: LineDisplay,
        fault: Callable[[], str | None] = lambda: None,
        recorded: Recorded | None = None,
        watch: LeakWatch | None = None,
    ) -> None:
        """Take what the cell stands on.

        `fault` says what of the deployment no longer stands; `recorded` holds the finished trials of a run
        that is continued, which are used before any new one is run. `watch` looks for test frames outside.
        """
        self._watch = watch
        self._fault = fault
        self._recorded = recorded or Recorded()
        self._planned = planned
        self._metric = metric
        self._trials: list[JudgedTrial] = []
        self.broken = False  # tester, link or DUT failed: nothing more can be measured on this deployment
        self._deployment_id = deployment_id
        self._traffic = traffic
        self._store = store
        self._policy = policy
        self._display = display
        self._learnt = False
        self._deployments: set[str] = set()
        self._lower_fps: int | None = None
        self._upper_fps: int | None = None

    def trial(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        """Run one trial (RFC 2544 section 23), record it, and judge it after the policy.

        A trial that the run has finished before it was cut off is not run again.
        """
        if before := self._recorded.next(spec, phase):
            self._trials.append(before)
            self._note_bounds(before)
            self._display.estimate.done_s += spec.duration_s
            return before
        learning = self._policy.learning
        if learning is Learning.TRIAL or (learning is Learning.DEPLOYMENT and not self._learnt):
            self._traffic.learn(spec)  # rfc2544-23, phase b
            time.sleep(self._policy.learning_wait_s)
            self._learnt = True
        self._store.begin_trial(cell_id=self._planned.cell.cell_id, phase=phase, spec=spec)
        if self._watch is not None:
            self._watch.begin()
        with self._display.trial(self._planned.cell.cell_id, phase, spec):
            result = self._traffic.run_trial(spec)
        ended_s = time.monotonic()
        if self._watch is not None:
            others = ("machine.other_frames", self._watch.check())
            result = replace(result, auxiliary=tuple(sorted((*result.auxiliary, others))))
        if result.fault is None and (fault := self._fault()):
            result = replace(result, fault=fault)
        assessment = assess(result, self._policy)
        sequence = self._store.append_trial(
            cell_id=self._planned.cell.cell_id,
            deployment_id=self._deployment_id,
            metric=self._metric,
            test_id=self._planned.test_id,
            phase=phase,
            result=result,
            validity=assessment.validity,
            reason=assessment.reason,
        )
        judged = JudgedTrial(
            seq=sequence, result=result, validity=assessment.validity, reason=assessment.reason
        )
        self._trials.append(judged)
        self._deployments.add(self._deployment_id)
        self.broken = self.broken or judged.validity is Validity.FAULT
        self._note_bounds(judged)
        self._display.result(
            self._planned.cell.cell_id,
            phase,
            sequence,
            trial_text(spec, result, assessment.validity),
            bounds_text(self._lower_fps, self._upper_fps),
        )
        # rfc2544-23, phase e: the DUT rests from the trial's end on, while the trial is recorded
        time.sleep(max(0.0, ended_s + self._policy.restabilize_s - time.monotonic()))
        return judged

    def search(self, goal: ThroughputGoal, phase: str) -> Outcome:
        """Find the throughput (RFC 1242 section 3.17) by the bisection of RFC 2544 section 26.1."""
        found = search(lambda spec: self.trial(spec, phase), goal)
        if found.error is not None and not is_of_cell(found.error):
            raise found.error  # no answer: the run itself cannot go on
        self.broken = self.broken or found.error is not None
        outcome = throughput.outcome(
            found, self._planned.cell, outcome_id=self._planned.outcome_id, metric=self._metric
        )
        return self._remarked(outcome, ())

    def latency(self, spec: TrialSpec, remarks: tuple[str, ...]) -> Outcome:
        """Measure the latency of all frames in one trial, repeated only while it is not valid."""

        def one(wanted: TrialSpec) -> RecordedTrial:
            trial = self.trial(wanted, "latency")
            return RecordedTrial(seq=trial.seq, result=trial.result)

        tried = valid_trial(one, spec, self._policy)
        outcome = latency.outcome(tried, self._planned.cell, outcome_id=self._planned.outcome_id)
        return self._remarked(outcome, remarks)

    def _remarked(self, outcome: Outcome, remarks: tuple[str, ...]) -> Outcome:
        """Add what must stand beside the number: the share of trials set aside, the value over all."""
        trials = [trial for trial in self._trials if trial.seq in outcome.trials]
        share = throughput.set_aside_share(trials)
        if share > 0:
            aside = f"{share:.0%} of trials set aside for stalls of the SUT's host"
            over_all = throughput.lossless_over_all(trials)
            value = f"{over_all} frames/s" if over_all is not None else "no load"
            remarks = (*remarks, f"{aside}; without loss over all trials: {value}")
        if len(self._deployments | self._recorded.deployments) > 1:
            remarks = (*remarks, "the run was cut off in the midst of these trials and continued")
        return replace(outcome, quality=(*outcome.quality, *remarks))

    def _note_bounds(self, trial: JudgedTrial) -> None:
        load = trial.result.spec.load_fps
        if trial.lossless:
            self._lower_fps = max(load, self._lower_fps or 0)
        elif trial.validity in (Validity.VALID, Validity.SENT_SHORT):
            self._upper_fps = min(load, self._upper_fps or load)
