"""RFC 2544 sections 26.3 to 26.6 as rules: frame loss rate, bursts, recovery, reset."""

from __future__ import annotations

from itertools import pairwise

from bmwg.methodology.benchmarks import back_to_back, recovery
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

LARGEST_STEP = 0.1  # rfc2544-26.3
BURST_TRIAL_S = 2.0  # rfc2544-26.4
BURST_REPEATS = 50  # rfc2544-26.4
RESETS = ("hardware", "software", "power")  # rfc2544-26.6
_ROUNDED_FPS = 1  # loads are whole frames/s


def _trials(scope: Scope, one: Outcome) -> list[Trial]:
    return list(scope.evidence.of(one.cell.cell_id, recorded_as(one.metric)))


def _ladders(scope: Scope) -> list[list[Trial]]:
    """Return the trials of each curve by falling load, one a load: the last, which is the valid one."""
    made = []
    for one in scope.outcomes:
        by_load = {t.trial.result.spec.load_fps: t for t in _trials(scope, one)}
        made.append([by_load[load] for load in sorted(by_load, reverse=True)])
    return made


@clause("RFC2544-26.3-02", "frame loss rate")
def from_maximum(scope: Scope) -> Answer:
    """The first load is the medium's maximum, or the tester's own where the medium has none."""
    wrong = 0
    for one, ladder in zip(scope.outcomes, _ladders(scope), strict=True):
        limit = scope.evidence.envelope_fps(one.cell)
        wrong += not ladder or limit is None or ladder[0].trial.result.spec.load_fps < limit
    return held(
        not wrong, "the highest load first", f"{wrong} of {len(scope.outcomes)} curves begin below it"
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
    """No step is wider than a tenth of the highest load."""
    widest = 0.0
    for ladder in _ladders(scope):
        loads = [t.trial.result.spec.load_fps for t in ladder]
        steps = [(above - below - _ROUNDED_FPS) / loads[0] for above, below in pairwise(loads)]
        widest = max([widest, *steps])
    return held(
        bool(scope.trials) and widest <= LARGEST_STEP,
        "steps of at most a tenth",
        f"the widest is {widest:.3f} of the highest load",
    )


@clause("RFC2544-26.3-05", "frame loss rate")
def plotted(scope: Scope) -> Answer:
    """The report draws each curve that has a plain number."""
    drawn = sum(bool(one.values) for one in scope.outcomes)
    return held(drawn > 0, "a graph of each curve", f"{drawn} curves")


@clause("RFC2544-26.3-06", "frame loss rate")
def x_axis(scope: Scope) -> Answer:
    """The graph's loads are percent of the theoretical rate; without one, of the tester's highest load."""
    if not any(one.values for one in scope.outcomes):
        return not_applicable("no curve to plot")
    rate = scope.evidence.run["medium"]["line_rate_bps"] if scope.evidence.run else None
    found = "percent of the tester's highest load" if rate is None else "percent of the theoretical rate"
    return held(rate is not None, "percent of the theoretical rate", found)


@clause("RFC2544-26.3-07", "frame loss rate")
def y_axis(scope: Scope) -> Answer:
    """The graph's ordinate."""
    return _of_graph(scope, "percent of frames lost")


@clause("RFC2544-26.3-08", "frame loss rate")
def axis_limits(scope: Scope) -> Answer:
    """The graph's ends."""
    return _of_graph(scope, "both axes from 0 to 100")


def _of_graph(scope: Scope, what: str) -> Answer:
    if not any(one.values for one in scope.outcomes):
        return not_applicable("no curve to plot")
    return held(True, what, what)


@clause("RFC2544-26.4-02", "back-to-back frames")
def burst_trial(scope: Scope) -> Answer:
    """Sending and waiting for what a buffer still holds take at least 2 s."""
    wait_s = scope.profile.benchmarks.get("back_to_back", {}).get("depletion_s", scope.profile.policy.drain_s)
    shortest = min((t.trial.result.spec.duration_s for t in scope.trials), default=0.0)
    return held(
        shortest + float(wait_s) >= BURST_TRIAL_S,
        f"at least {BURST_TRIAL_S} s",
        f"{shortest:g} s, then {wait_s:g} s",
    )


@clause("RFC2544-26.4-03", "back-to-back frames")
def burst_repeats(scope: Scope) -> Answer:
    """At least 50 searches a size: the journal's phases part them."""
    least = min((len({t.phase for t in _trials(scope, one)}) for one in scope.outcomes), default=0)
    return held(least >= BURST_REPEATS, f"at least {BURST_REPEATS} searches", f"at least {least}")


@clause("RFC2544-26.4-04", "back-to-back frames")
def burst_table(scope: Scope) -> Answer:
    """Each plain number is a row: size and average."""
    return _stated(scope, back_to_back.METRIC)


@clause("RFC2544-26.5-04", "system recovery")
def recovery_repeated(scope: Scope) -> Answer:
    """More than one trial, and their average."""
    return _repeated(scope)


@clause("RFC2544-26.5-05", "system recovery")
def recovery_table(scope: Scope) -> Answer:
    """Each plain number is a row: size, loads and time."""
    return _stated(scope, recovery.RECOVERY_METRIC)


@clause("RFC2544-26.6-05", "reset")
def kinds_of_reset(scope: Scope) -> Answer:
    """Hardware, software and power; a container has neither hardware nor power of its own."""
    kinds = sorted({one.metric.rpartition(".")[2] for one in scope.outcomes})
    lacking = [kind for kind in RESETS if not any(kind in found for found in kinds)]
    return held(not lacking, ", ".join(RESETS), f"resets of {', '.join(kinds)}")


@clause("RFC2544-26.6-06", "reset")
def reset_statements(scope: Scope) -> Answer:
    """Each kind of reset has an outcome of its own."""
    kinds = {one.metric for one in scope.outcomes}
    return held(bool(kinds), "a statement for each kind of reset", f"{len(kinds)} kinds")


def _repeated(scope: Scope) -> Answer:
    least = min((sum(t.trial.valid for t in _trials(scope, one)) for one in scope.outcomes), default=0)
    return held(least > 1, "more than one trial", f"at least {least}")


def _stated(scope: Scope, metric: str) -> Answer:
    measured = [one for one in scope.outcomes if one.type is OutcomeType.MEASURED]
    if not measured:
        return not_applicable("no outcome of it is a plain number")
    lacking = [one for one in measured if metric not in {value.metric for value in one.values}]
    return held(not lacking, metric, f"{len(lacking)} of {len(measured)} outcomes without")


RULES: tuple[ClauseRule, ...] = (
    from_maximum,
    to_two_lossless,
    granularity,
    plotted,
    x_axis,
    y_axis,
    axis_limits,
    burst_trial,
    burst_repeats,
    burst_table,
    recovery_repeated,
    recovery_table,
    kinds_of_reset,
    reset_statements,
)
