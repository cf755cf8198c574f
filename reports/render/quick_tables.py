"""Reads the page's own tables without a parser for each of their cells: half of a long page's time.

`text.table` writes one line a cell, and each cell is a line of words with inline markup at most. A table of
any other form goes to docutils' own directive; the tree is the same either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.tables import ListTable
from docutils.utils import SystemMessagePropagation

_NAME = "list-table"
_CELL = re.compile(r"([* ]) - (\S.*)")
_MARKED = re.compile(r"[\\*`|_:<@\[]")  # what inline markup needs one of, see `text.esc`


class QuickTable(ListTable):
    """The directive `list-table` for tables of one-line cells."""

    def run(self) -> list[Any]:
        """Return the table's node."""
        cells = _cells(list(self.content))
        if cells is None:
            return list(super().run())
        stock: Any = self  # docutils states no types for these
        title, messages = stock.make_title()
        header_rows = self.options.get("header-rows", 0)
        stub_columns = self.options.get("stub-columns", 0)
        parsed = [[[self._paragraph(cell, messages)] for cell in row] for row in cells]
        try:
            widths = stock.get_column_widths(len(cells[0]))
            stock.check_table_dimensions(parsed, header_rows, stub_columns)
        except SystemMessagePropagation as detail:
            return [detail.args[0]]
        made = stock.build_table_from_list(parsed, widths, header_rows, stub_columns)
        made["classes"] += self.options.get("class", [])
        if title:
            made.insert(0, title)
        return [made, *messages]

    def _paragraph(self, cell: str, messages: list[Any]) -> nodes.paragraph:
        if not _MARKED.search(cell):
            return nodes.paragraph(cell, "", nodes.Text(cell))
        found, wrong = self.state.inline_text(cell, self.lineno)
        messages += wrong
        return nodes.paragraph(cell, "", *found)


def _cells(lines: Sequence[str]) -> list[list[str]] | None:
    """Return the cells row by row; None for a table of another form."""
    rows: list[list[str]] = []
    for line in lines:
        found = _CELL.fullmatch(line)
        if found is None:
            if line.strip():
                return None
        elif found[1] == "*":
            rows.append([found[2]])
        elif rows:
            rows[-1].append(found[2])
        else:
            return None
    return rows if rows and len({len(row) for row in rows}) == 1 else None


@contextmanager
def quick_tables() -> Iterator[None]:
    """Have docutils read tables this way, and leave its directives as they were."""
    table: dict[str, Any] = vars(directives)["_directives"]  # docutils has no way to ask for one
    before = table.get(_NAME)
    directives.register_directive(_NAME, QuickTable)
    try:
        yield
    finally:
        if before is None:
            table.pop(_NAME, None)
        else:
            directives.register_directive(_NAME, before)
