"""RFC 2544 rows on how results over frame sizes are told: the graph of throughput, latency's table, mixes."""

from __future__ import annotations

from bmwg.methodology.answers.latency import RFC2544_METRIC
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.measurements.throughput import FOUND_BY
from bmwg.methodology.records import OutcomeType
from bmwg.reports.checker.clauses.rfc2544_conditions import ETHERNET_SIZES, conditions
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

LEAST_POINTS = 2  # choice: one point is no line; the report draws none either


@clause("RFC2544-18-01")
def mixed_sizes(scope: Scope) -> Answer:
    """A mix holds every size of the list in section 9.1."""
    mixes = {
        trial.trial.result.spec.mix_octets
        for trial in scope.evidence.trials
        if trial.trial.result.spec.mix_octets
    }
    if not mixes:
        return not_applicable("no frames of several sizes are sent in one trial")
    lacking = sorted(set().union(*(ETHERNET_SIZES - set(mix) for mix in mixes)))
    wanted = ", ".join(map(str, sorted(ETHERNET_SIZES)))
    return held(not lacking, f"mixes of {wanted} octets", f"without {lacking}" if lacking else "all")


@clause("RFC2544-26.1-03", "throughput")
def throughput_graph(scope: Scope) -> Answer:
    """The report draws each condition, for all of them have plain numbers at two sizes or more."""
    fewest = _fewest_sizes(scope)
    if not fewest:
        return not_applicable("no throughput of the run is a plain number")
    return held(
        fewest >= LEAST_POINTS,
        f"a graph of each condition, for which it needs {LEAST_POINTS} sizes",
        f"{fewest} in the one that has fewest",
    )


def _fewest_sizes(scope: Scope) -> int:
    """Return the number of sizes with a plain number in the condition that has fewest; 0 without any."""
    measured = [outcome for outcome in scope.outcomes if outcome.type is OutcomeType.MEASURED]
    return min((len(sizes) for sizes in conditions(measured).values()), default=0)


@clause("RFC2544-26.1-05", "throughput")
def throughput_lines(scope: Scope) -> Answer:
    """Beside the measured rate the graph has the theoretical one, which needs a medium with a line rate."""
    measured = [outcome for outcome in scope.outcomes if outcome.type is OutcomeType.MEASURED]
    if all(len(sizes) < LEAST_POINTS for sizes in conditions(measured).values()):
        return not_applicable("no condition has plain numbers at two sizes, so there is no graph")
    rate = scope.run["medium"]["line_rate_bps"]
    found = f"line rate {rate} bit/s" if rate else f"{scope.run['medium']['kind']} without a line rate"
    return held(rate is not None, "lines of the measured and of the theoretical rate", found)


@clause("RFC2544-26.2-09", "latency")
def latency_rows(scope: Scope) -> Answer:
    """Each frame size whose throughput is a plain number has a latency in numbers in the same condition."""
    rated = [
        one
        for one in scope.evidence.outcomes
        if recorded_as(one.metric) in FOUND_BY
        and one.type is OutcomeType.MEASURED
        and not one.cell.qualifies_tester
    ]
    wanted, found = conditions(rated), conditions(scope.outcomes)
    if not wanted:
        return not_applicable("no throughput of the run is a plain number")
    rows = conditions([outcome for outcome in scope.outcomes if outcome.values])
    lacking = {name: sorted(sizes - rows.get(name, set())) for name, sizes in wanted.items() if name in found}
    short = {name: sizes for name, sizes in lacking.items() if sizes}
    name, sizes = next(iter(short.items()), ("", []))
    return held(
        bool(lacking) and not short,
        "a row for each frame size",
        f"{len(short)} of {len(lacking)} conditions lack sizes" + (f"; {name}: {sizes}" if short else ""),
    )


@clause("RFC2544-26.2-10", "latency")
def latency_columns(scope: Scope) -> Answer:
    """The table of tagged frames has size, rate, medium and latency; that of all frames has no medium."""
    told = [outcome for outcome in scope.outcomes if outcome.type is OutcomeType.MEASURED]
    if not told:
        return not_applicable("no latency of the run is a plain number")
    without = [one.outcome_id for one in told if one.metric != RFC2544_METRIC]
    return held(
        not without,
        "frame size, rate, medium and latency in each row",
        f"{len(without)} of {len(told)} answers in a table without the medium",
    )
