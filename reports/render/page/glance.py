"""What a reader sees first: every option in a figure and in words, and what has no number."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.reports import rooms
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, Group, Part, Repeat, Rich, paragraph, table, title
from bmwg.reports.render.facts import GLANCE_ROWS, Facts, other_loads, short_words
from bmwg.reports.render.sections.common_columns import badge
from bmwg.reports.render.sections.data_plane import brief
from bmwg.reports.render.sections.results import found, marked, tail
from bmwg.reports.render.sections.unanswered import Unanswered, unanswered
from bmwg.reports.render.text import NONE, number_of, told_apart

_REASONS = 3  # choice: of what has no number, before the fold; the first page is of two screens


def glance(facts: Facts, figure: Sequence[Block], others_figure: Sequence[Block] = ()) -> list[Block]:
    """Return the first section; nothing for a run without answers. `figure` is that of frames."""
    tried = [one for one in facts.at_a_glance() if one.type is not OutcomeType.NOT_ASSESSED]
    shown = tried[:GLANCE_ROWS]
    others = [outcome for outcome in facts.run.outcomes if outcome.cell.kind != FRAMES]
    if not shown and not others:
        return []
    lines = title("At a glance")
    if shown:
        numbers = _throughputs(facts, shown)
        for said in dict.fromkeys(filter(None, map(searches.condition, facts.search_metrics(shown)))):
            numbers += paragraph(said)
        every = [one for one in facts.of_search() if one.type is not OutcomeType.NOT_ASSESSED]
        numbers += _further(len(every) - len(shown))
        repeat = [Repeat(summary="These numbers as a table", inside=tuple(numbers))] if figure else numbers
        lines.append(Group(name="glance", inside=(*figure, *repeat)))
    lines += _without(unanswered(facts))
    lines += [*others_figure, *_others(facts, others)]
    return lines


def _without(found: Sequence[Unanswered]) -> list[Block]:
    """Return why cells have no number: some reasons, what was tried first; a page folds the others."""
    said = [[", ".join(one.cells), one.why, one.helps] for one in found]
    head, caption = ["no number", "because", "what helps"], "What has no number"
    first, rest = said[:_REASONS], said[_REASONS:]
    if not rest:
        return table(head, first, caption)
    left = f"{number_of(len(rest), 'further reason')} why cells have no number, and what helps"
    folded = tuple(table(head, rest, "What else has no number"))
    return [*table(head, first, caption), Repeat(summary=left, inside=folded)]


def _throughputs(facts: Facts, shown: Sequence[Outcome]) -> list[Block]:
    """Return one row a cell: the load of each search, then what was measured at the first one's."""
    metrics = facts.search_metrics(shown)
    rows = []
    for outcome in shown:
        answers = facts.by_metric(outcome, metrics)
        loads = [NONE if answer is None else _load(facts, answer) for answer in answers]
        latency = facts.latency_of(outcome.cell)
        name, used = short_words(outcome.cell), brief(facts.use(outcome))
        rows.append([name, *loads, _tail(latency), used or NONE])
    head = ["path, option, octets", *searches.heads(metrics), "latency p50 / p99"]
    head.append("data plane at that throughput")
    if all(row[-1] == NONE for row in rows):  # nothing was counted
        head, rows = head[:-1], [row[:-1] for row in rows]
    caption = "Throughput, frames/s per port and direction, to the load at which it no longer holds"
    return table(head, rows, caption)


def _load(facts: Facts, outcome: Outcome) -> str:
    ends = found(facts, outcome).replace("\u00a0(", " (")  # a narrow column breaks there
    if outcome.type is OutcomeType.MEASURED:
        return ends
    kind = badge(outcome.type)
    return Rich(*kind.parts, Part(text=f" {ends}")) if ends != NONE else kind


def _others(facts: Facts, outcomes: Sequence[Outcome]) -> list[Block]:
    """Return one row an answer of another kind of load; what their cells have in common is said once."""
    shown = outcomes[:GLANCE_ROWS]
    common, names = told_apart([outcome.cell.cell_id for outcome in shown])
    marks = rooms.marks(facts.run)
    rows = [
        [
            name,
            outcome.metric,
            marked(outcome, marks) if outcome.type is OutcomeType.MEASURED else _no_number(outcome),
        ]
        for name, outcome in zip(names, shown, strict=True)
    ]
    caption = other_loads(facts.run) + (f"; all cells: {common}" if common else "")
    told = table(["cell", "metric", "answer, with what bounds it"], rows, caption)
    return [*told, *_further(len(outcomes) - len(shown))]


def _further(count: int) -> list[Block]:
    """Say how many answers are not among those of a glance; nothing where all are."""
    left = f"Not among these: {number_of(count, 'answer')}, in the chapters below."
    return paragraph(left) if count else []


def _no_number(outcome: Outcome) -> Rich:
    """Return the type, and of an answer that is bounded from one side what holds there, in words."""
    kind = badge(outcome.type)
    one_sided = outcome.type in {OutcomeType.AT_CEILING, OutcomeType.AT_FLOOR, OutcomeType.TESTER_LIMITED}
    told = outcome.reason or outcome.statement
    return Rich(*kind.parts, Part(text=f" {told}")) if one_sided and told else kind


def _tail(outcome: Outcome | None) -> str:
    if outcome is None or outcome.type is not OutcomeType.MEASURED:
        return NONE
    return tail(outcome) or NONE
