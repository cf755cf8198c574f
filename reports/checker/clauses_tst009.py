"""ETSI GS NFV-TST 009 as rules, of its throughput search."""

from __future__ import annotations

from bmwg.methodology.records import Direction, OutcomeType
from bmwg.methodology.search.tst009 import METRIC
from bmwg.methodology.throughput import UNIT
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

_PARAMETERS = ("trials", "threshold", "step", "maximum", "s a trial")


@clause("TST009-6.3")
def configuration(scope: Scope) -> Answer:
    """The machine and each deployment stand in the platform file."""
    platform = scope.evidence.platform or {"base": {"before": None}, "deployments": {}}
    lacking = {one.deployment_id for one in scope.trials} - set(platform["deployments"])
    record = platform["base"]["before"] is not None
    found = f"{'a' if record else 'no'} record; {len(lacking)} deployments not described"
    return held(record and not lacking, "a record and each deployment", found)


@clause("TST009-7")
def tester_counts(scope: Scope) -> Answer:
    """Each trial counts, checks sequence and times frames."""
    counted = [one for one in scope.trials if one.trial.valid and one.trial.result.streams]
    return held(bool(counted), "counts, sequence checks and times", f"{len(counted)} valid trials")


@clause("TST009-8-01")
def lossless(scope: Scope) -> Answer:
    """A plain number is a load at which a trial lost nothing, in frames per second."""
    measured = [one for one in scope.outcomes if one.type is OutcomeType.MEASURED]
    if not measured:
        return not_applicable("no throughput of this search is a plain number")
    by_seq = {one.trial.seq: one.trial for one in scope.trials}
    good = [
        one
        for one in measured
        if one.lower
        and one.values[0].number == one.lower.load_fps
        and one.values[0].unit == UNIT
        and any(seq in by_seq and by_seq[seq].lossless for seq in one.lower.trials)
    ]
    return held(
        len(good) == len(measured), f"{UNIT} of a trial without loss", f"{len(good)} of {len(measured)}"
    )


@clause("TST009-12.1")
def tester_qualified(scope: Scope) -> Answer:
    """The tester was measured alone for the same traffic first."""
    lacking = sum(scope.evidence.envelope_fps(one.cell) is None for one in scope.outcomes)
    return held(not lacking, "the tester's own envelope", f"{lacking} results without")


@clause("TST009-12.3")
def algorithm(scope: Scope) -> Answer:
    """The metric is given by this search alone, and verify replays it."""
    other = [one.metric for one in scope.outcomes if one.metric != METRIC]
    return held(bool(scope.outcomes) and not other, "binary search with loss verification", METRIC)


@clause("TST009-12.3.3-04")
def parameters(scope: Scope) -> Answer:
    """Each answer says the numbers of its search."""
    lacking = [
        one.outcome_id
        for one in scope.outcomes
        if not any(all(word in text for word in _PARAMETERS) for text in one.quality)
    ]
    return held(
        bool(scope.outcomes) and not lacking,
        "max(r), threshold, step, maximum and duration",
        f"{len(lacking)} of {len(scope.outcomes)} answers without",
    )


@clause("TST009-all-01")
def reported(scope: Scope) -> Answer:
    """Cells name size, flows and direction; trials their duration and number."""
    whole = bool(scope.outcomes) and bool(scope.trials)
    return held(whole, "set-up, sizes, flows, direction, duration, parameters", f"{len(scope.trials)} trials")


@clause("TST009-all-02")
def both_directions(scope: Scope) -> Answer:
    """Bidirectional by default."""
    found = sorted({one.cell.direction.value for one in scope.outcomes})
    return held(Direction.BOTH.value in found, "both directions", ", ".join(found))


RULES: tuple[ClauseRule, ...] = (
    configuration,
    tester_counts,
    lossless,
    tester_qualified,
    algorithm,
    parameters,
    reported,
    both_directions,
)
