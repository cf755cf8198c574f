"""RFC 2889 as rules: what forwarding rates, address tables and illegal frames state beside their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from bmwg.methodology.benchmarks import (
    address_table,
    caching_capacity,
    frame_loss,
    illegal_frames,
    learning_rate,
)
from bmwg.methodology.benchmarks import forwarding_rate as rates
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.trial_limits import MIN_FRAME_OCTETS, MIN_SENT_OCTETS
from bmwg.reports.checker.between_ports import (
    ageing_s,
    all_of,
    measured,
    number_of,
    of_metric,
    pattern_of,
    throughputs_of_patterns,
)
from bmwg.reports.checker.clauses.rfc2889_trials import stated
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import close, none_wrong, taken
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_construction,
    clause,
    not_applicable,
    not_assessed,
)

_OFFERED = "the forwarding rate of a trial, and the load that was offered in it"
_BOTH = (rates.METRIC, frame_loss.METRIC)
_LEAST_LOADS = 2  # rfc2889-5.9.2: several


def _at_its_load(one: Outcome, trials: list[Trial], *, intended: bool) -> bool:
    """Whether one of the trials has the rate, the offered load and, where asked for, the intended one."""
    rate, load = number_of(one, rates.METRIC), number_of(one, rates.APPLIED)
    asked = number_of(one, rates.INTENDED)
    return any(
        close(rate, point.forwarded_fps)
        and close(load, point.offered_fps)
        and (not intended or close(asked, point.load_fps))
        for point in (rates.point(trial.trial.result) for trial in trials)
    )


@clause("RFC2889-5.1.4.2-01")
def rate_of_a_load(scope: Scope) -> Answer:
    """A forwarding rate is what came to the right ports in a trial, with the load that was offered."""
    return all_of(scope, rates.METRIC, _OFFERED, lambda one, mine: _at_its_load(one, mine, intended=False))


@clause("RFC2889-5.6.5-01")
def asked_load(scope: Scope) -> Answer:
    """The maximum forwarding rate has the intended load beside it at which it was seen."""
    return all_of(
        scope,
        rates.METRIC,
        "the maximum forwarding rate with the intended load of its trial",
        lambda one, mine: _at_its_load(one, mine, intended=True),
    )


@clause("RFC2889-5.6.5-02")
def both_loads(scope: Scope) -> Answer:
    """A forwarding rate has its intended load, and the offered one."""
    return all_of(
        scope,
        rates.METRIC,
        f"{_OFFERED} and asked for",
        lambda one, mine: _at_its_load(one, mine, intended=True),
    )


@clause("RFC2889-5.10.4")
def broadcast_results(scope: Scope) -> Answer:
    """Of broadcast frames there are a forwarding rate with its load, and a loss rate at the trial's end."""
    tried: dict[str, dict[str, Outcome]] = {}
    for one in scope.outcomes:
        if patterns.kind_of(one.cell.axes) == "broadcast" and one.metric in _BOTH:
            tried.setdefault(one.cell.cell_id, {})[one.metric] = one
    if not tried:
        return not_applicable("no forwarding rate and no loss rate of broadcast frames")
    numbers = {outcome.outcome_id for name in _BOTH for outcome in measured(scope, name)}
    if not numbers & {one.outcome_id for found in tried.values() for one in found.values()}:
        return not_applicable("the run has no number of it")

    def told(one: Outcome | None) -> bool:
        if one is None or one.outcome_id not in numbers:
            return one is not None  # why there is no number is no matter of the report
        if one.metric == frame_loss.METRIC:
            return bool(one.values)
        return _at_its_load(one, [t for t in taken(scope, one) if t.trial.valid], intended=False)

    wrong = sorted(cell for cell, found in tried.items() if not all(told(found.get(name)) for name in _BOTH))
    return none_wrong(wrong, len(tried), f"{_OFFERED}; loss at its end", "cells")


@clause("RFC2889-5.6.2")
def rate_parameters(scope: Scope) -> Answer:
    """Trials of forwarding rates have one size and duration and rise in even steps, but for the last."""
    mine = of_metric(scope, rates.METRIC)
    answer = stated(scope, mine, burst=False, without="no trial of a forwarding rate")
    uneven = []
    cells = dict.fromkeys(one.cell_id for one in mine)
    for cell in cells:
        specs = [one.trial.result.spec for one in mine if one.cell_id == cell]
        loads = sorted({spec.load_fps for spec in specs})
        steps = {high - low for low, high in pairwise(loads[:-1])}
        last = loads[-1] - loads[-2] if len(loads) > 1 else 0
        same = len({(spec.frame_octets, spec.duration_s) for spec in specs}) == 1
        if not same or len(steps) > 1 or any(last > step for step in steps):
            uneven.append(cell)
    return none_wrong(uneven, len(cells), "one size and duration, even steps", "cells") if uneven else answer


def _table_parameters(scope: Scope, metric: str) -> Answer:
    """Hold that each search of a table has an ageing time, a rate of learning frames and a first number."""
    mine = [one for one in of_metric(scope, metric) if one.phase == address_table.TEACH]
    if not mine:
        return not_applicable("no trial of it")
    expected = "an ageing time, a rate of learning frames and a number of addresses of each search"
    told = scope.evidence.deployments
    known = {one.deployment_id: ageing_s(told.get(one.deployment_id)) for one in mine}
    if None in known.values():
        return not_assessed("no ageing time was read of a deployment")
    wrong = [
        one.trial.seq
        for one in mine
        if not (known[one.deployment_id] or 0) > 0
        or (found := pattern_of(one)) is None
        or not 1 <= found.sources <= address_table.MOST
        or one.trial.result.spec.intended_frames != found.sources
    ]
    return none_wrong(wrong, len(mine), expected, "trials")


@clause("RFC2889-5.7.2")
def capacity_parameters(scope: Scope) -> Answer:
    """A search of a capacity has an ageing time, a learning rate and a number of addresses to begin with."""
    return _table_parameters(scope, caching_capacity.METRIC)


@clause("RFC2889-5.8.2")
def learning_parameters(scope: Scope) -> Answer:
    """A search of a learning rate has an ageing time, a rate to begin with and a number of addresses."""
    return _table_parameters(scope, learning_rate.METRIC)


def _illegal(scope: Scope) -> dict[str, list[Trial]]:
    """Return trials of illegal frames by cell."""
    found: dict[str, list[Trial]] = {}
    for one in of_metric(scope, illegal_frames.METRIC):
        found.setdefault(one.cell_id, []).append(one)
    return found


@clause("RFC2889-5.9.2")
def several_loads(scope: Scope) -> Answer:
    """Frames of illegal size go at several loads, in trials of one duration."""
    cells = _illegal(scope)
    if not cells:
        return not_applicable("no trial of illegal frames")
    wrong = []
    for cell, mine in cells.items():
        specs = [one.trial.result.spec for one in mine if one.phase == illegal_frames.ILLEGAL]
        loads, lasts = {spec.load_fps for spec in specs}, {spec.duration_s for spec in specs}
        if len(loads) < _LEAST_LOADS or len(lasts) != 1:
            wrong.append(cell)
    return none_wrong(wrong, len(cells), "several loads, trials of one duration", "cells")


@clause("RFC2889-5.9.3-03")
def undersized_sent(scope: Scope) -> Answer:
    """Each size below 64 octets that a frame can have goes at each load; what came is the number."""
    mine = [
        one
        for one in measured(scope, illegal_frames.METRIC)
        if patterns.kind_of(one.cell.axes) == patterns.UNDERSIZE
    ]
    if not mine:
        return not_applicable("no number of undersized frames")
    wanted = set(range(MIN_SENT_OCTETS, MIN_FRAME_OCTETS))

    def right(one: Outcome) -> bool:
        telling = [load for load in _loads(taken(scope, one)) if load.carried]
        sizes = [{trial.spec.frame_octets for trial in load.illegal} for load in telling]
        came = sum(illegal_frames.came(trial.result) for load in telling for trial in load.illegal)
        number = number_of(one, illegal_frames.METRIC)
        return bool(telling) and all(found == wanted for found in sizes) and close(number, came)

    wrong = [one.outcome_id for one in mine if not right(one)]
    return none_wrong(
        wrong, len(mine), "frames of 60 to 63 octets at each load, and how many came", "answers"
    )


def _loads(trials: Sequence[Trial]) -> list[illegal_frames.AtLoad]:
    """Return the valid trials at each load that has some of legal frames on both sides."""
    found = []
    valid = [one for one in trials if one.trial.valid]
    for load in dict.fromkeys(one.trial.load for one in valid):
        mine = [one for one in valid if one.trial.load == load]
        legal = [one.trial for one in mine if one.phase == illegal_frames.LEGAL]
        illegal = tuple(one.trial for one in mine if one.phase == illegal_frames.ILLEGAL)
        if len(legal) > 1 and illegal:
            found.append(illegal_frames.AtLoad(legal=(legal[0], legal[-1]), illegal=illegal))
    return found


@clause("RFC2889-5.9.5")
def passed_or_failed(scope: Scope) -> Answer:
    """Of each kind of illegal frame it is said whether it passed or failed, or that it cannot be sent."""
    mine = measured(scope, illegal_frames.METRIC)
    if not mine:
        return not_applicable("no number of illegal frames")
    wrong = []
    for one in mine:
        told = "pass" if number_of(one, illegal_frames.METRIC) == 0 else "fail"
        said = one.quality[0] if one.quality else ""
        silent = [kind for kind in illegal_frames.NOT_SENT if not any(kind in text for text in one.quality)]
        if not said.startswith(f"{told}: ") or silent:
            wrong.append(one.outcome_id)
    return none_wrong(wrong, len(mine), "pass or fail of each kind, or why neither", "answers")


def _table_of_turns(scope: Scope, metric: str) -> Answer:
    """Hold that each trial that asks has counts of a testing, a learning and a listening port."""
    mine = [one for one in of_metric(scope, metric) if one.phase == address_table.ASK]
    if not mine:
        return not_applicable("no trial of it")
    expected = "addresses, loads, frames and floods by kind of port of each turn"
    few = [one.trial.seq for one in mine if len(one.trial.result.streams) <= address_table.LEARNER + 1]
    if few:
        return none_wrong(few, len(mine), expected, "trials")
    return by_construction(expected, f"{len(mine)} trials that ask, all in the report's table of turns")


@clause("RFC2889-5.7.5-01")
def capacity_turns(scope: Scope) -> Answer:
    """The report has a table of all turns of a capacity."""
    return _table_of_turns(scope, caching_capacity.METRIC)


@clause("RFC2889-5.8.5")
def rate_turns(scope: Scope) -> Answer:
    """The report has a table of all turns of a learning rate."""
    return _table_of_turns(scope, learning_rate.METRIC)


def _graph(scope: Scope, wanted: Callable[[str], bool], without: str) -> Answer:
    """Hold that each pattern has its throughput at two sizes or more: then the report draws it."""
    sizes: dict[tuple[str, object], set[int]] = {}
    for one in throughputs_of_patterns(scope):
        pattern = dict(one.cell.axes)[patterns.AXIS]
        if wanted(patterns.kind_of(one.cell.axes)):
            sizes.setdefault((one.cell.function, pattern), set()).add(one.cell.frame_octets)
    if not sizes:
        return not_applicable(without)
    expected = "a graph over frame sizes, with the theoretical rate where the medium has one"
    single = [f"{function} {pattern}" for (function, pattern), found in sizes.items() if len(found) < 2]
    if single:
        return none_wrong(single, len(sizes), expected, "patterns")
    return by_construction(expected, f"{len(sizes)} patterns of several sizes, which the report draws")


@clause("RFC2889-5.1.5-01")
def drawn(scope: Scope) -> Answer:
    """Throughput of a pattern is drawn over the frame size, beside the theoretical rate."""
    return _graph(scope, lambda kind: kind != "broadcast", "no throughput of a pattern")


@clause("RFC2889-5.10.5")
def broadcast_drawn(scope: Scope) -> Answer:
    """Throughput of broadcast frames is drawn over the frame size."""
    return _graph(scope, lambda kind: kind == "broadcast", "no throughput of broadcast frames")
