"""How the screen of a comparison tells the answers of a kind of load: what one column needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmwg.methodology.records import Cell
from bmwg.reports.compare.page import sample_text
from bmwg.reports.compare.rows import Row
from bmwg.reports.compare.samples import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`head` names the answers, `metrics` are those that are told, the first that a cell has (empty: any).

    `name` tells a cell, `number` what a side has, `alone` and `mixed` what a reader must know of the numbers
    where the table holds this kind alone, or several.
    """

    head: str
    metrics: tuple[str, ...]
    name: Callable[[Cell], str]
    number: Callable[[Sample, Row], str]
    alone: str = ""
    mixed: str = ""

    def footer(self, *, alone: bool) -> str:
        """Return the line below the table; empty where each number stands with its unit."""
        return self.alone if alone else self.mixed


PLAIN = Column(head="answer", metrics=(), name=lambda cell: cell.cell_id, number=sample_text)
