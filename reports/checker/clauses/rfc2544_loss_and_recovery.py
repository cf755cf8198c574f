"""RFC 2544 sections 26.3 to 26.6 as rules: frame loss rate, bursts, recovery, reset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from bmwg.methodology.benchmarks import back_to_back, frame_loss, recovery
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.records import Outcome, OutcomeType, Quantity
from bmwg.reports.checker.bursts import averages, burst_searches
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import close, stated, throughputs
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_construction,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import NO_LENGTH, lasted_s, residual_ns, sent_to_the_end, untold, waited

LARGEST_STEP = 0.1  # rfc2544-26.3
BURST_TRIAL_S = 2.0  # rfc2544-26.4
BURST_REPEATS = 50  # rfc2544-26.4
_ROUNDED_FPS = 1  # loads are whole frames/s


def _trials(scope: Scope, one: Outcome) -> list[Trial]:
    return list(scope.evidence.of(one.cell.cell_id, recorded_as(one.metric)))


def _ladders(scope: Scope) -> list[list[Trial]]:
    """Return the trials of each curve by falling load, one a load: the last, which is the valid one."""
    made = []
    for outcome in scope.outcomes:
        by_load = {t.trial.result.spec.load_fps: t for t in _trials(scope, outcome)}
        made.append([by_load[load] for load in sorted(by_load, reverse=True)])
    return made


@clause("RFC2544-26.3-02", "frame loss rate")
def from_maximum(scope: Scope) -> Answer:
    """The first load is the medium's theoretical rate, or the tester's highest load where it has none.

    A load that the tester could not send was not tried: where a trial was valid, the first such one counts.
    """
    wrong = []
    for outcome in scope.outcomes:
        limit = scope.evidence.medium_fps(outcome.cell) or scope.evidence.envelope_fps(outcome.cell)
        trials = _trials(scope, outcome)
        tried = [trial for trial in trials if trial.trial.valid] or trials
        first = tried[0].trial.result.spec.load_fps if tried else 0
        if limit is None or first < limit:
            wrong.append(f"{first} of {limit} frames/s")
    return held(
        not wrong,
        "the maximum rate first",
        f"{len(wrong)} of {len(scope.outcomes)} begin below {wrong[:2]}",
    )


@clause("RFC2544-26.3-03", "frame loss rate")
def to_two_lossless(scope: Scope) -> Answer:
    """Two successive loads without loss end the ladder."""
    wrong = [
        one.outcome_id
        for one, ladder in zip(scope.outcomes, _ladders(scope), strict=True)
        if len(ladder) < 2 or not all(t.trial.valid and t.trial.lossless for t in ladder[-2:])
    ]
    return held(not wrong, "two loads without loss at the end", f"{len(wrong)} curves otherwise {wrong[:3]}")


@clause("RFC2544-26.3-04", "frame loss rate")
def granularity(scope: Scope) -> Answer:
    """No step from one load with a valid trial to the next is wider than a tenth of the highest load."""
    ladders = _ladders(scope)
    if not any(t.trial.valid for ladder in ladders for t in ladder):
        return not_applicable("no load has a valid trial")
    widest = 0.0
    for ladder in ladders:
        loads = [t.trial.result.spec.load_fps for t in ladder if t.trial.valid]
        highest_fps = max((t.trial.result.spec.load_fps for t in ladder), default=1)
        steps = [(above - below - _ROUNDED_FPS) / highest_fps for above, below in pairwise(loads)]
        widest = max([widest, *steps])
    return held(
        widest <= LARGEST_STEP,
        "steps of at most a tenth",
        f"the widest is {widest:.3f} of the highest load",
    )


@clause("RFC2544-26.3-05", "frame loss rate")
def plotted(scope: Scope) -> Answer:
    """The report draws the first curves, each with two loads or more: no run holds its report."""
    expected = "a graph of each curve"
    short = [outcome.outcome_id for outcome in scope.outcomes if len(outcome.values) < 2]
    if short:
        return held(False, expected, f"{len(short)} curves of fewer than two loads {short[:2]}")
    found = f"{len(scope.outcomes)} curves, of which the report draws {frame_loss.MOST_CURVES} at most"
    if len(scope.outcomes) > frame_loss.MOST_CURVES:
        return held(False, expected, found)
    return by_construction(expected, found)


@clause("RFC2544-26.3-06", "frame loss rate")
def x_axis(scope: Scope) -> Answer:
    """The graph's loads are percent of the theoretical rate; a medium without one has no such percent."""
    if not any(outcome.values for outcome in scope.outcomes):
        return not_applicable("no curve to plot")
    axes = frame_loss.axes(scope.evidence.line_rate_bps)
    if axes is not frame_loss.OF_THEORETICAL:
        return held(False, frame_loss.OF_THEORETICAL.x, axes.x)
    return by_construction(frame_loss.OF_THEORETICAL.x, axes.x)


@clause("RFC2544-26.3-07", "frame loss rate")
def y_axis(scope: Scope) -> Answer:
    """What is drawn upwards is the share of frames that were lost: that of a valid trial at the load."""

    def fits(one: Outcome, load_fps: int, value: Quantity) -> bool:
        lost = [
            t.trial.result.loss_ratio
            for t in _trials(scope, one)
            if t.trial.valid and t.trial.result.spec.load_fps == load_fps
        ]
        return value.unit == frame_loss.UNIT and value.number in lost

    return _of_graph(scope, "percent of the frames lost, as trials counted them", fits)


@clause("RFC2544-26.3-08", "frame loss rate")
def axis_limits(scope: Scope) -> Answer:
    """Each point lies within the axes: no load above 100 % of the abscissa's, no loss above 100 %."""

    def fits(one: Outcome, load_fps: int, value: Quantity) -> bool:
        loads = [t.trial.result.spec.load_fps for t in _trials(scope, one)]
        full_fps = scope.evidence.medium_fps(one.cell) or max(loads, default=0)
        return 0 < load_fps <= full_fps and 0.0 <= value.number <= 1.0

    low, high = frame_loss.axes(scope.evidence.line_rate_bps).ends
    return _of_graph(scope, f"points on axes from {low} to {high} percent", fits)


def _of_graph(scope: Scope, what: str, fits: Callable[[Outcome, int, Quantity], bool]) -> Answer:
    """Hold each point of the graph against a condition: the outcome, the load in frames/s, the value."""
    points = [
        (outcome, frame_loss.load_of(value), value) for outcome in scope.outcomes for value in outcome.values
    ]
    if not points:
        return not_applicable("no curve to plot")
    wrong = [value.metric for one, load_fps, value in points if not fits(one, load_fps, value)]
    return held(not wrong, what, f"{len(wrong)} of {len(points)} points otherwise {wrong[:2]}")


@clause("RFC2544-26.4-02", "back-to-back frames")
def burst_trial(scope: Scope) -> Answer:
    """Sending a burst, and then receiving what a buffer still holds, take at least 2 s."""
    lengths: list[int | None] = []
    for trial in scope.trials:
        if not trial.fault:
            wait_ns = residual_ns(trial)
            sent_ns = max((s.effective_duration_ns for s in trial.trial.result.streams), default=0)
            lengths.append(None if wait_ns is None else sent_ns + wait_ns)
    silent = "the tester does not say how long it went on receiving after a burst"
    return waited(lengths, BURST_TRIAL_S, "from a burst's first frame to reading the counts", silent)


@clause("RFC2544-26.4-03", "back-to-back frames")
def burst_repeats(scope: Scope) -> Answer:
    """At least 50 searches a size, by the journal's phases, and their average is the number."""
    least = min((len(burst_searches(_trials(scope, outcome))) for outcome in scope.outcomes), default=0)
    other = sum(bool(one.values) and not averages(scope, one) for one in scope.outcomes)
    found = f"at least {least}; {other} numbers are not their average"
    return held(
        least >= BURST_REPEATS and not other, f"the average of at least {BURST_REPEATS} searches", found
    )


@clause("RFC2544-26.4-04", "back-to-back frames")
def burst_table(scope: Scope) -> Answer:
    """Each plain number is a row: size and average."""
    return _stated(scope, back_to_back.METRIC)


@clause("RFC2544-26.5-01", "system recovery")
def overloaded(scope: Scope) -> Answer:
    """Each trial went 60 s at 110 % of the throughput, or at the medium's rate where that is lower."""
    found = {
        cell_id: one.lower
        for cell_id, one in throughputs(scope).items()
        if one.type is not OutcomeType.UNSTABLE
    }
    cells = {outcome.cell.cell_id: outcome.cell for outcome in scope.outcomes}
    valid = [t for t in scope.trials if t.trial.valid and t.cell_id in cells and _overloads(t)]
    if not valid:
        return not_applicable("the run holds no valid trial of it")
    if any(untold(trial) for trial in valid):
        return not_assessed(NO_LENGTH)
    wrong = []
    for trial in valid:
        spec, bound = trial.trial.result.spec, found.get(trial.cell_id)
        medium_fps = scope.evidence.medium_fps(cells[trial.cell_id])
        asked = (
            bound is not None
            and spec.load_fps == recovery.recovery_loads(bound.load_fps, medium_fps).overload_fps
        )
        if not asked or _overload_s(trial) < recovery.OVERLOAD_S:
            wrong.append(trial.trial.seq)
    expected = f"{recovery.OVERLOAD_PERCENT} % of the throughput for {recovery.OVERLOAD_S:g} s"
    return held(not wrong, expected, f"{len(wrong)} of {len(valid)} trials otherwise {wrong[:5]}")


@clause("RFC2544-26.5-04", "system recovery")
def recovery_repeated(scope: Scope) -> Answer:
    """More than one trial, and their average as the number."""
    least = min((len(_overloaded(scope, outcome)) for outcome in scope.outcomes), default=0)
    other = sum(bool(one.values) and not _is_average(scope, one) for one in scope.outcomes)
    found = f"at least {least}; {other} numbers are not their average"
    return held(least > 1 and not other, "the average of more than one trial", found)


@clause("RFC2544-26.5-05", "system recovery")
def recovery_table(scope: Scope) -> Answer:
    """Each plain number is a row: size, loads and time."""
    return _stated(scope, recovery.RECOVERY_METRIC)


@clause("RFC2544-26.6-06", "reset")
def reset_statements(scope: Scope) -> Answer:
    """Each kind of reset that was done has a statement of its own: a value for every cell."""
    wrong = [one.outcome_id for one in scope.outcomes if not one.values]
    kinds = {outcome.metric for outcome in scope.outcomes}
    found = f"{len(kinds)} kinds; {len(wrong)} without a value {wrong[:2]}"
    return held(not wrong, "a statement for each kind of reset", found)


def _overloads(trial: Trial) -> bool:
    """Whether a trial has two loads; one of the reduced load alone is a control."""
    return trial.trial.result.spec.then_load_fps is not None


def _overload_s(trial: Trial) -> float:
    """Return how long an overload lasted (s): what was asked for, where all of the trial lasted as long.

    Of a shorter trial that is what the reduced load's whole time leaves.
    """
    spec = trial.trial.result.spec
    if sent_to_the_end(trial):
        return spec.duration_s
    return lasted_s(trial) - (spec.then_duration_s or 0.0)


def _overloaded(scope: Scope, one: Outcome) -> list[Trial]:
    """Return the valid trials with an overload."""
    return [t for t in _trials(scope, one) if t.trial.valid and _overloads(t)]


def _is_average(scope: Scope, one: Outcome) -> bool:
    """Whether a recovery time is the mean of what its trials tell; one that tells no losses has none."""
    trials = [t.trial for t in _overloaded(scope, one)]
    if not trials or any(stream.losses is None for trial in trials for stream in trial.result.streams):
        return False
    times_ms = [recovery.recovery_ms(recovery.recovery_trial(trial)) for trial in trials]
    return close(stated(one, recovery.RECOVERY_METRIC), sum(times_ms) / len(times_ms))


def _stated(scope: Scope, metric: str) -> Answer:
    """Return whether each size that was tried has its row: a value, and not only words."""
    lacking = [
        outcome.outcome_id for outcome in scope.outcomes if metric not in {v.metric for v in outcome.values}
    ]
    found = f"{len(lacking)} of {len(scope.outcomes)} outcomes without {lacking[:2]}"
    return held(not lacking, f"a row for each size, with {metric}", found)
