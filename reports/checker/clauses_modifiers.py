"""RFC 2544 section 11 as rules: modifiers of the stream, each beside the plain throughput of its cell."""

from __future__ import annotations

import math
from collections.abc import Callable

from bmwg.methodology.measurements.modifiers import MEASUREMENTS, METRIC
from bmwg.methodology.records import Direction, Outcome, OutcomeType
from bmwg.methodology.throughput import METRIC as THROUGHPUT
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

BROADCAST_SHARE = 0.01  # rfc2544-11.1
SHARE_TOLERANCE = 0.001  # choice: a tenth of it, for trials of few frames
QUERY_INTERVAL_S = 1.0  # rfc2544-11.2
UPDATE_INTERVAL_S = 30.0  # rfc2544-C.2.3, RIP
LEAST_FRAMES = 1000  # choice: fewer frames give no share to a thousandth
_NONE = "no outcome under this modifier is in the run"


def _asked(scope: Scope, code: str) -> list[Outcome]:
    """Return every outcome under a modifier, tried or not."""
    return [one for one in scope.evidence.outcomes if one.metric == f"{METRIC}.{code}"]


def _tried(scope: Scope, *codes: str) -> list[Outcome]:
    return [one for code in codes for one in _asked(scope, code) if one.type is not OutcomeType.NOT_ASSESSED]


def _trials(scope: Scope, *codes: str) -> list[Trial]:
    """Return the valid trials under modifiers."""
    return [
        trial
        for one in _tried(scope, *codes)
        for trial in scope.evidence.of(one.cell.cell_id, one.metric)
        if trial.trial.valid
    ]


def _count(trial: Trial, name: str) -> int:
    return dict(trial.trial.result.auxiliary).get(name, 0)


def _each(scope: Scope, code: str, expected: str, fits: Callable[[Trial], bool]) -> Answer:
    """Hold each valid trial under a modifier against a condition."""
    trials = _trials(scope, code)
    if not trials:
        return not_applicable(_NONE)
    wrong = [one.trial.seq for one in trials if not fits(one)]
    return held(not wrong, expected, f"{len(wrong)} of {len(trials)} trials otherwise {wrong[:5]}")


@clause("RFC2544-11-01")
def every_modifier(scope: Scope) -> Answer:
    """Each modifier that the tester can make has an outcome, be it that something is missing for it."""
    routed = [one for one in scope.outcomes if one.cell.function == "kernel-l3"]
    if not routed:
        return not_applicable("no router is measured, which the modifiers of this tester need")
    lacking = [one.code for one in MEASUREMENTS if not _asked(scope, one.code)]
    wanted = ", ".join(one.code for one in MEASUREMENTS)
    return held(
        not lacking, f"run or not assessed: {wanted}", f"without {', '.join(lacking)}" if lacking else "each"
    )


@clause("RFC2544-11-02")
def plain_then_each(scope: Scope) -> Answer:
    """The plain throughput of a cell precedes each of its modifiers, and no trial has two."""
    tried = _tried(scope, *(one.code for one in MEASUREMENTS))
    if not tried:
        return not_applicable(_NONE)
    wrong: list[str] = []
    for one in tried:
        plain = [trial.trial.seq for trial in scope.evidence.of(one.cell.cell_id, THROUGHPUT)]
        mine = scope.evidence.of(one.cell.cell_id, one.metric)
        specs = [trial.trial.result.spec for trial in mine]
        single = all((spec.modifier is None) != (spec.broadcast_every is None) for spec in specs)
        if not plain or not mine or max(plain) > mine[0].trial.seq or not single:
            wrong.append(one.outcome_id)
    return held(
        not wrong,
        "the plain throughput first, then one modifier a trial",
        f"{len(wrong)} of {len(tried)} outcomes otherwise {wrong[:3]}",
    )


@clause("RFC2544-11.1-01")
def broadcast_share(scope: Scope) -> Answer:
    """Broadcast frames are one in a hundred of all frames sent."""

    def fits(one: Trial) -> bool:
        result = one.trial.result
        ends = {"forward": result.streams[0], "reverse": result.streams[-1]}
        counted = {name: _count(one, f"{name}.broadcast_sent_frames") for name in ends}
        shares = [
            counted[name] / (stream.sent_frames + counted[name])
            for name, stream in ends.items()
            if stream.sent_frames >= LEAST_FRAMES and result.spec.direction in (name, Direction.BOTH)
        ]
        return all(abs(share - BROADCAST_SHARE) <= SHARE_TOLERANCE for share in shares)

    return _each(scope, "broadcast", "1 % of the frames sent are broadcast frames", fits)


@clause("RFC2544-11.2-01")
def query_each_second(scope: Scope) -> Answer:
    """As many queries as seconds were begun; that each is its second's first frame is not stamped."""
    return _each(scope, "management", "a query for each second", lambda one: _regular(one, QUERY_INTERVAL_S))


@clause("RFC2544-11.3-02")
def update_rate(scope: Scope) -> Answer:
    """As many updates as RIP's interval asks for, the first with the trial."""
    return _each(
        scope,
        "route_updates",
        f"an update each {UPDATE_INTERVAL_S:g} s",
        lambda one: _regular(one, UPDATE_INTERVAL_S),
    )


def _regular(one: Trial, interval_s: float) -> bool:
    """Whether so many frames left beside the stream as intervals were begun, or one more at the very end."""
    begun = math.ceil(one.trial.result.spec.total_s / interval_s)
    return begun <= _count(one, "modifier.sent_frames") <= begun + 1


@clause("RFC2544-11.3-04")
def updates_processed(scope: Scope) -> Answer:
    """The router's own table held routes from the updates in every trial."""
    return _each(
        scope,
        "route_updates",
        "routes from the updates in the router's table",
        lambda one: _count(one, "modifier.learnt_routes") > 0,
    )


@clause("RFC2544-11.4-01")
def one_filter_first(scope: Scope) -> Answer:
    """Tests with one filter, before those with more on the same cell."""
    few, many = _tried(scope, "filters_1"), _tried(scope, "filters_25")
    if not few and not many:
        return not_applicable("no outcome with filters is in the run")
    first = {one.cell.cell_id: _first_trial(scope, one) for one in few}
    wrong = [
        one.outcome_id
        for one in many
        if first.get(one.cell.cell_id, math.inf) > _first_trial(scope, one) or one.cell.cell_id not in first
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
    lacking = {one.cell.cell_id for one in few} - {one.cell.cell_id for one in many}
    return held(not lacking, "25 filters as well", f"{len(lacking)} of {len(few)} cells with one filter only")


@clause("RFC2544-11.4-02")
def filter_permits(scope: Scope) -> Answer:
    """Every frame received was let through by the one filter."""
    return _each(scope, "filters_1", "all frames received matched the filter", _matched)


@clause("RFC2544-11.4-07")
def last_filter_permits(scope: Scope) -> Answer:
    """Every frame received was let through by the last of the 25 filters, behind all others."""
    return _each(scope, "filters_25", "all frames received matched the last filter", _matched)


def _matched(one: Trial) -> bool:
    return _count(one, "modifier.matched_frames") >= one.trial.result.received_frames


RULES: tuple[ClauseRule, ...] = (
    every_modifier,
    plain_then_each,
    broadcast_share,
    query_each_second,
    update_rate,
    updates_processed,
    one_filter_first,
    then_25_filters,
    filter_permits,
    last_filter_permits,
)
