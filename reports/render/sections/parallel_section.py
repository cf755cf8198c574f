"""Chains beside each other: what all carry together, and what each was offered, carried and lost."""

from __future__ import annotations

from bmwg.methodology.cells import parallel
from bmwg.methodology.records import Direction, Outcome
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, front
from bmwg.reports.render.sections.results import answer
from bmwg.reports.render.text import NONE, unit, whole

_HEAD = (*HEAD, "throughput of all chains", "trials at")
_HEAD_EACH = ("chain", "direction", "offered", "received", "lost", "received a second")


def section(facts: Facts) -> list[Block]:
    """Return the section; nothing for a run without such chains."""
    rows = [
        row
        for outcome in facts.outcomes
        if parallel.of(outcome.cell) and (outcome.lower or outcome.upper)
        for row in _rows(facts, outcome)
    ]
    if not rows:
        return []
    said = (
        "The load is of all chains together; each frame goes to one of them that the tester draws, and is "
        "counted there. A throughput without loss is one at which no chain lost a frame: none stands behind "
        "another. Counts are of the trials of the lower bound, or of the upper one where there is no lower."
    )
    return [
        *title("Chains beside each other"),
        *paragraph(said),
        *table((*_HEAD, *_HEAD_EACH), rows, "Each chain by itself, and all together"),
    ]


def _rows(facts: Facts, outcome: Outcome) -> list[list[str]]:
    head = [
        *front(outcome),
        answer(outcome),
    ]
    bound = outcome.lower or outcome.upper
    results = [facts.run.trial(seq).result for seq in bound.trials] if bound else []
    shares = parallel.shares(results)
    if bound is None or not shares:
        return [[*head, *[NONE] * (1 + len(_HEAD_EACH))]]
    head.append(unit(bound.load_fps, "frames/s"))
    names = [">".join(functions) for functions in parallel.of(outcome.cell)]
    rows = []
    for stream in sorted({share.stream for share in shares}):
        mine = [share for share in shares if share.stream == stream]
        way = str(_way(outcome.cell.direction, stream))
        together = parallel.Share(
            stream=stream,
            number=len(mine),
            offered_frames=sum(share.offered_frames for share in mine),
            received_frames=sum(share.received_frames for share in mine),
            duration_s=mine[0].duration_s,
        )
        for name, share in (("all", together), *zip(names, mine, strict=True)):
            rows.append(
                [
                    *head,
                    name,
                    way,
                    whole(share.offered_frames),
                    whole(share.received_frames),
                    whole(share.lost_frames),
                    unit(round(share.received_fps), "frames/s"),
                ]
            )
    return rows


def _way(direction: Direction, stream: int) -> Direction:
    if direction is not Direction.BOTH:
        return direction
    return (Direction.FORWARD, Direction.REVERSE)[stream]
