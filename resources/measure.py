"""Measurements on one deployed cell: traffic driver, journal and display wired into methodology."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from bmwg.methodology.latency import latency_quantities

from bmwg.drivers.api import TrafficDriver
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec, Validity
from bmwg.methodology.search.bisection import search
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.trial import JudgedTrial, RecordedTrial, TrialPolicy, assess, valid_trial
from bmwg.reports.store import RunStore
from bmwg.resources.progress import LineDisplay, bounds_text, trial_text

THROUGHPUT = "throughput.rfc2544_26_1"
ENVELOPE = "tester.envelope"
LATENCY = "latency.all_frames"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """For what a trial is run: it stands on each line of the journal."""

    test_id: str
    metric: str
    requirements: tuple[str, ...] = ()


class CellMeasurement:
    """Runs trials on a cell that is deployed, and records each before anything uses it."""

    def __init__(
        self,
        *,
        cell: Cell,
        deployment_id: str,
        traffic: TrafficDriver,
        store: RunStore,
        policy: TrialPolicy,
        display: LineDisplay,
        purpose: Purpose,
    ) -> None:
        self._cell = cell
        self._deployment_id = deployment_id
        self._traffic = traffic
        self._store = store
        self._policy = policy
        self._display = display
        self._purpose = purpose
        self._learnt = False
        self._lower_fps: int | None = None
        self._upper_fps: int | None = None

    def trial(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        """Run one trial (RFC 2544 section 23), record it, and judge it after the policy."""
        if self._policy.learning and not self._learnt:
            self._traffic.learn(spec)  # rfc2544-23, phase b
            time.sleep(self._policy.learning_wait_s)
            self._learnt = True
        with self._display.trial(self._cell.cell_id, phase, spec):
            result = self._traffic.run_trial(spec)
        assessment = assess(result, self._policy)
        sequence = self._store.append_trial(
            cell_id=self._cell.cell_id,
            deployment_id=self._deployment_id,
            metric=self._purpose.metric,
            test_id=self._purpose.test_id,
            phase=phase,
            result=result,
            validity=assessment.validity,
            reason=assessment.reason,
        )
        judged = JudgedTrial(
            seq=sequence, result=result, validity=assessment.validity, reason=assessment.reason
        )
        self._note_bounds(judged)
        self._display.result(
            self._cell.cell_id,
            phase,
            sequence,
            trial_text(spec, result, assessment.validity),
            bounds_text(self._lower_fps, self._upper_fps),
        )
        time.sleep(self._policy.restabilize_s)  # rfc2544-23, phase e
        return judged

    def throughput(self, goal: ThroughputGoal) -> Outcome:
        """Find the throughput (RFC 1242 section 3.17) by the bisection of RFC 2544 section 26.1."""
        found = search(lambda spec: self.trial(spec, "search"), goal)
        return _throughput_outcome(self._cell, self._purpose, found)

    def envelope(self, goal: ThroughputGoal) -> Outcome:
        """Qualify the tester on the wire: the same search, another metric (docs/adr/0002)."""
        found = search(lambda spec: self.trial(spec, "qualification"), goal)
        outcome = _throughput_outcome(self._cell, self._purpose, found)
        if found.type is OutcomeType.TESTER_LIMITED and found.lower is not None:
            outcome = replace(
                outcome,
                type=OutcomeType.MEASURED,
                values=(_per_second(ENVELOPE, found.lower.load_fps),),
                statement="",
                reason="",
            )
        return outcome

    def latency(self, load_fps: int, duration_s: float, quality: tuple[str, ...]) -> Outcome:
        """Measure the latency of all frames at one load, frames/s; lost frames have none and are remarked."""
        spec = TrialSpec(
            frame_octets=self._cell.frame_octets,
            load_fps=load_fps,
            duration_s=duration_s,
            direction=self._cell.direction,
            frame_format=self._cell.frame_format,
            flows=self._cell.flows,
            vlan_id=self._cell.vlan_id,
        )
        trials: list[JudgedTrial] = []

        def one(wanted: TrialSpec) -> RecordedTrial:
            trials.append(self.trial(wanted, "latency"))
            return RecordedTrial(seq=trials[-1].seq, result=trials[-1].result)

        tried = valid_trial(one, spec, self._policy)
        outcome = Outcome(
            outcome_id=f"{self._purpose.test_id}/{self._cell.cell_id}",
            metric=LATENCY,
            cell=self._cell,
            type=OutcomeType.INVALID,
            trials=tuple(trial.seq for trial in tried.trials),
            requirements=self._purpose.requirements,
            reason=tried.trials[-1].reason,
        )
        if tried.valid is None:
            return outcome
        result = tried.valid.result
        if result.received_frames == 0:
            return replace(outcome, reason=f"none of {result.sent_frames} frames was received")
        if result.lost_frames:
            quality = (*quality, f"{result.lost_frames} of {result.sent_frames} frames lost in this trial")
        return replace(
            outcome,
            type=OutcomeType.MEASURED,
            reason="",
            values=(_per_second("latency.load", load_fps), *latency_quantities(result)),
            quality=quality,
        )

    def _note_bounds(self, trial: JudgedTrial) -> None:
        load = trial.result.spec.load_fps
        if trial.lossless:
            self._lower_fps = max(load, self._lower_fps or 0)
        elif trial.validity in (Validity.VALID, Validity.SENT_SHORT):
            self._upper_fps = min(load, self._upper_fps or load)


def _per_second(metric: str, load_fps: int) -> Quantity:
    return Quantity(metric=metric, number=load_fps, unit="frames/s")


def _throughput_outcome(cell: Cell, purpose: Purpose, found: SearchResult) -> Outcome:
    value = found.value_fps
    return Outcome(
        outcome_id=f"{purpose.test_id}/{cell.cell_id}",
        metric=purpose.metric,
        cell=cell,
        type=found.type,
        values=() if value is None else (_per_second(purpose.metric, value),),
        lower=found.lower,
        upper=found.upper,
        trials=found.trials,
        statement=found.statement,
        reason=found.reason,
        requirements=purpose.requirements,
        quality=found.quality,
    )
