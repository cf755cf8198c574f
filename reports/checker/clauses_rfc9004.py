"""RFC 9004 as rules: the search for the longest burst without loss."""

from __future__ import annotations

from bmwg.methodology import throughput
from bmwg.methodology.benchmarks.back_to_back import METRIC
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.clauses_common import ETHERNET_SIZES
from bmwg.reports.checker.verdicts import (
    Answer,
    ClauseRule,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

DEPLETION_S = 2.0  # RFC9004-6.2-02
LIMIT_S = 30.0  # RFC9004-6.2-04
NEAR_LIMIT = 0.95  # choice: "at or near" the upper limit


def _measured(scope: Scope) -> list[Outcome]:
    return [one for one in scope.outcomes if one.type is OutcomeType.MEASURED]


def _said(outcome: Outcome, *words: str) -> bool:
    return any(all(word in text for word in words) for text in outcome.quality)


def _all_say(scope: Scope, expected: str, *words: str) -> Answer:
    lacking = [one.outcome_id for one in scope.outcomes if not _said(one, *words)]
    found = f"{len(lacking)} of {len(scope.outcomes)} answers without {lacking[:3]}"
    return held(bool(scope.outcomes) and not lacking, expected, found)


def _all_have(scope: Scope, metric: str) -> Answer:
    measured = _measured(scope)
    if not measured:
        return not_applicable("no burst length of the run is a plain number")
    lacking = [one.outcome_id for one in measured if metric not in {v.metric for v in one.values}]
    return held(not lacking, metric, f"{len(lacking)} of {len(measured)} answers without")


def _throughput(scope: Scope, one: Outcome) -> Outcome | None:
    return scope.evidence.outcome(one.cell.cell_id, throughput.METRIC)


@clause("RFC9004-3-02")
def no_mix(scope: Scope) -> Answer:
    """All frames of a burst have one size."""
    mixed = [one.trial.seq for one in scope.trials if one.trial.result.spec.mix_octets]
    return held(not mixed, "bursts of one frame size", f"{len(mixed)} trials of mixed sizes {mixed[:5]}")


@clause("RFC9004-5-01")
def set_up(scope: Scope) -> Answer:
    """One tester sends and receives over two ports."""
    tester = scope.evidence.run["testbed"].get("tester") if scope.evidence.run else None
    ports = tester.get("ports") if isinstance(tester, dict) else None
    count = len(ports) if isinstance(ports, list) else 0
    return held(count == 2, "a tester of two ports", f"{count} ports")


@clause("RFC9004-5-03")
def link_speed(scope: Scope) -> Answer:
    """The medium's rate is known; a virtual link has none."""
    rate = scope.evidence.run["medium"]["line_rate_bps"] if scope.evidence.run else None
    return held(rate is not None, "the link's rate and protocol", f"{rate} bit/s" if rate else "no line rate")


@clause("RFC9004-5-04")
def throughput_before(scope: Scope) -> Answer:
    """The throughput of all seven sizes is known."""
    known = {
        one.cell.frame_octets
        for one in scope.evidence.outcomes
        if one.metric == throughput.METRIC and one.type is OutcomeType.MEASURED
    }
    lacking = sorted(ETHERNET_SIZES - known)
    return held(not lacking, "throughput of the seven sizes", f"none of {lacking or 'no size'}")


@clause("RFC9004-5-05")
def same_traffic(scope: Scope) -> Answer:
    """Each answer's own cell has a throughput: direction and flows are those of the cell."""
    lacking = [one.cell.cell_id for one in scope.outcomes if _throughput(scope, one) is None]
    return held(not lacking, "throughput of the same traffic", f"{len(lacking)} answers without")


@clause("RFC9004-5-06")
def zero_loss(scope: Scope) -> Answer:
    """The throughput is RFC 2544's, which loses nothing."""
    found = [_throughput(scope, one) for one in scope.outcomes]
    wrong = [one.outcome_id for one in found if one is not None and one.metric != throughput.METRIC]
    return held(any(found) and not wrong, throughput.METRIC, f"{sum(one is not None for one in found)} found")


@clause("RFC9004-5-07")
def measured_directly(scope: Scope) -> Answer:
    """Each length was sent and counted by the tester."""
    bursts = sum(one.trial.result.spec.burst for one in scope.trials)
    return held(
        bool(scope.trials) and bursts == len(scope.trials),
        "bursts sent and counted",
        f"{bursts} of {len(scope.trials)} trials",
    )


@clause("RFC9004-5-08")
def disturbance_removed(scope: Scope) -> Answer:
    """Trials during which a CPU was lost are told apart."""
    watched = scope.profile.policy.max_host_stall_ns
    return held(watched > 0, "loss of other sources mitigated", f"stalls above {watched} ns told apart")


@clause("RFC9004-6.2-02")
def depletion(scope: Scope) -> Answer:
    """After the burst the tester waits at least 2 s."""
    wait_s = scope.profile.policy.drain_s
    said = scope.profile.benchmarks.get("back_to_back", {}).get("depletion_s", wait_s)
    return held(float(said) >= DEPLETION_S, f"at least {DEPLETION_S} s", f"{said} s")


@clause("RFC9004-6.2-04")
def limit_configurable(scope: Scope) -> Answer:
    """The profile says the longest burst; up to 30 s are taken."""
    said = scope.profile.benchmarks.get("back_to_back", {}).get("max_burst_s", LIMIT_S)
    return held(0 < float(said) <= LIMIT_S, f"a limit that may be {LIMIT_S} s", f"{said} s")


@clause("RFC9004-6.2-05")
def below_limit(scope: Scope) -> Answer:
    """No answer at the limit of its search."""
    at = [one.outcome_id for one in scope.outcomes if one.type is OutcomeType.AT_CEILING]
    return held(not at, "no answer at the upper limit of the search", f"{len(at)} at it {at[:3]}")


@clause("RFC9004-6.2-07")
def tst009_search(scope: Scope) -> Answer:
    """The metric is given by TST009's search alone, and verify replays it."""
    other = [one.metric for one in scope.outcomes if not one.metric.startswith(METRIC)]
    return held(bool(scope.outcomes) and not other, "the search of TST009 12.3", METRIC)


@clause("RFC9004-6.2-08")
def parameters(scope: Scope) -> Answer:
    """Each answer says the numbers of its search."""
    return _all_say(scope, "step, limit, trials and threshold", "step", "up to", "trials", "threshold")


@clause("RFC9004-6.2-09")
def step(scope: Scope) -> Answer:
    """Each answer says its step in frames."""
    return _all_say(scope, "the step in frames", "step", "frames")


@clause("RFC9004-6.3-01")
def independent(scope: Scope) -> Answer:
    """The phases of the journal part the searches of a cell: each begins anew."""
    phases: dict[str, set[str]] = {}
    for one in scope.trials:
        phases.setdefault(one.cell_id, set()).add(one.phase)
    least = min((len(found) for found in phases.values()), default=0)
    return held(least > 1, "more than one search a size", f"at least {least} searches")


@clause("RFC9004-6.3-02")
def each_reported(scope: Scope) -> Answer:
    """Each repetition's length stands beside the average."""
    measured = _measured(scope)
    if not measured:
        return not_applicable("no burst length of the run is a plain number")
    lacking = [one.outcome_id for one in measured if not _said(one, "each:")]
    return held(not lacking, "N and each length", f"{len(lacking)} of {len(measured)} answers without")


@clause("RFC9004-6.4-04")
def throughput_in_frames(scope: Scope) -> Answer:
    """The throughput in the correction is in frames per second."""
    units = {v.unit for one in scope.outcomes if (found := _throughput(scope, one)) for v in found.values}
    if not units:
        return not_applicable("no throughput that is a plain number corrects a buffer time")
    return held(units == {throughput.UNIT}, throughput.UNIT, ", ".join(sorted(units)))


@clause("RFC9004-6.4-05")
def maximum_in_frames(scope: Scope) -> Answer:
    """The maximum rate is the load of the burst's trials, frames per second."""
    return _all_say(scope, "the maximum in frames/s", "frames/s")


@clause("RFC9004-7-01")
def table(scope: Scope) -> Answer:
    """Each answer is a row: size and average."""
    return _all_have(scope, METRIC)


@clause("RFC9004-7-02")
def repetitions(scope: Scope) -> Answer:
    """Each answer says how many searches it averages."""
    return _all_say(scope, "N", "searches")


@clause("RFC9004-7-03")
def spread(scope: Scope) -> Answer:
    """Minimum, maximum and standard deviation."""
    for name in ("min", "max", "deviation"):
        answer = _all_have(scope, f"{METRIC}.{name}")
        if answer.verdict.value != "met":
            return answer
    return held(True, "minimum, maximum and standard deviation", "all three")


@clause("RFC9004-7-04")
def corrected(scope: Scope) -> Answer:
    """The corrected buffer time."""
    return _all_have(scope, "buffer_time.rfc9004.corrected")


@clause("RFC9004-7-05")
def tester_limit(scope: Scope) -> Answer:
    """The longest burst of the search."""
    return _all_say(scope, "the longest burst", "bursts up to")


@clause("RFC9004-8-02")
def no_special_capability(scope: Scope) -> Answer:
    """Whether the device has a capability only for benchmarks, no file shows."""
    return not_assessed("nobody declared that the device has no capability made for benchmarks")


RULES: tuple[ClauseRule, ...] = (
    no_mix,
    set_up,
    link_speed,
    throughput_before,
    same_traffic,
    zero_loss,
    measured_directly,
    disturbance_removed,
    depletion,
    limit_configurable,
    below_limit,
    tst009_search,
    parameters,
    step,
    independent,
    each_reported,
    throughput_in_frames,
    maximum_in_frames,
    table,
    repetitions,
    spread,
    corrected,
    tester_limit,
    no_special_capability,
)
