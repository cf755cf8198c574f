"""A report as reStructuredText: whatever a run holds reads as that text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from docutils.utils import column_width

from bmwg.reports.render import blocks
from bmwg.reports.render.text import NONE

ROLES = (
    "command",
    "type-measured",
    "type-at-floor",
    "type-at-ceiling",
    "type-tester-limited",
    "type-unstable",
    "type-invalid",
    "type-not-assessed",
)
_MARKUP = re.compile(r"([\\*`|_:<@\[])")
_ENUMERATOR = re.compile(r"^(\w+)([.)])")
_UNDERLINE = {2: "=", 3: "-"}


def restructured(page: Sequence[blocks.Block]) -> str:
    """Return the reStructuredText."""
    head, body = "\n".join(_lines(page[:1])), "\n".join(_lines(page[1:]))
    roles = "".join(f"\n.. role:: {name}\n" for name in ROLES if f":{name}:`" in body)
    return f"{head}{roles}\n{body}\n"


def esc(text: str) -> str:
    """Return text as reStructuredText that reads as exactly that text, whatever it holds."""
    if text == NONE:
        return text
    head = "" if text[:1].isalnum() or text[:1] in "\\*`|_:<@[" else "\\"
    text = head + _MARKUP.sub(r"\\\1", text)
    return _ENUMERATOR.sub(r"\1\\\2", text)


def _inline(text: str) -> str:
    made = ""
    for part in blocks.parts(text):
        if part.role:
            made += f":{part.role}:`{esc(part.text)}`"
        elif part.target:
            made += f"`{esc(part.text)} <{part.target}>`__"
        else:
            made += (" " if part.text.startswith(" ") else "") + esc(part.text.lstrip())
    return made


def _lines(within: Iterable[blocks.Block]) -> Iterator[str]:
    for block in within:
        yield from _block(block)
        yield ""


def _block(block: blocks.Block) -> Iterator[str]:
    match block:
        case blocks.Heading():
            text = esc(block.text)
            line = _UNDERLINE.get(block.level, "=") * column_width(text)
            yield from (line, text, line) if block.level == 1 else (text, line)
        case blocks.Paragraph():
            yield from (".. class:: lead", "") if block.lead else ()
            yield _inline(block.text)
        case blocks.Banner():
            yield from (f".. container:: banner banner-{block.kind}", "", f"   {_inline(block.text)}")
        case blocks.Items():
            yield from (f"- {_inline(text)}" for text in block.texts)
        case blocks.Code():
            yield from ("::", "", *_indented(block.text.splitlines()))
        case blocks.Figure():
            yield from (f".. figure:: {block.file}", f"   :alt: {esc(block.title)}", "")
            yield f"   {_inline(block.caption)}"
        case blocks.Group():
            yield from (f".. container:: {block.name}", "", *_indented(_lines(block.inside)))
        case blocks.Repeat():
            yield from _lines(block.inside)
        case blocks.Fold():
            yield from (".. container:: fold", "", "   .. class:: fold-summary", "")
            yield from (f"   {_inline(block.summary)}", "", *_indented(_lines(block.inside)))
        case blocks.Contents():
            yield from (".. contents:: Contents", "   :depth: 1", "   :backlinks: none")
        case blocks.Grid():
            yield from _grid(block)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"   {line}" if line else "" for line in lines)


def _grid(grid: blocks.Grid) -> Iterator[str]:
    yield f".. list-table:: {esc(grid.caption) if grid.caption else ''}".rstrip()
    yield "   :header-rows: 1" if grid.head else "   :stub-columns: 1"
    yield from ("   :widths: auto", f"   :class: {'cards' if grid.head else 'pairs'}", "")
    for row in (grid.head, *grid.rows) if grid.head else grid.rows:
        yield from (f"   {' ' if number else '*'} - {_inline(cell)}" for number, cell in enumerate(row))
