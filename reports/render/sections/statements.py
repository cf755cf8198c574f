"""The form in which RFC 2544 section 26.1 wants a throughput told."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import Cell, FrameFormat, Outcome, OutcomeType
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import THROUGHPUT, Facts, frame_size, option
from bmwg.reports.render.sections.results import FULL_TRIAL_S, beside_wide
from bmwg.reports.render.text import unit

PROTOCOLS = {
    FrameFormat.ETHERNET: "Ethernet, no further protocol",
    FrameFormat.IPV4_UDP: "UDP over IPv4",
    FrameFormat.IPV6_UDP: "UDP over IPv6",
}


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
            unit(outcome.values[0].number, outcome.values[0].unit) + beside_wide(outcome),
            frame_size(outcome.cell),
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
    limit = facts.medium_fps(cell)
    return f"none ({facts.run.medium_kind})" if limit is None else unit(limit, "frames/s")


def _protocol(cell: Cell) -> str:
    tag = f", 802.1Q VLAN {cell.vlan_id}" if cell.vlan_id is not None else ""
    return PROTOCOLS[cell.frame_format] + tag
