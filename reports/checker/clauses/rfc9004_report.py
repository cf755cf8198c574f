"""RFC 9004 section 7 as rules: what is reported of bursts."""

from __future__ import annotations

from bmwg.methodology.benchmarks import statistics
from bmwg.methodology.benchmarks.back_to_back import METRIC
from bmwg.methodology.records import Outcome
from bmwg.reports.checker.burst_answers import all_of, has, measured, said_number
from bmwg.reports.checker.bursts import burst_rates_fps, burst_searches, lengths, limit_s
from bmwg.reports.checker.proof import close, stated, taken
from bmwg.reports.checker.verdicts import Answer, Scope, clause

_CORRECTED = "buffer_time.rfc9004.corrected"


@clause("RFC9004-7-01")
def table(scope: Scope) -> Answer:
    """Each answer is a row: size and average."""
    return all_of(measured(scope), METRIC, lambda one: has(one, METRIC))


@clause("RFC9004-7-02")
def repetitions(scope: Scope) -> Answer:
    """Each answer says how many searches it averages, and so many are in the journal."""
    return all_of(
        scope.outcomes,
        "N, as the journal has it",
        lambda one: said_number(one, r"^([0-9]{1,18}) searches") == len(burst_searches(taken(scope, one))),
    )


@clause("RFC9004-7-03")
def spread(scope: Scope) -> Answer:
    """Minimum, maximum and standard deviation of the searches' bursts."""

    def fits(one: Outcome) -> bool:
        found = lengths(scope, one)
        if not found:
            return False
        over = statistics.spread(found)
        wanted = {"min": over.minimum, "max": over.maximum, "deviation": over.deviation}
        return all(close(stated(one, f"{METRIC}.{name}"), number) for name, number in wanted.items())

    return all_of(measured(scope), "minimum, maximum and standard deviation as the searches have them", fits)


@clause("RFC9004-7-04")
def corrected(scope: Scope) -> Answer:
    """The corrected buffer time."""
    return all_of(measured(scope), _CORRECTED, lambda one: has(one, _CORRECTED))


@clause("RFC9004-7-05")
def tester_limit(scope: Scope) -> Answer:
    """The longest burst of the search, as profile and rate make it; no trial is longer."""

    def fits(one: Outcome) -> bool:
        said = said_number(one, r"bursts up to ([0-9]{1,18}) frames")
        sent = [trial.trial.result.spec.first_frames for trial in taken(scope, one)]
        rate = min(burst_rates_fps(scope, one), default=0)
        return said == int(rate * limit_s(scope)) and max(sent, default=0) <= (said or 0)

    return all_of(scope.outcomes, "the longest burst", fits)
