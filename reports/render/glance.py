"""What a reader sees first: every option in one figure, and the same beside it in words."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.render.data_plane import brief
from bmwg.reports.render.extent import extent
from bmwg.reports.render.facts import GLANCE_ROWS, LATENCY, Facts, option
from bmwg.reports.render.results import answer, tail, type_badge
from bmwg.reports.render.text import NONE, esc, table, title, whole


def glance(facts: Facts, figure: Sequence[str]) -> list[str]:
    """Return the first section; nothing for a run that searched nothing. `figure`: the lines of its plot."""
    shown = facts.at_a_glance()
    if not shown:
        return []
    latency = {outcome.cell.cell_id: outcome for outcome in facts.of_metric(LATENCY)}
    rows = [
        [
            esc(f"{option(outcome.cell)}, {whole(outcome.cell.frame_octets)}"),
            _answer(facts, outcome),
            _tail(latency.get(outcome.cell.cell_id)),
            _used(facts, outcome),
        ]
        for outcome in shown[:GLANCE_ROWS]
    ]
    head = ["path and option, octets", "throughput per port and direction", "latency p50 / p99"]
    head.append("data plane at that throughput")
    if all(row[-1] == NONE for row in rows):  # nothing was counted
        head, rows = head[:-1], [row[:-1] for row in rows]
    body = [*figure, *table(head, rows, "What was found")]
    lines = [*title("At a glance", 1), "", ".. container:: glance", ""]
    lines += [f"   {line}" if line else "" for line in body]
    left = len(facts.of_search()) - len(rows)
    if left:
        lines += ["", esc(f"{left} further answers stand in the section Throughput."), ""]
    return lines


def _answer(facts: Facts, outcome: Outcome) -> str:
    if outcome.type is OutcomeType.MEASURED:
        return answer(outcome)
    said = extent(facts, outcome).sentence
    return f"{type_badge(outcome)} {esc(said)}" if said else type_badge(outcome)


def _used(facts: Facts, outcome: Outcome) -> str:
    said = brief(facts.use(outcome))
    return esc(said) if said else NONE


def _tail(outcome: Outcome | None) -> str:
    if outcome is None or outcome.type is not OutcomeType.MEASURED:
        return NONE
    return esc(tail(outcome) or NONE)
