"""RFC 9004 as rules: the search for the longest burst without loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.benchmarks.back_to_back import (
    LEAST_DEPLETION_S,
    METRIC,
    parameters,
)
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.trial.judging import TrialPolicy, host_stall
from bmwg.reports.checker.burst_answers import all_of, has, measured, said_number
from bmwg.reports.checker.bursts import (
    averages,
    burst_rates_fps,
    burst_searches,
    follows_search,
    goal_of,
    lengths,
    limit_s,
    theoretical_fps,
    throughput_fps,
    throughput_of,
)
from bmwg.reports.checker.clauses.rfc2544_conditions import ETHERNET_SIZES
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import (
    NAMED,
    close,
    most_ports,
    numbered,
    stated,
    taken,
    tester_ports,
    throughputs,
)
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import residual_ns

NEAR_LIMIT = 0.95  # choice: "at or near" the upper limit
HARMLESS_STALL = TrialPolicy(
    max_host_stall_ns=1_000_000, max_steal_ns=10_000_000
)  # choice: design decision 13
_IMPLIED, _CORRECTED = "buffer_time.rfc9004.implied", "buffer_time.rfc9004.corrected"
_EACH = re.compile(r"each: ([0-9]{1,18}(?:, [0-9]{1,18})*) frames")
_LeastS = Callable[[Trial], float | None]  # by the trial of a burst
_ZERO_LOSS = (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)


@clause("RFC9004-3-02")
def no_mix(scope: Scope) -> Answer:
    """All frames of a burst have one size."""
    mixed = [trial.trial.seq for trial in scope.trials if trial.trial.result.spec.mix_octets]
    return held(not mixed, "bursts of one frame size", f"{len(mixed)} trials of mixed sizes {mixed[:NAMED]}")


@clause("RFC9004-5-01")
def set_up(scope: Scope) -> Answer:
    """One tester sends and receives over two ports."""
    count, used = len(tester_ports(scope)), most_ports(scope)
    return held(
        count >= 2 and used <= 2, "a tester of two ports", f"{count} ports, {used} in one trial at most"
    )


@clause("RFC9004-5-03")
def link_speed(scope: Scope) -> Answer:
    """The link's rate is stated, and bursts were sent at the maximum frame rate that follows from it."""
    medium = scope.run["medium"]
    wrong = [
        outcome.outcome_id
        for outcome in scope.outcomes
        if not _at(theoretical_fps(scope, outcome), burst_rates_fps(scope, outcome))
    ]
    rates = sorted({rate for one in scope.outcomes for rate in burst_rates_fps(scope, one)})
    rate = f"{medium['line_rate_bps']} bit/s" if medium["line_rate_bps"] else "no line rate"
    found = f"{medium['kind']}, {rate}; bursts at {rates[:NAMED]} frames/s"
    return held(not wrong, "the link's rate and protocol, and bursts at its maximum frame rate", found)


def _at(theoretical: int | None, rates: set[int]) -> bool:
    return theoretical is not None and bool(rates) and all(abs(rate - theoretical) <= 1 for rate in rates)


@clause("RFC9004-5-04")
def throughput_before(scope: Scope) -> Answer:
    """The throughput of all seven sizes is known in each condition, each before its bursts."""
    lacking: set[int] = set()
    late: list[str] = []
    for outcome in scope.outcomes:
        known = {
            found.cell.frame_octets: max(found.trials, default=0)
            for found in throughputs(scope).values()
            if found.type in _ZERO_LOSS and _condition(found) == _condition(outcome)
        }
        lacking |= ETHERNET_SIZES - known.keys()
        if known.get(outcome.cell.frame_octets, 0) > min(outcome.trials, default=0):
            late.append(outcome.outcome_id)
    found_text = f"none of {sorted(lacking) or 'no size'}; {len(late)} known too late"
    return held(not lacking and not late, "throughput of the seven sizes, each before its bursts", found_text)


def _condition(outcome: Outcome) -> Cell:
    return replace(outcome.cell, frame_octets=0)


@clause("RFC9004-5-05")
def same_traffic(scope: Scope) -> Answer:
    """The trials of throughput and of bursts had the same direction, flows and frames."""

    def fits(one: Outcome) -> bool:
        found = throughput_of(scope, one)
        if found is None:
            return False
        specs = [trial.trial.result.spec for trial in (*taken(scope, one), *taken(scope, found))]
        kinds = {
            (s.direction, s.flows, s.destination_networks, s.frame_format, s.frame_octets, s.vlan_id)
            for s in specs
        }
        return len(kinds) == 1

    return all_of(scope.outcomes, "throughput of the same traffic", fits)


@clause("RFC9004-5-06")
def zero_loss(scope: Scope) -> Answer:
    """The throughput is one that holds, and each trial at it lost nothing."""

    def fits(one: Outcome) -> bool:
        found = throughput_of(scope, one)
        if found is None or found.lower is None or found.type not in _ZERO_LOSS:
            return False
        trials = numbered(scope, found.lower.trials)
        return bool(trials) and all(trial.trial.lossless for trial in trials)

    return all_of(scope.outcomes, f"{throughput.METRIC} of trials without loss", fits)


@clause("RFC9004-5-07")
def measured_directly(scope: Scope) -> Answer:
    """Each number rests on bursts that the tester sent and counted."""

    def fits(one: Outcome) -> bool:
        trials = taken(scope, one)
        whole = bool(trials) and len(trials) == len(set(one.trials))
        sent = whole and all(trial.trial.result.spec.burst for trial in trials)
        return sent and (not has(one, METRIC) or averages(scope, one))

    return all_of(scope.outcomes, "lengths of bursts that were sent and counted", fits)


@clause("RFC9004-5-08")
def disturbance_removed(scope: Scope) -> Answer:
    """Each trial tells of its host's stalls, and no answer rests on a loss beside one above 1 ms."""
    valid = [one for one in scope.trials if one.trial.valid]
    blind = [
        one.trial.seq
        for one in valid
        if one.trial.result.disturbance is None or not one.trial.result.disturbance.largest_stall_ns
    ]
    beside = [
        trial.trial.seq
        for trial in valid
        if not trial.trial.lossless and host_stall(trial.trial.result, HARMLESS_STALL)
    ]
    found = f"{len(blind)} of {len(valid)} trials unwatched; {len(beside)} lost frames beside a stall"
    return held(bool(valid) and not blind and not beside, "loss of other sources told apart", found)


def _depletion(scope: Scope, expected: str, least: Callable[[Outcome], _LeastS]) -> Answer:
    """Hold the time after each valid burst against the least one for it (s), None for no demand."""
    asked = []
    for outcome in scope.outcomes:
        if bursts := [trial for trial in taken(scope, outcome) if trial.trial.valid]:
            least_s = least(outcome)
            found_s = [(burst, least_s(burst)) for burst in bursts]
            asked += [(one, wanted) for one, wanted in found_s if wanted is not None]
    if not asked:
        return not_applicable("no burst and no buffer is as long")
    waits = [(one.trial.seq, residual_ns(one), wanted) for one, wanted in asked]
    short = [seq for seq, found_ns, wanted in waits if found_ns is not None and found_ns < wanted * 1e9]
    if not short and any(found_ns is None for _, found_ns, _ in waits):
        return not_assessed("the journal does not hold how long the tester listened after a burst")
    least_ns = min(found_ns for _, found_ns, _ in waits if found_ns is not None)
    found = f"{len(short)} of {len(asked)} bursts with less {short[:NAMED]}; the least {least_ns / 1e9:g} s"
    return held(not short, expected, found)


def _behind_s(one: Trial, throughput_fps: int | None) -> float:
    """Return how long after a burst (s) its last frame comes at the throughput; lost ones never come."""
    result = one.trial.result
    most = max((stream.received_frames for stream in result.streams), default=0)
    return max(0.0, most / throughput_fps - result.spec.duration_s) if throughput_fps else 0.0


@clause("RFC9004-6.2-02")
def depletion(scope: Scope) -> Answer:
    """The tester listened after each burst for what is still to come at the throughput, and 2 s more."""

    def least(outcome: Outcome) -> _LeastS:
        found = throughput_fps(scope, outcome)
        return lambda one: LEAST_DEPLETION_S + _behind_s(one, found)

    return _depletion(scope, f"what is still to come, and {LEAST_DEPLETION_S:g} s", least)


@clause("RFC9004-6.2-03")
def longer_depletion(scope: Scope) -> Answer:
    """After a burst of more than 2 s, and what a buffer held of it had come, the tester listened as long."""

    def least(outcome: Outcome) -> _LeastS:
        found = throughput_fps(scope, outcome)

        def least_s(one: Trial) -> float | None:
            burst_s = one.trial.result.spec.duration_s
            return _behind_s(one, found) + burst_s if burst_s > LEAST_DEPLETION_S else None

        return least_s

    return _depletion(scope, "what is still to come, and as long as the burst", least)


@clause("RFC9004-6.2-05")
def below_limit(scope: Scope) -> Answer:
    """No answer at or near the limit of its search."""
    near = []
    for outcome in scope.outcomes:
        limit = min(burst_rates_fps(scope, outcome), default=0) * limit_s(scope)
        if (
            outcome.type is OutcomeType.AT_CEILING
            or (stated(outcome, f"{METRIC}.max") or 0) >= NEAR_LIMIT * limit
        ):
            near.append(outcome.outcome_id)
    expected = f"no answer above {NEAR_LIMIT:.0%} of the upper limit of the search"
    return held(not near, expected, f"{len(near)} of {len(scope.outcomes)} at it {near[:NAMED]}")


@clause("RFC9004-6.2-07")
def tst009_search(scope: Scope) -> Answer:
    """The trials are those that TST009's search calls for, one after the other."""
    return all_of(scope.outcomes, "the trials of TST009 12.3", lambda one: follows_search(scope, one))


@clause("RFC9004-6.2-08")
def input_parameters(scope: Scope) -> Answer:
    """Each answer says the parameters of its search, and they are those of profile and trials."""

    def fits(one: Outcome) -> bool:
        goal = goal_of(scope, one)
        return goal is not None and parameters(goal) in one.quality

    return all_of(scope.outcomes, "step, limit, rate, trials and threshold as they were", fits)


@clause("RFC9004-6.2-09")
def least_step(scope: Scope) -> Answer:
    """Each answer says its step, the profile's, and its bursts are multiples of it, up to the longest."""

    def fits(one: Outcome) -> bool:
        goal, step = goal_of(scope, one), said_number(one, r"step ([0-9]{1,18}) frames")
        if goal is None or step != goal.step_frames:
            return False
        sizes = {trial.trial.result.spec.first_frames for trial in taken(scope, one)}
        longest = said_number(one, r"bursts up to ([0-9]{1,18}) frames")
        return bool(sizes) and all(size % goal.step_frames == 0 for size in sizes - {longest})

    return all_of(scope.outcomes, "the step in frames, as the bursts have it", fits)


@clause("RFC9004-6.3-01")
def independent(scope: Scope) -> Answer:
    """Each answer has several searches, and each begins anew with the same burst."""

    def fits(one: Outcome) -> bool:
        searches = burst_searches(taken(scope, one))
        first = {trials[0].trial.result.spec.first_frames for trials in searches}
        return len(searches) > 1 and len(first) == 1

    return all_of(scope.outcomes, "more than one search a size, each from the beginning", fits)


@clause("RFC9004-6.3-02")
def each_reported(scope: Scope) -> Answer:
    """Each repetition's length stands beside the average, as its trials have it."""

    def fits(one: Outcome) -> bool:
        found = [match for text in one.quality if (match := _EACH.fullmatch(text))]
        said = tuple(map(int, found[0][1].split(", "))) if found else ()
        return bool(said) and said == lengths(scope, one)

    return all_of(measured(scope), "N and each length", fits)


@clause("RFC9004-6.4-04")
def throughput_in_frames(scope: Scope) -> Answer:
    """The corrected buffer time follows from the implied one with the throughput in frames per second."""

    def fits(one: Outcome) -> bool:
        implied, found = stated(one, _IMPLIED), throughput_fps(scope, one)
        rate = min(burst_rates_fps(scope, one), default=0)
        if implied is None or found is None or not rate:
            return False
        return close(stated(one, _CORRECTED), implied * (1 - found / rate))

    corrected = [outcome for outcome in scope.outcomes if has(outcome, _CORRECTED)]
    if not corrected:
        return not_applicable("no buffer time is corrected by a throughput")
    return all_of(corrected, "the throughput in frames/s in the correction", fits)


@clause("RFC9004-6.4-05")
def maximum_in_frames(scope: Scope) -> Answer:
    """The implied buffer time follows from the average burst with the medium's maximum frame rate."""

    def fits(one: Outcome) -> bool:
        rate, mean = theoretical_fps(scope, one), stated(one, METRIC)
        return rate is not None and mean is not None and close(stated(one, _IMPLIED), mean / rate)

    implied = [outcome for outcome in scope.outcomes if has(outcome, _IMPLIED)]
    if not implied:
        return not_applicable("no buffer time is stated")
    return all_of(implied, "the medium's maximum frame rate, in frames/s", fits)
