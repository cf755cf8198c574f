"""RFC 2544 section 11 as rules: modifiers of the stream, each beside the plain throughput of its cell.

That a frame beside the stream left at its place is what the tester counted (`modifier.*`, `<direction>.*`); a
tester that does not count it leaves the row not assessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bmwg.methodology.measurements.modifiers import BRIDGES, MEASUREMENTS, METRIC, ROUTERS
from bmwg.methodology.measurements.throughput import FOUND_BY
from bmwg.methodology.records import Cell, Direction, Outcome, OutcomeType, TrialSpec
from bmwg.methodology.trial.directions import sending
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

BROADCAST_SHARE = 0.01  # rfc2544-11.1
SHARE_TOLERANCE = 0.001  # choice: a tenth of it, for trials of few frames
QUERY_INTERVAL_S = 1.0  # rfc2544-11.2
UPDATE_INTERVAL_S = 30.0  # rfc2544-C.2.3, RIP
SPACING_TOLERANCE = 0.1  # choice: a tester that sends in bursts has the broadcast frame at the end of one
LEAST_FRAMES = 1000  # choice: fewer frames give no share to a thousandth
_BETWEEN = ("modifier.least_between_ns", "modifier.most_between_ns")
_NONE = "no outcome under this modifier is in the run"


def _asked(scope: Scope, code: str) -> list[Outcome]:
    """Return every outcome under a modifier, tried or not."""
    return [outcome for outcome in scope.evidence.outcomes if outcome.metric == f"{METRIC}.{code}"]


def _tried(scope: Scope, *codes: str) -> list[Outcome]:
    return [
        outcome
        for code in codes
        for outcome in _asked(scope, code)
        if outcome.type is not OutcomeType.NOT_ASSESSED
    ]


def _trials(scope: Scope, *codes: str) -> list[Trial]:
    """Return the valid trials under modifiers."""
    return [
        trial
        for outcome in _tried(scope, *codes)
        for trial in scope.evidence.of(outcome.cell.cell_id, outcome.metric)
        if trial.trial.valid
    ]


def _count(trial: Trial, name: str) -> int:
    return dict(trial.trial.result.auxiliary).get(name, 0)


def _each(scope: Scope, expected: str, fits: Callable[[Trial], bool], *codes: str) -> Answer:
    """Hold each valid trial under modifiers against a condition."""
    return _hold(_trials(scope, *codes), expected, fits)


def _hold(trials: list[Trial], expected: str, fits: Callable[[Trial], bool]) -> Answer:
    if not trials:
        return not_applicable(_NONE)
    wrong = [trial.trial.seq for trial in trials if not fits(trial)]
    return held(not wrong, expected, f"{len(wrong)} of {len(trials)} trials otherwise {wrong[:5]}")


@clause("RFC2544-11-01")
def every_modifier(scope: Scope) -> Answer:
    """Each modifier that the tester can make has an outcome, be it that something is missing for it."""
    routed = [outcome for outcome in scope.outcomes if outcome.cell.function in ROUTERS]
    if not routed:
        return not_applicable("no router is measured, which the modifiers of this tester need")
    codes = [measurement.code for measurement in MEASUREMENTS if measurement.functions == ROUTERS]
    lacking = [code for code in codes if not _asked(scope, code)]
    wanted = ", ".join(codes)
    return held(
        not lacking, f"run or not assessed: {wanted}", f"without {', '.join(lacking)}" if lacking else "each"
    )


@clause("RFC2544-11-02")
def plain_then_each(scope: Scope) -> Answer:
    """The plain throughput of a cell precedes each of its modifiers, and each trial has that one alone."""
    tried = _tried(scope, *(measurement.code for measurement in MEASUREMENTS))
    if not tried:
        return not_applicable(_NONE)
    wrong: list[str] = []
    for outcome in tried:
        plain = [t.trial.seq for name in FOUND_BY for t in scope.evidence.of(outcome.cell.cell_id, name)]
        mine = scope.evidence.of(outcome.cell.cell_id, outcome.metric)
        single = all(_beside(trial.trial.result.spec) == _ALONE[outcome.metric] for trial in mine)
        if not plain or not mine or max(plain) > mine[0].trial.seq or not single:
            wrong.append(outcome.outcome_id)
    return held(
        not wrong,
        "the plain throughput first, then one modifier a trial",
        f"{len(wrong)} of {len(tried)} outcomes otherwise {wrong[:3]}",
    )


def _beside(spec: TrialSpec) -> tuple[str, bool]:
    """Return what goes on beside a stream: a modifier on the DUT's side, and whether broadcast frames do."""
    return spec.modifier or "", spec.broadcast_every is not None


_ALONE = {
    measurement.metric: (measurement.modifier, not measurement.modifier) for measurement in MEASUREMENTS
}


@clause("RFC2544-11.1-01")
def broadcast_share(scope: Scope) -> Answer:
    """Broadcast frames are one in a hundred of all frames sent, wherever enough were sent to tell."""
    codes = ("broadcast", "broadcast_bridged")

    def fits(one: Trial) -> bool:
        result = one.trial.result
        ends = {"forward": result.streams[0], "reverse": result.streams[-1]}
        counted = {name: _count(one, f"{name}.broadcast_sent_frames") for name in ends}
        shares = [
            counted[name] / (stream.sent_frames + counted[name])
            for name, stream in ends.items()
            if result.spec.direction in (name, Direction.BOTH)
        ]
        return all(abs(share - BROADCAST_SHARE) <= SHARE_TOLERANCE for share in shares)

    trials = [trial for trial in _trials(scope, *codes) if _enough_frames(trial)]
    return _hold(trials, "1 % of the frames sent are broadcast frames", fits)


@clause("RFC2544-11.1-02")
def broadcast_spacing(scope: Scope) -> Answer:
    """Between two broadcast frames stand as many test frames as the share asks for, in each direction."""
    trials = [t for t in _trials(scope, "broadcast", "broadcast_bridged") if _enough_frames(t)]
    if not trials:
        return not_applicable(_NONE)
    if any(None in _spacing(trial) for trial in trials):
        return not_assessed("the tester does not tell how far apart its broadcast frames are")
    wrong = []
    for trial in trials:
        every = trial.trial.result.spec.broadcast_every or 0
        if any(abs((found or 0) - every) > SPACING_TOLERANCE * every for found in _spacing(trial)):
            wrong.append(trial.trial.seq)
    found = f"{len(wrong)} of {len(trials)} trials otherwise {wrong[:5]}"
    return held(not wrong, "as many test frames between any two broadcast frames", found)


def _enough_frames(trial: Trial) -> bool:
    return all(stream.sent_frames >= LEAST_FRAMES for stream in trial.trial.result.streams)


def _spacing(trial: Trial) -> list[int | None]:
    """Return the fewest and the most test frames between two broadcast frames of each direction."""
    counts = dict(trial.trial.result.auxiliary)
    return [
        counts.get(f"{way}.broadcast_{end}_between_frames")
        for way in sending(trial.trial.result.spec.direction)
        for end in ("least", "most")
    ]


@clause("RFC2544-11.1-03")
def broadcast_on_bridges(scope: Scope) -> Answer:
    """Each device that bridges was measured with broadcast frames too; how many came out is told."""
    bridged = {
        outcome.cell.cell_id: _device(outcome.cell)
        for outcome in scope.outcomes
        if outcome.cell.function in BRIDGES
    }
    if not bridged:
        return not_applicable("no device that bridges is measured")
    trials = [trial for trial in _trials(scope, "broadcast_bridged") if trial.cell_id in bridged]
    seen = sum(_broadcast(trial, "received") for trial in trials)
    sent = sum(_broadcast(trial, "sent") for trial in trials)
    reached = {bridged[trial.cell_id] for trial in trials if _broadcast(trial, "sent")}
    lacking = sorted(set(bridged.values()) - reached)
    found = f"{len(trials)} trials on such devices; {seen} of {sent} broadcast frames seen at their outputs"
    found += f"; none on {', '.join(lacking[:3])}" if lacking else ""
    return held(not lacking, "broadcast frames beside the stream through each bridge", found)


def _device(cell: Cell) -> str:
    return f"{cell.path}/{cell.function}/{cell.network}"


def _broadcast(trial: Trial, end: str) -> int:
    ways = sending(trial.trial.result.spec.direction)
    return sum(_count(trial, f"{way}.broadcast_{end}_frames") for way in ways)


@clause("RFC2544-11.2-01")
def query_each_second(scope: Scope) -> Answer:
    """As many queries as seconds were begun, a second apart."""
    return _spaced(scope, "a query for each second", QUERY_INTERVAL_S, "management")


@clause("RFC2544-11.2-03")
def answers_verified(scope: Scope) -> Answer:
    """The tester looked into each answer: it holds what was asked for, or is told to be another."""
    trials = _trials(scope, "management")
    if not trials:
        return not_applicable(_NONE)
    names = ("modifier.answered_frames", "modifier.verified_frames", "modifier.wrong_frames")
    if any(names[1] not in dict(trial.trial.result.auxiliary) for trial in trials):
        return not_assessed("the tester does not tell what it looks at in an answer")
    counts = [tuple(_count(trial, name) for name in names) for trial in trials]
    blind = sum(answered > verified + wrong for answered, verified, wrong in counts)
    total = [sum(column) for column in zip(*counts, strict=True)]
    found = (
        f"{total[1]} of {total[0]} answers right, {total[2]} wrong; {blind} trials with some not looked at"
    )
    return held(not blind and total[0] > 0, "each answer looked into", found)


@clause("RFC2544-11.3-01")
def update_first(scope: Scope) -> Answer:
    """A routing update left in each trial, and no test frame before the first one."""
    trials = _trials(scope, "route_updates")
    if not trials:
        return not_applicable(_NONE)
    name = "modifier.first_after_frames"
    ahead = [dict(trial.trial.result.auxiliary).get(name) for trial in trials]
    if None in ahead:
        return not_assessed("the tester does not tell how many test frames left before the first update")
    wrong = [
        trial.trial.seq
        for trial, frames in zip(trials, ahead, strict=True)
        if frames or not _count(trial, "modifier.sent_frames")
    ]
    found = f"{len(wrong)} of {len(trials)} trials without one, or with test frames before it {wrong[:5]}"
    return held(not wrong, "the routing update as first frame of the trial", found)


@clause("RFC2544-11.3-02")
def update_rate(scope: Scope) -> Answer:
    """As many updates as RIP's interval asks for, the first with the trial, and so far apart."""
    return _spaced(scope, f"an update each {UPDATE_INTERVAL_S:g} s", UPDATE_INTERVAL_S, "route_updates")


def _spaced(scope: Scope, expected: str, interval_s: float, code: str) -> Answer:
    """Hold number and spacing of the frames beside the stream against an interval."""
    several = [trial for trial in _trials(scope, code) if _count(trial, "modifier.sent_frames") > 1]
    if any(not set(_BETWEEN) <= dict(one.trial.result.auxiliary).keys() for one in several):
        return not_assessed("the tester does not tell how far apart its frames beside the stream are")
    return _each(scope, expected, lambda one: _regular(one, interval_s) and _evenly(one, interval_s), code)


def _evenly(one: Trial, interval_s: float) -> bool:
    """Whether any two frames beside the stream that followed each other left an interval apart."""
    if _count(one, "modifier.sent_frames") < 2:
        return True
    apart_s = [_count(one, name) / 1e9 for name in _BETWEEN]
    return all(abs(found_s - interval_s) <= SPACING_TOLERANCE * interval_s for found_s in apart_s)


def _regular(one: Trial, interval_s: float) -> bool:
    """Whether so many frames left beside the stream as intervals were begun, or one more at the very end."""
    begun = math.ceil(one.trial.result.spec.total_s / interval_s)
    return begun <= _count(one, "modifier.sent_frames") <= begun + 1


@clause("RFC2544-11.3-04")
def updates_processed(scope: Scope) -> Answer:
    """The router's own table held routes from the updates in every trial."""
    return _each(
        scope,
        "routes from the updates in the router's table",
        lambda one: _count(one, "modifier.learnt_routes") > 0,
        "route_updates",
    )


@clause("RFC2544-11.4-01")
def one_filter_first(scope: Scope) -> Answer:
    """Tests with one filter, before those with more on the same cell."""
    few, many = _tried(scope, "filters_1"), _tried(scope, "filters_25")
    if not few and not many:
        return not_applicable("no outcome with filters is in the run")
    first = {one.cell.cell_id: _first_trial(scope, one) for one in few}
    wrong = [
        outcome.outcome_id
        for outcome in many
        if first.get(outcome.cell.cell_id, math.inf) > _first_trial(scope, outcome)
        or outcome.cell.cell_id not in first
    ]
    return held(not wrong, "one filter before more", f"{len(wrong)} cells otherwise {wrong[:3]}")


def _first_trial(scope: Scope, one: Outcome) -> float:
    return min((t.trial.seq for t in scope.evidence.of(one.cell.cell_id, one.metric)), default=math.inf)


@clause("RFC2544-11.4-05")
def then_25_filters(scope: Scope) -> Answer:
    """Cells that were tried with one filter were tried with 25."""
    few, many = _tried(scope, "filters_1"), _tried(scope, "filters_25")
    if not few and not many:
        return not_applicable("no outcome with filters is in the run")
    lacking = {outcome.cell.cell_id for outcome in few} - {one.cell.cell_id for one in many}
    return held(not lacking, "25 filters as well", f"{len(lacking)} of {len(few)} cells with one filter only")


@clause("RFC2544-11.4-02")
def filter_permits(scope: Scope) -> Answer:
    """Every frame received was let through by the one filter."""
    return _let_through(scope, "all frames received matched the filter", "filters_1")


@clause("RFC2544-11.4-07")
def last_filter_permits(scope: Scope) -> Answer:
    """Every frame received was let through by the last of the 25 filters, behind all others."""
    return _let_through(scope, "all frames received matched the last filter", "filters_25")


def _let_through(scope: Scope, expected: str, code: str) -> Answer:
    """Hold the frames of each cell's trials against what the filter let through: all, and so not none."""
    for outcome in _tried(scope, code):
        mine = [t for t in scope.evidence.of(outcome.cell.cell_id, outcome.metric) if t.trial.valid]
        if mine and not any(_count(trial, "modifier.matched_frames") for trial in mine):
            return held(
                False, expected, f"no frame passed it in {len(mine)} trials of {outcome.cell.cell_id}"
            )
    return _each(scope, expected, _matched, code)


def _matched(one: Trial) -> bool:
    return _count(one, "modifier.matched_frames") >= one.trial.result.received_frames
