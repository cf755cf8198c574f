"""RFC 2889 as rules: who sends to whom, throughput and forwarding rates of a switch, its address table."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.benchmarks import address_table, caching_capacity, congestion, learning_rate
from bmwg.methodology.benchmarks import forwarding_rate as rates
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.pattern import Pattern
from bmwg.reports.checker.between_ports import (
    NO_PATTERN,
    ages_later,
    all_of,
    learned,
    number_of,
    of_metric,
    pattern_of,
    prepared,
    throughputs_of_patterns,
)
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import close, none_wrong, per_interface, taken
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

_LEAST_PORTS = {"forwarding rates": 2, "address tables": 3}  # rfc2889-5.6.3.1, rfc2889-5.7.3


@clause("RFC2889-3-01")
def learned_first(scope: Scope) -> Answer:
    """Learning frames went before each trial of a pattern, or before an earlier one of its deployment."""
    mine = [one for one, _ in prepared(scope)]
    if not mine:
        return not_applicable(NO_PATTERN)
    if any(one.times is None for one in mine):
        return not_assessed("the journal has no times of its trials")
    return learned(mine)


def _in_turn(scope: Scope, kinds: Sequence[str], expected: str) -> Answer:
    """Hold trials of cells of such patterns: the cell's own pattern, and so many frames for each port."""
    cells = {
        planned.cell.cell_id: patterns.of(planned.cell.axes)
        for planned in scope.evidence.plan
        if patterns.kind_of(planned.cell.axes) in kinds
    }
    mine = [one for one in scope.trials if one.cell_id in cells]
    if not mine:
        return not_applicable(f"no trial of pattern {' or '.join(kinds)}")
    wrong = [
        one.trial.seq
        for one in mine
        if pattern_of(one) != cells[one.cell_id] or not per_interface(one.trial.result)
    ]
    return none_wrong(wrong, len(mine), expected, "trials")


@clause("RFC2889-5.1.3-03")
def meshed(scope: Scope) -> Answer:
    """In a full mesh each port sends to all others in turn."""
    return _in_turn(scope, ["full-mesh"], "frames of each port for all others in turn")


@clause("RFC2889-5.2")
def one_and_many(scope: Scope) -> Answer:
    """One port sends to many in turn, or many to one."""
    return _in_turn(scope, ["one-to-many", "many-to-one"], "frames of one port for many, or of many for one")


@clause("RFC2889-5.4")
def one_way(scope: Scope) -> Answer:
    """Ports that only send, to ports that only receive, in turn."""
    return _in_turn(scope, ["one-way-mesh"], "frames of one half of the ports for the other half in turn")


@clause("RFC2889-5.1.4.1")
def throughput_without_loss(scope: Scope) -> Answer:
    """The throughput of a pattern is a load without loss in any of its trials, found among several loads."""
    mine = throughputs_of_patterns(scope)
    if not mine:
        return not_applicable("no throughput of a pattern is a plain number")
    wrong = []
    for one in mine:
        trials = taken(scope, one)
        bound = one.lower.trials if one.lower else ()
        behind = [trial for trial in trials if trial.trial.seq in bound]
        loads = {trial.trial.load for trial in trials}
        if len(loads) < 2 or not behind or not all(trial.trial.lossless for trial in behind):
            wrong.append(one.outcome_id)
    return none_wrong(wrong, len(mine), "a load without loss, of several that were tried", "answers")


@clause("RFC2889-5.1.4.2-02")
def load_is_cited(scope: Scope) -> Answer:
    """Each forwarding rate has the load beside it that was offered in a trial with that rate."""

    def right(one: Outcome, trials: list[Trial]) -> bool:
        pairs = ((rates.METRIC, rates.APPLIED), (rates.AT_MAXIMUM, rates.MAXIMUM))
        points = [rates.point(trial.trial.result) for trial in trials]
        return all(
            any(
                close(number_of(one, rate), point.forwarded_fps)
                and close(number_of(one, load), point.offered_fps)
                for point in points
            )
            for rate, load in pairs
        )

    return all_of(scope, rates.METRIC, "the offered load of each forwarding rate", right)


@clause("RFC2889-5.1.4.2-03")
def rate_at_maximum(scope: Scope) -> Answer:
    """FRMOL is the forwarding rate of the trial with the highest offered load, which stands beside it."""

    def right(one: Outcome, trials: list[Trial]) -> bool:
        points = [rates.point(trial.trial.result) for trial in trials]
        highest = max(points, key=lambda point: point.offered_fps, default=None)
        return (
            highest is not None
            and close(number_of(one, rates.AT_MAXIMUM), highest.forwarded_fps)
            and close(number_of(one, rates.MAXIMUM), highest.offered_fps)
        )

    return all_of(scope, rates.METRIC, "the rate at the maximum offered load, and that load", right)


@clause("RFC2889-5.1.4.2-04")
def highest_rate(scope: Scope) -> Answer:
    """MFR is the highest forwarding rate of all loads, with the load that was offered."""

    def right(one: Outcome, trials: list[Trial]) -> bool:
        points = [rates.point(trial.trial.result) for trial in trials]
        best = max((point.forwarded_fps for point in points), default=None)
        applied = number_of(one, rates.APPLIED)
        return close(number_of(one, rates.METRIC), best) and any(
            point.forwarded_fps == best and close(applied, point.offered_fps) for point in points
        )

    return all_of(scope, rates.METRIC, "the highest forwarding rate of all loads, with its load", right)


@clause("RFC2889-5.6.3.1-02")
def rates_prepared(scope: Scope) -> Answer:
    """Trials of forwarding rates are of two ports or more, behind learning frames."""
    cells = {one.cell.cell_id for one in scope.outcomes if one.metric == rates.METRIC}
    mine = [one for one in scope.trials if one.cell_id in cells]
    of_rates = [one for one in mine if one.metric == rates.METRIC]
    if not of_rates:
        return not_applicable("no trial of a forwarding rate")
    if any(one.times is None for one in mine):
        return not_assessed("the journal has no times of its trials")
    least = _LEAST_PORTS["forwarding rates"]
    few = [one.trial.seq for one in of_rates if len(one.trial.result.streams) < least]
    return none_wrong(few, len(of_rates), "two ports", "trials") if few else learned(mine)


@clause("RFC2889-5.5")
def congested(scope: Scope) -> Answer:
    """Both kinds of ports have their loss, and the uncongested one its rate, from trials at one load."""

    def right(one: Outcome, trials: list[Trial]) -> bool:
        pattern = patterns.of(one.cell.axes)
        behind = [trial for trial in trials if pattern_of(trial) == pattern]
        if pattern is None or pattern.ports % 4 or not behind:
            return False
        if len({trial.trial.load for trial in behind}) != 1:
            return False
        free = congestion.uncongested(pattern)
        busy = [port for port in pattern.receivers if port not in free]
        name = congestion.METRIC
        return (
            close(number_of(one, name), _loss_ratio(behind, free))
            and close(number_of(one, f"{name}.congested.loss_ratio"), _loss_ratio(behind, busy))
            and close(number_of(one, f"{name}.uncongested.forwarded"), _forwarded_fps(behind, free))
        )

    expected = "loss at both kinds of ports and the rate at the uncongested one, of groups of four"
    return all_of(scope, congestion.METRIC, expected, right)


def _loss_ratio(trials: Sequence[Trial], ports: Sequence[int]) -> float | None:
    streams = [trial.trial.result.streams[port] for trial in trials for port in ports]
    sent = sum(one.sent_frames for one in streams)
    return sum(one.lost_frames for one in streams) / sent if sent else None


def _forwarded_fps(trials: Sequence[Trial], ports: Sequence[int]) -> int:
    """Return what came to some ports in a second, the mean of trials of one load, whole frames."""
    streams = [trial.trial.result.streams[port] for trial in trials for port in ports]
    came = sum(one.sent_frames - one.lost_frames for one in streams)
    return rates.per_second(came, trials[0].trial.result.spec) // len(trials)


def _ages_late(scope: Scope, metric: str) -> Answer:
    """Hold the ageing time that each switch told to be longer than its trials of a metric."""
    return ages_later(scope, of_metric(scope, metric), lambda one: one.trial.result.spec.total_s)


@clause("RFC2889-5.7.3-01")
def capacity_ageing(scope: Scope) -> Answer:
    """While addresses are counted none of them ages."""
    return _ages_late(scope, caching_capacity.METRIC)


@clause("RFC2889-5.8.3-01")
def rate_ageing(scope: Scope) -> Answer:
    """While a learning rate is searched no address ages, and a third port listens."""
    found = _three_ports(scope, learning_rate.METRIC, "three ports")
    return found or _ages_late(scope, learning_rate.METRIC)


def _three_ports(scope: Scope, metric: str, expected: str) -> Answer | None:
    """Return that a trial has fewer than three ports; None where each has them."""
    mine = [(one.trial.seq, pattern_of(one)) for one in scope.trials if one.metric == metric]
    least = _LEAST_PORTS["address tables"]
    few = [seq for seq, found in mine if found is None or found.ports < least]
    return none_wrong(few, len(mine), expected, "trials") if few else None


@clause("RFC2889-5.7.3-02")
def three_roles(scope: Scope) -> Answer:
    """One port learns, one tests, and at least one more is there."""
    if not any(one.metric == caching_capacity.METRIC for one in scope.trials):
        return not_applicable("no trial of it")
    expected = "a testing port, a learning port and one that listens"
    return _three_ports(scope, caching_capacity.METRIC, expected) or held(True, expected, "in every trial")


@clause("RFC2889-5.7.3-04")
def monitored(scope: Scope) -> Answer:
    """The broadcast domain has a port that neither sends nor is sent to."""
    mine = [one for one in scope.trials if one.metric == caching_capacity.METRIC]
    if not mine:
        return not_applicable("no trial of it")
    wrong = [one.trial.seq for one in mine if not _listeners(pattern_of(one))]
    return none_wrong(wrong, len(mine), "a port that only listens in the one broadcast domain", "trials")


def _listeners(pattern: Pattern | None) -> set[int]:
    if pattern is None:
        return set()
    return set(range(pattern.ports)) - {*pattern.senders, *pattern.receivers}


@clause("RFC2889-5.8.3-02")
def constant_number(scope: Scope) -> Answer:
    """In one search of a learning rate the number of addresses is the same at every rate."""
    told: dict[str, set[int]] = {}
    for one in scope.trials:
        pattern = pattern_of(one)
        if one.metric == learning_rate.METRIC and one.phase == address_table.TEACH and pattern is not None:
            told.setdefault(one.cell_id, set()).add(pattern.sources)
    if not told:
        return not_applicable("no trial of it")
    wrong = sorted(cell for cell, found in told.items() if len(found) != 1)
    return none_wrong(wrong, len(told), "one number of addresses", "searches")
