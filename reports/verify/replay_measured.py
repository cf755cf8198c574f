"""Replays any registered measurement: it is asked again and gets the recorded trials instead of new ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bmwg.methodology import suites
from bmwg.methodology.answers.former import FormerRule
from bmwg.methodology.measurements.measurement import Asked, Measurement
from bmwg.methodology.measurements.registry import measurement, recorded_as
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Outcome, OutcomeType, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Shortfall


class _EndedError(BaseException):
    """The recorded trials ended where the measurement asks for one more; no measurement may catch this."""

    def __init__(self, wanted: TrialSpec, phase: str) -> None:
        self.text = f"one more trial at {wanted.load_fps} frames/s ({phase})"


class _OtherTrialError(BaseException):
    """A recorded trial is not the one that was asked for; no measurement may catch this."""

    def __init__(self, entry: Trial, wanted: TrialSpec, phase: str) -> None:
        spec = entry.trial.result.spec
        self.seq = entry.trial.seq
        self.expected = f"{wanted.load_fps} frames/s for {wanted.duration_s:g} s ({phase})"
        self.found = (
            f"{spec.load_fps} frames/s for {spec.duration_s:g} s ({entry.phase}),"
            " or another frame, direction, flows or bursts"
        )


def recomputed(
    evidence: Evidence,
    profile: Profile,
    outcome: Outcome,
    envelope_fps: int | None,
    max_load_fps: int,
    former: FormerRule | None = None,
) -> Outcome | Iterator[Shortfall]:
    """Return what the trials of an outcome prove, without remarks on the run; or why they prove nothing.

    `former` is the rule of the version that the run was measured by, where that is not the current one.
    """
    where = outcome.outcome_id
    case = suites.case(outcome.outcome_id.partition(":")[0], evidence.cases)
    if case is None or outcome.metric not in measurement(case.measurement).metrics(profile, outcome.cell):
        return iter([(where, "the test of a measurement that gives this metric", outcome.metric)])
    kind: Measurement | FormerRule = former or measurement(case.measurement)
    cell = outcome.cell
    if not cell.qualifies_tester and envelope_fps is None:
        return iter(
            [(where, "a tester qualified for this traffic before the search", "no envelope in the run")]
        )
    found = None
    if kind.needs_throughput:
        found = evidence.outcome(cell.cell_id, planning.throughput_of(profile, cell).metric)
        if found is None or found.lower is None:
            return iter([(where, "a load without loss, found before (RFC2544-26.2-01)", "none in the run")])
    group = evidence.of(cell.cell_id, recorded_as(outcome.metric))
    left = iter(group)

    def take(wanted: TrialSpec, phase: str) -> JudgedTrial:
        entry = next(left, None)
        if entry is None:
            raise _EndedError(wanted, phase)
        if entry.trial.result.spec != wanted or entry.phase != phase:
            raise _OtherTrialError(entry, wanted, phase)
        if not kind.reads_latency:
            return entry.trial
        return replace(entry.trial, result=evidence.whole(entry).result)

    try:
        answered = kind.measure(
            Asked(
                profile=profile,
                cell=cell,
                outcome_id=f"{case.test_id}:{cell.cell_id}",
                trial=take,
                max_load_fps=envelope_fps or max_load_fps,
                envelope_fps=envelope_fps,
                throughput=found,
                medium_fps=evidence.medium_fps(cell),
            )
        )
    except _EndedError as end:
        if outcome.type is OutcomeType.INVALID:
            return iter(no_claim(outcome))
        return iter([(where, end.text, "the measurement's end")])
    except _OtherTrialError as other:
        return iter([(f"{where}: trial {other.seq}", other.expected, other.found)])
    if (extra := next(left, None)) is not None:
        return iter([(f"{where}: trial {extra.trial.seq}", "no further trial", f"trial {extra.trial.seq}")])
    mine = [one for one in answered.outcomes if one.metric == outcome.metric]
    if not mine:
        metrics = ", ".join(one.metric for one in answered.outcomes)
        return iter([(where, f"one of the measurement's metrics, {metrics}", outcome.metric)])
    return mine[0]


def no_claim(outcome: Outcome) -> list[Shortfall]:
    """Say what an answer that was cut off claims all the same."""
    found: list[Shortfall] = []
    if outcome.lower or outcome.upper or outcome.values:
        found.append((outcome.outcome_id, "no bound and no value of a search that was cut off", "some"))
    if not outcome.reason:
        found.append((outcome.outcome_id, "the reason why the outcome is invalid", "none"))
    return found
