"""Measurements on one deployed cell: traffic driver, journal and display wired into methodology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bmwg.drivers.actuators.acting import settle
from bmwg.drivers.api.protocols import TrafficLimits, Trials
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.answers.believed import believed
from bmwg.methodology.answers.throughput import not_assessed
from bmwg.methodology.measurements.measurement import Asked, Measurement
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.methodology.records import Outcome, TrialSpec, Validity
from bmwg.methodology.trial.capabilities import Capability, LackingError, refuse_beyond
from bmwg.methodology.trial.judging import JudgedTrial, StallEvidence, TrialPolicy, assess
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.store import RunStore
from bmwg.reports.store.redact import redact
from bmwg.resources.kinds.frames.frames_continued import Recorded
from bmwg.resources.kinds.frames.learning import LearningFrames
from bmwg.resources.kinds.frames.search_lines import Bounds, trial_text
from bmwg.resources.kinds.frames.standing_switch import StandingSwitch
from bmwg.resources.run.answers import is_of_cell
from bmwg.resources.run.clock import Clock, HostClock
from bmwg.resources.run.progress import LineDisplay


class CellMeasurement:
    """Runs trials on a cell that is deployed, and records each before anything uses it."""

    def __init__(
        self,
        *,
        planned: PlannedAnswer,
        metric: str,
        deployment_id: str,
        traffic: Trials,
        limits: TrafficLimits,
        tester: str,
        store: RunStore,
        policy: TrialPolicy,
        display: LineDisplay,
        fault: Callable[..., str | None] = lambda **_: None,
        recorded: Recorded | None = None,
        watch: LeakWatch | None = None,
        clock: Clock | None = None,
        deployed_ns: int = 0,
        switch: StandingSwitch | None = None,
    ) -> None:
        """Take what the cell stands on.

        `fault` says what of the deployment no longer stands (`Liveness.fault`); `recorded` holds the finished
        trials of a run that is continued, which are used before any new one is run. `watch` looks for test
        frames outside.
        `deployed_ns` is when the deployment and the tester's ports stood, by `clock`; `switch` what learns
        addresses between these ports.
        """
        self._clock = clock or HostClock()
        self._deployed_ns = deployed_ns
        self._watch = watch
        self._fault = fault
        self._recorded = recorded or Recorded()
        self._planned = planned
        self._metric = metric
        self._trials: list[JudgedTrial] = []
        self.broken = False  # tester, link or DUT failed: nothing more can be measured on this deployment
        self._deployment_id = deployment_id
        self._traffic = traffic
        self._limits = limits
        self._tester = tester
        self._store = store
        self._policy = policy
        self._display = display
        self._learning = LearningFrames(traffic, policy, self._clock, switch)
        self._deployments: set[str] = set()
        self._bounds = Bounds()

    def trial(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        """Run one trial (RFC 2544 section 23), record it, and judge it after the policy.

        A trial that the run has finished before it was cut off is not run again.
        """
        if before := self._recorded.next(spec, phase):
            self._trials.append(before)
            self._learning.recorded(spec)
            self._bounds.note(before)
            self._display.estimate.sent(self._planned.cell.cell_id, spec.duration_s)
            return before
        self.refuse(spec)
        learning_ns, learnt_ns = self._learning.before(spec)
        known = self._learning.known(spec)
        self._store.begin_trial(cell_id=self._planned.cell.cell_id, phase=phase, spec=spec)
        if self._watch is not None:
            self._watch.begin()
        with self._display.trial(self._planned.cell.cell_id, phase, spec):
            began_ns = self._clock.monotonic_ns()
            result = self._traffic.run(spec)
            ended_ns = self._clock.monotonic_ns()
        if self._watch is not None:
            others = ("machine.other_frames", self._watch.check())
            result = replace(result, auxiliary=tuple(sorted((*result.auxiliary, others))))
        if known:
            result = replace(result, auxiliary=tuple(sorted((*result.auxiliary, *known))))
        if result.fault is None and (fault := self._fault(acted=spec.act is not None)):
            result = replace(result, fault=fault)
        if result.fault is not None:  # an answer quotes it, and is published as the journal is
            result = replace(result, fault=redact(result.fault))
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
            times=TrialTimes(
                deployed_ns=self._deployed_ns,
                learning_ns=learning_ns,
                learnt_ns=learnt_ns,
                began_ns=began_ns,
                ended_ns=ended_ns,
            ),
        )
        judged = JudgedTrial(
            seq=sequence, result=result, validity=assessment.validity, reason=assessment.reason
        )
        self._trials.append(judged)
        self._deployments.add(self._deployment_id)
        self.broken = self.broken or judged.validity is Validity.FAULT
        self._bounds.note(judged)
        self._display.result(
            self._planned.cell.cell_id,
            phase,
            sequence,
            trial_text(spec, result, assessment.validity),
            self._bounds.text,
        )
        # rfc2544-23, phase e: the DUT rests from the trial's end on, while the trial is recorded
        rested_s = (self._clock.monotonic_ns() - ended_ns) / 1e9
        self._clock.sleep(max(0.0, self._policy.restabilize_s - rested_s))
        return judged

    def forget(self) -> None:
        """Have the switch know no address; what recorded trials of an earlier turn told it is past."""
        self._learning.forget(wait=not self._recorded.more)

    def refuse(self, spec: TrialSpec, *also: Capability) -> None:
        """Raise LackingError CAP-01 where the tester cannot do a trial, or has not what else is asked."""
        refuse_beyond(spec, self._limits.capabilities, self._tester, also)

    def measure(self, kind: Measurement, asked: Asked) -> list[Outcome]:
        """Let a measurement ask for its trials; return its outcomes with what must stand beside them."""
        try:
            answered = kind.measure(asked)
        finally:
            settle(self._traffic)
        if answered.error is not None and not is_of_cell(answered.error):
            raise answered.error  # no answer: the run itself cannot go on
        if isinstance(answered.error, LackingError):
            return [self._lacking(outcome, answered.error) for outcome in answered.outcomes]
        found = answered.outcomes
        if answered.error is not None:
            self.broken = True
            found = tuple(replace(outcome, reason=redact(outcome.reason)) for outcome in found)
        continued = len(self._deployments | self._recorded.deployments) > 1
        return [self._remarked(outcome, continued=continued) for outcome in found]

    def _lacking(self, outcome: Outcome, error: LackingError) -> Outcome:
        """The tester cannot do what was asked: no verdict on procedure or device."""
        return not_assessed(
            outcome.cell, outcome_id=outcome.outcome_id, metric=outcome.metric, reason=error.what
        )

    def _remarked(self, outcome: Outcome, *, continued: bool) -> Outcome:
        trials = [trial for trial in self._trials if trial.seq in set(outcome.trials)]
        return believed(
            outcome,
            trials,
            most_ratio=self._policy.most_set_aside_ratio,
            continued=continued,
            by_cpu=self._policy.stall_evidence is StallEvidence.CPU,
            policy=self._policy,
        )
