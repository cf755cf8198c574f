"""A report as Markdown (CommonMark with tables): whatever a run holds reads as that text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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

_MARKUP = re.compile(r"([\\`*_\[\]<>|~&!@$]|:(?=/))")
_START = re.compile(r"^([-+=#]|\d+(?=[.)]))")


def markdown(blocks: Sequence[Block]) -> str:
    """Return the Markdown. Folds stand open under a bold line, plots link to the files beside the report."""
    return "\n\n".join("\n".join(_lines(block)) for block in flat(blocks)) + "\n"


def escaped(text: str) -> str:
    """Return text that any CommonMark reader shows as exactly that text."""
    text = _MARKUP.sub(r"\\\1", text)
    return _START.sub(lambda found: _start(found.group(1)), text).replace("www.", "www\\.")


def _start(found: str) -> str:
    return f"{found}\\" if found.isdigit() else f"\\{found}"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f"{'#' * min(6, block.level)} {escaped(block.text)}"
        case Banner():
            yield f"> **{escaped(block.text)}**"
        case Paragraph():
            yield escaped(block.text)
        case Items():
            yield from (f"- {escaped(text)}" for text in block.texts)
        case Code():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
            yield from (fence, block.text, fence)
        case Figure():
            yield f"![{escaped(block.caption)}]({block.file})"
        case Fold():
            yield f"**{escaped(block.summary)}**"
            for inside in block.inside:
                yield ""
                yield from _lines(inside)
        case Grid():
            yield from _grid(block)


def _grid(grid: Grid) -> Iterator[str]:
    if grid.caption:
        yield from (f"*{escaped(grid.caption)}*", "")
    head = grid.head or ("",) * len(grid.rows[0])
    yield _row(head)
    yield _row(("---",) * len(head), plain=True)
    for row in grid.rows:
        yield _row(row)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else escaped(cell) for cell in cells) + " |"
