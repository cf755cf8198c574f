"""A report as plain text for a mailing list: ASCII, at most 72 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from bmwg.reports.render.blocks import (
    Banner,
    Block,
    Code,
    Figure,
    Fold,
    Grid,
    Heading,
    Items,
    Paragraph,
    flat,
)
from bmwg.reports.render.forms.ascii import ascii_only

COLUMNS = 72  # choice: what mailing lists and RFCs keep to
_GAP = "  "
_LEAST = 6  # columns that a wrapped cell needs


def mail_text(blocks: Sequence[Block]) -> str:
    """Return the text. Folds and plots are named with what they hold, and left to the other forms."""
    lines: list[str] = []
    for block in flat(blocks):
        lines += [*_lines(block), ""]
    text = "\n".join(line.rstrip() for line in lines)
    while "\n\n\n\n" in text:
        text = text.replace("\n\n\n\n", "\n\n\n")
    return text.strip("\n") + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            title = _wrapped(block.text)
            if block.level > 1:
                yield ""
            yield from title
            yield {1: "=", 2: "-"}.get(block.level, "~") * max(map(len, title))
        case Banner():
            yield from _wrapped(block.text, "*** ", "    ")
        case Paragraph():
            yield from _wrapped(block.text)
        case Items():
            for text in block.texts:
                yield from _wrapped(text, "- ", "  ")
        case Code():
            yield from (
                part
                for line in block.text.splitlines()
                for part in _wrapped(line, "    ", "        ") or [""]
            )
        case Fold():
            yield from _wrapped(f"[left out of this form: {block.summary}]")
        case Figure():
            yield from _wrapped(f"[plot {block.file}: {block.caption}]", "", " ")
        case Grid():
            yield from table_lines(block, COLUMNS)


def table_lines(grid: Grid, columns: int) -> Iterator[str]:
    """Yield a table within `columns`; one that needs more stands as one entry a row, each value named."""
    if grid.caption:
        yield from _wrapped(grid.caption + ":")
    head = [ascii_only(name) for name in grid.head]
    rows = [[ascii_only(cell) for cell in row] for row in grid.rows]
    widths = _widths([head, *rows] if head else rows, columns)
    if widths is None:
        for row in rows:
            yield from _entry(head, row)
        return
    if head:
        yield from _row(head, widths)
        yield _GAP.join("-" * width for width in widths)
    for row in rows:
        yield from _row(row, widths)


def _widths(rows: Sequence[Sequence[str]], columns: int) -> list[int] | None:
    """Return a width for each column: natural, or the widest column narrowed to its longest word."""
    natural = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    least = [
        max(_LEAST, *(len(word) for cell in column for word in cell.split() or [""]))
        for column in zip(*rows, strict=True)
    ]
    room = columns - len(_GAP) * (len(natural) - 1)
    widths = list(natural)
    while sum(widths) > room:
        able = [number for number, width in enumerate(widths) if width > least[number]]
        if not able:
            return None
        widths[max(able, key=lambda number: widths[number])] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    parts = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        yield _GAP.join(
            (part[number] if number < len(part) else "").ljust(width)
            for part, width in zip(parts, widths, strict=True)
        )


def _entry(head: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    yield from _wrapped(f"* {row[0]}", "", "  ")
    pairs: Iterable[tuple[str, str]] = zip(head[1:], row[1:], strict=True) if head else ()
    for name, value in pairs:
        if value != "-":
            yield from _wrapped(f"{name}: {value}", "    ", "        ")
    if not head:
        for value in row[1:]:
            yield from _wrapped(value, "    ", "    ")


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        ascii_only(text), COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
