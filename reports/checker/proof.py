"""Which recorded trials stand behind a stated result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bmwg.methodology.answers import throughput
from bmwg.methodology.records import Outcome, TrialResult
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, Scope, held, not_applicable

LEAST_SENT = 0.999  # choice: design decision 3, of the frames that a load intends
NAMED = 3  # ids that a finding lists


def none_wrong(wrong: Sequence[object], whole: int, expected: str, thing: str) -> Answer:
    """Return met where none is wrong."""
    return held(not wrong, expected, f"{len(wrong)} of {whole} {thing} otherwise {list(wrong[:NAMED])}")


def each_outcome(
    outcomes: Iterable[Outcome],
    expected: str,
    fits: Callable[[Outcome], bool],
    *,
    without: str,
    thing: str = "results",
) -> Answer:
    """Say whether each of these answers fits; not applicable, as `without` says, where there is none."""
    given = list(outcomes)
    if not given:
        return not_applicable(without)
    wrong = [outcome.outcome_id for outcome in given if not fits(outcome)]
    return none_wrong(wrong, len(given), expected, thing)


def tester_ports(scope: Scope) -> list[Any]:
    """Return the tester's ports as the testbed file names them; none where it does not."""
    ports = _tester(scope).get("ports")
    return ports if isinstance(ports, list) else []


def most_ports(scope: Scope) -> int:
    """Return how many ports of the tester took part in one trial at most; a testbed may name more."""
    patterns = [trial.trial.result.spec.pattern for trial in scope.trials]
    streams = [len(trial.trial.result.streams) for trial in scope.trials]
    return max([*(pattern.ports for pattern in patterns if pattern is not None), *streams, 2])


def port_kinds(scope: Scope) -> frozenset[str]:
    """Return the kinds of device of the tester's ports, as far as the testbed file tells them."""
    said = [_tester(scope), *(port for port in tester_ports(scope) if isinstance(port, Mapping))]
    kinds = [one["io"] for one in said if "io" in one]  # one for both ports, or a list of one for each
    return frozenset(str(kind) for one in kinds for kind in (one if isinstance(one, list) else [one]))


def _tester(scope: Scope) -> Mapping[str, Any]:
    tester = scope.run["testbed"].get("tester")
    return tester if isinstance(tester, Mapping) else {}


def numbered(scope: Scope, seqs: Iterable[int]) -> list[Trial]:
    """Return the trials of these sequence numbers, each once and in order; what has no trial is left out."""
    by_seq = scope.evidence.by_seq  # lines of other kinds of load stand between those of frames
    return [by_seq[seq] for seq in sorted(set(seqs)) if seq in by_seq]


def taken(scope: Scope, outcome: Outcome) -> list[Trial]:
    """Return all trials that an outcome names."""
    return numbered(scope, outcome.trials)


def proving(scope: Scope, outcomes: Iterable[Outcome]) -> list[Trial]:
    """Return the trials that the bounds of outcomes name."""
    bounds = [bound for outcome in outcomes for bound in (outcome.lower, outcome.upper) if bound is not None]
    return numbered(scope, (seq for bound in bounds for seq in bound.trials))


def throughputs(scope: Scope) -> dict[str, Outcome]:
    """Return RFC 2544's throughput by cell: of its search, or of a goal that gives it (RFC9971-4.10.2)."""
    found: dict[str, Outcome] = {}
    for outcome in scope.evidence.outcomes:
        if outcome.metric == throughput.METRIC:
            found[outcome.cell.cell_id] = outcome
        elif stated(outcome, throughput.METRIC) is not None:
            found.setdefault(outcome.cell.cell_id, outcome)
    return found


def whole(result: TrialResult) -> bool:
    """Whether all frames of a load were sent, but for the share that decision 3 lets a tester leave."""
    return all(stream.sent_frames >= LEAST_SENT * stream.intended_frames for stream in result.streams)


def per_interface(result: TrialResult) -> bool:
    """Whether the load is what each sending port was to send in the time, a frame more or less."""
    wanted, pattern = result.spec.intended_frames, result.spec.pattern
    if pattern is not None:
        each = [wanted] * pattern.ports
        return all(
            abs(one.intended_frames - pattern.meant_for(port, each)) <= 1
            for port, one in enumerate(result.streams)
        )
    return bool(result.streams) and all(
        abs(stream.intended_frames - wanted) <= 1 for stream in result.streams
    )


def of_all_interfaces(result: TrialResult) -> bool:
    """Whether the load is the sum of what several ports were to send."""
    whole = sum(stream.intended_frames for stream in result.streams)
    several = len(result.streams) > 1 and not per_interface(result)
    return several and abs(whole - result.spec.intended_frames) <= len(result.streams)


def stated(outcome: Outcome, beginning: str) -> float | None:
    """Return the first number of an outcome whose metric begins so."""
    return next((value.number for value in outcome.values if value.metric.startswith(beginning)), None)


def close(found: float | None, wanted: float | None) -> bool:
    """Whether two numbers are the same but for rounding."""
    if found is None or wanted is None:
        return False
    return abs(found - wanted) <= 1e-6 * max(1.0, abs(wanted))
