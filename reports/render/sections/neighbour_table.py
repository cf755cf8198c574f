"""Answers of frames beside a neighbour, each held against the same cell without one (RFC 8172 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bmwg.methodology.answers.throughput import WIDE, is_wide
from bmwg.methodology.cells import neighbours
from bmwg.methodology.mlrsearch.outcome import claim
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, TYPE_WORDS, back, front, remarks
from bmwg.reports.render.sections.results import answer, searched
from bmwg.reports.render.text import NONE, percent

_HOW = (
    "A neighbour is a program with a cgroup of its own on the CPUs that its name says: cpu does arithmetic, "
    "memory copies from one buffer to another, beyond any cache. It works from before the first trial until "
    "after the last one. Its CPU time and its own work are those beside the trials; they are auxiliary, and "
    "no benchmark (RFC 8172 section 4.2). The watch for CPUs that the machine takes away has a higher "
    "priority than a neighbour, so no trial is set aside for what a neighbour does. No ratio is taken of an "
    f"interval wider than {percent(WIDE, 0)}. Rows: RFC8172-3.3-02, RFC8172-3.4-04."
)


def beside(facts: Facts) -> list[Block]:
    """Return one row for each answer beside a neighbour."""
    frames = [one for one in facts.outcomes if not one.cell.name]
    mine = [one for one in frames if neighbours.of(one.cell) != neighbours.ALONE]
    if not mine:
        return []
    alone = {
        (one.metric, _without(one.cell)): one for one in frames if neighbours.of(one.cell) == neighbours.ALONE
    }
    rows = []
    for one in mine:
        base = alone.get((one.metric, _without(one.cell)))
        counts = [dict(facts.run.trial(seq).result.auxiliary) for seq in one.trials]
        rows.append(
            [
                *front(one),
                one.metric,
                NONE if base is None else _said(base),
                _said(one),
                _ratio(one, base),
                _cpu(counts),
                _work(counts),
                *back(one),
            ]
        )
    condition = searches.conditions(mine)
    head = ["metric", "alone", "beside it", "ratio", "its share of its CPUs", "its own work, beside / alone"]
    return [
        *title("Beside neighbours (RFC 8172 3.3, RFC 8204 5.5 and 5.8, LTD 3.2.2.6.1 and 3.2.2.3.2)"),
        *paragraph(_HOW),
        *(paragraph(condition) if condition else []),
        *table([*HEAD, *head, *TAIL], rows, "Answers beside a neighbour and without one"),
        *remarks(mine),
    ]


def _without(cell: Cell) -> Cell:
    """Return a cell without the axis of its neighbour."""
    return replace(cell, axes=tuple(axis for axis in cell.axes if axis[0] != neighbours.AXIS))


def _said(one: Outcome) -> str:
    if one.type is not OutcomeType.MEASURED:
        return TYPE_WORDS[one.type]
    return answer(one) if claim(one.metric) is None else searched(one)


def _ratio(one: Outcome, base: Outcome | None) -> str:
    """Return what is beside over what is alone, where both are one number and no interval is wide."""
    if base is None or is_wide(one) or is_wide(base):
        return NONE
    single = len(one.values) == len(base.values) == 1  # of a goal the first is the throughput
    if not (single or (claim(one.metric) and one.values and base.values)) or not base.values[0].number:
        return NONE
    return f"{one.values[0].number / base.values[0].number:.3f}"


def _cpu(counts: Sequence[dict[str, int]]) -> str:
    spent = sum(one.get(neighbours.CPU_NS, 0) for one in counts)
    could = sum(one.get(neighbours.WORK_NS, 0) * one.get(neighbours.CPUS, 0) for one in counts)
    return percent(spent / could) if could else NONE


def _work(counts: Sequence[dict[str, int]]) -> str:
    """Return its operations a second beside all trials over those alone, each trial by its time."""
    known = [one for one in counts if set(neighbours.COUNTS) <= one.keys() and one[neighbours.BEFORE_NS]]
    alone = sum(one[neighbours.WORK_NS] * one[neighbours.BEFORE] / one[neighbours.BEFORE_NS] for one in known)
    return f"{sum(one[neighbours.WORK] for one in known) / alone:.3f}" if alone else NONE
