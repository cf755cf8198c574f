"""The forms in which documents want results told: RFC 2544 section 26.1's statement, RFC 8172 section 4.4's
matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.records import Cell, FrameFormat, Outcome, OutcomeType, Validity
from bmwg.methodology.trial import directions
from bmwg.reports.render.blocks import Block, fold, paragraph, table, title
from bmwg.reports.render.facts import LATENCY, THROUGHPUT, Facts, option, percentile_name
from bmwg.reports.render.sections.results import FULL_TRIAL_S, quantity_text
from bmwg.reports.render.text import NONE, percent, unit, whole

PROTOCOLS = {
    FrameFormat.ETHERNET: "Ethernet, no further protocol",
    FrameFormat.IPV4_UDP: "UDP over IPv4",
    FrameFormat.IPV6_UDP: "UDP over IPv6",
}
STAGES = ("activation", "operation", "de-activation")  # rfc8172-4.4
CRITERIA = ("speed", "accuracy", "reliability")
_NOT_MEASURED = "not measured"
_SHOWN_MATRICES = 40  # choice: more is no reading


def statement(facts: Facts) -> list[Block]:
    """Return the single-value statements of RFC 2544 section 26.1, one for each measured throughput."""
    measured = [o for o in facts.of_metric(THROUGHPUT) if o.type is OutcomeType.MEASURED]
    others = len(facts.of_metric(THROUGHPUT)) - len(measured)
    if not facts.of_metric(THROUGHPUT):
        return []
    lines = title("Statement in the form of RFC 2544 section 26.1")
    if not measured:
        return [*lines, *paragraph("No throughput of this run is a plain number, so none can be stated.")]
    rows = [
        [
            option(outcome.cell),
            unit(outcome.values[0].number, outcome.values[0].unit),
            unit(outcome.cell.frame_octets, "octets"),
            _limit(facts, outcome.cell),
            _protocol(outcome.cell),
        ]
        for outcome in measured
    ]
    head = ["path and option", "maximum frame rate", "frame size", "theoretical limit of the medium"]
    lines += table([*head, "protocol"], rows, "Measured maximum frame rate, per port and direction")
    durations = sorted({facts.run.trial(seq).spec.duration_s for o in measured for seq in _proof(o)})
    if durations and durations[0] < FULL_TRIAL_S:
        asked = f"{FULL_TRIAL_S:g}\u00a0s"
        lines += paragraph(
            f"The trials behind them lasted {_span(durations)}; RFC 2544 section 24 asks for {asked}."
        )
    if others:
        lines += paragraph(f"{others} further answers are no plain number and give no such value.")
    return lines


def _proof(outcome: Outcome) -> tuple[int, ...]:
    return outcome.lower.trials if outcome.lower else ()


def _span(numbers: Sequence[float]) -> str:
    low, high = f"{numbers[0]:g}\u00a0s", f"{numbers[-1]:g}\u00a0s"
    return low if low == high else f"{low} to {high}"


def _limit(facts: Facts, cell: Cell) -> str:
    limit = facts.theoretical_fps(cell.frame_octets)
    return f"none ({facts.run.medium_kind})" if limit is None else unit(limit, "frames/s")


def _protocol(cell: Cell) -> str:
    tag = f", 802.1Q VLAN {cell.vlan_id}" if cell.vlan_id is not None else ""
    return PROTOCOLS[cell.frame_format] + tag


def matrices(facts: Facts) -> list[Block]:
    """Return RFC 8172 section 4.4's matrices: 3x4 for coverage, then 3x3 with results, one a capacity.

    A capacity is what was put under load and with how much at once: path, option, directions and flows.
    """
    lines = title("Matrices of RFC 8172 section 4.4")
    groups: dict[str, list[Outcome]] = {}
    for outcome in facts.outcomes:
        if not outcome.cell.qualifies_tester and outcome.type is not OutcomeType.NOT_ASSESSED:
            groups.setdefault(option(outcome.cell), []).append(outcome)
    if not any(map(_has_number, groups.values())):
        return []  # a section without a figure tells nothing
    lines += table(["stage", *CRITERIA, "scale"], _coverage(facts, groups), "Coverage, without results")
    numbered = [name for name, outcomes in groups.items() if _has_number(outcomes)]
    for name in numbered[:_SHOWN_MATRICES]:
        caption = f"Capacity: {name}, {_capacity(groups[name][0].cell)}"
        lines += fold(caption, table(["stage", *CRITERIA], _results(facts, groups[name]), caption))
    if len(numbered) > _SHOWN_MATRICES:
        lines += paragraph(f"{len(numbered) - _SHOWN_MATRICES} further capacities are in run.json.")
    if without := [name for name in groups if name not in numbered]:
        lines += paragraph(f"Without a plain number, and so without a matrix: {', '.join(without)}.")
    return lines


def _has_number(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.type is OutcomeType.MEASURED for outcome in outcomes)


def _capacity(cell: Cell) -> str:
    return (
        f"{'both directions' if cell.direction == 'both' else 'one direction'}, "
        f"{cell.flows} flow{'s' if cell.flows != 1 else ''}"
        f"{f', {cell.destination_networks} networks' if cell.destination_networks != 1 else ''}"
    )


def _coverage(facts: Facts, groups: dict[str, list[Outcome]]) -> list[list[str]]:
    answered = {outcome.metric for outcomes in groups.values() for outcome in outcomes}
    capacities = len({_capacity(outcomes[0].cell) for outcomes in groups.values()})
    rows = []
    for stage in STAGES:
        in_operation = stage == "operation" and bool(answered)
        speed = ", ".join(sorted(answered)) if in_operation else NONE
        accuracy = "reordered, duplicate and corrupt frames" if in_operation and facts.run.trials else NONE
        reliability = "answers that are plain numbers, validity of trials" if in_operation else NONE
        scale = f"{capacities} number{'s' if capacities != 1 else ''} of flows and directions"
        rows.append([stage, speed, accuracy, reliability, scale if in_operation else NONE])
    return rows


def _results(facts: Facts, outcomes: Sequence[Outcome]) -> list[list[str]]:
    operation = [_speed(outcomes), _accuracy(facts, outcomes), _reliability(facts, outcomes)]
    return [[stage, *(operation if stage == "operation" else [_NOT_MEASURED] * 3)] for stage in STAGES]


def _speed(outcomes: Iterable[Outcome]) -> str:
    """Return throughput, median and 99th percentile by frame size."""
    by_size: dict[int, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.metric != THROUGHPUT):
        if outcome.type is not OutcomeType.MEASURED:
            continue
        for value in outcome.values:
            name = percentile_name(value.metric)
            told = quantity_text(value.number, value.unit)
            if outcome.metric == THROUGHPUT:
                by_size.setdefault(outcome.cell.frame_octets, []).append(f"throughput {told}")
            elif outcome.metric == LATENCY and name in ("p50", "p99"):
                way = directions.without(value.metric)[1]
                text = f"latency {name} {told}"
                by_size.setdefault(outcome.cell.frame_octets, []).append(directions.of(text, way))
    return (
        "; ".join(f"{unit(size, 'octets')}: {', '.join(parts)}" for size, parts in sorted(by_size.items()))
        or "no plain number"
    )


def _accuracy(facts: Facts, outcomes: Iterable[Outcome]) -> str:
    measured = (one for one in outcomes if one.type is OutcomeType.MEASURED)
    seqs = sorted({seq for outcome in measured for seq in _proof(outcome)})
    streams = [s for seq in seqs for s in facts.run.trial(seq).result.streams]
    if not streams:
        return "no trial at a throughput"
    received = sum(stream.received_frames for stream in streams)
    counted = [
        f"{whole(sum(getattr(stream, f'{name}_frames') for stream in streams))} {name}"
        for name in ("reordered", "duplicate", "corrupt")
    ]
    return f"of {whole(received)} frames received at the throughput: {', '.join(counted)}"


def _reliability(facts: Facts, outcomes: Sequence[Outcome]) -> str:
    plain = sum(outcome.type is OutcomeType.MEASURED for outcome in outcomes)
    seqs = {seq for outcome in outcomes for seq in outcome.trials}
    valid = sum(facts.run.trial(seq).validity is Validity.VALID for seq in seqs)
    share = f"; {valid} of {len(seqs)} trials valid ({percent(valid / len(seqs), 1)})" if seqs else ""
    return f"{plain} of {len(outcomes)} answers are plain numbers{share}"
