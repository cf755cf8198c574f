"""What blocks tell in a report, and what no execution of them can show."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Shortfall, rule
from bmwg.reports.render.blocks import Block, table, title
from bmwg.reports.rooms import Figure, Room
from bmwg.reports.store import Run
from vendor_toy import blocks

_FASTEST_NS = 50  # choice: no interpreter calls a function in less


def _holds(run: Run) -> bool:
    return any(one.cell.kind == blocks.KIND for one in (*run.plan, *run.outcomes))


def _section(run: Run, figure: Figure) -> list[Block]:
    answers = run.of_kind(blocks.KIND)
    if not answers:
        return []
    rows = [
        [one.cell.cell_id, f"{one.values[0].number:.0f}" if one.values else one.reason] for one in answers
    ]
    return [*title("Blocks hashed"), *table(["cell", "blocks/s"], rows, "Blocks a second")]


def _summary(run: Run) -> str:
    count = len(run.of_kind(blocks.KIND))
    return f"{count} answers on blocks" if count else ""


@rule("TOY-02", "", "no block is hashed faster than a function can be called")
def too_fast(evidence: Evidence) -> Iterator[Shortfall]:
    """Name each execution with more blocks than its time allows."""
    for one in evidence.executions:
        if one.body.kind == blocks.KIND:
            result = blocks.BlocksResult(**one.body.result)
            if result.blocks * _FASTEST_NS > result.elapsed_ns:
                yield f"trial {one.seq}", f"at most {result.elapsed_ns // _FASTEST_NS}", str(result.blocks)


BLOCKS = Room(
    kind=blocks.KIND,
    holds=_holds,
    section=_section,
    summary=_summary,
    plots=lambda run: (),
    rules=(too_fast,),
    questions=lambda evidence: (),
)
