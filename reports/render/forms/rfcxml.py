"""A report as one RFCXML version 3 section (RFC 7991), to be included in an Internet-Draft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

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

_TABLE_COLUMNS = 66  # what a table may take in the text form of an RFC, indented by three
_CODE_COLUMNS = 69
_NO_NAME = re.compile(r"[^A-Za-z0-9-]+")


def rfcxml(blocks: Sequence[Block], run_id: str) -> str:
    """Return the section as XML text. Anchors begin with the run's id, so sections of several runs fit."""
    maker = _Maker(prefix=f"run-{_NO_NAME.sub('-', run_id)}")
    for block in flat(blocks):
        maker.add(block)
    Xml.indent(maker.root, space=" ")
    return Xml.tostring(maker.root, encoding="unicode") + "\n"


class _Maker:
    """Builds the tree; `open` holds the sections that are not closed, the outermost first."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.count = 0
        self.root = Xml.Element("section", {"anchor": prefix})
        self.open: list[tuple[int, Xml.Element]] = [(1, self.root)]

    def add(self, block: Block) -> None:
        """Add one block to the section that is open."""
        parent = self.open[-1][1]
        match block:
            case Heading(level=1):
                _text(Xml.SubElement(self.root, "name"), block.text)
            case Heading():
                while self.open[-1][0] >= block.level:
                    self.open.pop()
                section = Xml.SubElement(self.open[-1][1], "section", {"anchor": self.anchor()})
                _text(Xml.SubElement(section, "name"), block.text)
                self.open.append((block.level, section))
            case Banner():
                _text(Xml.SubElement(Xml.SubElement(parent, "t"), "strong"), block.text)
            case Paragraph():
                _text(Xml.SubElement(parent, "t"), block.text)
            case Items():
                items = Xml.SubElement(parent, "ul")
                for text in block.texts:
                    _text(Xml.SubElement(items, "li"), text)
            case Code():
                code = Xml.SubElement(parent, "sourcecode")
                code.text = "\n" + ascii_only(_broken(block.text)) + "\n"
            case Fold():
                _text(Xml.SubElement(parent, "t"), f"Left out of this form: {block.summary}.")
            case Figure():
                pass  # the table beside it holds its numbers
            case Grid():
                self.grid(block)

    def anchor(self) -> str:
        """Return an anchor that no other element has."""
        self.count += 1
        return f"{self.prefix}-{self.count}"

    def grid(self, grid: Grid) -> None:
        """Add a table, or a list of entries where the text form has no room for the table."""
        parent = self.open[-1][1]
        if not grid.head or _needs(grid) > _TABLE_COLUMNS:
            if grid.caption:
                _text(Xml.SubElement(parent, "t"), grid.caption + ":")
            outer = Xml.SubElement(parent, "dl", {"newline": "true" if grid.head else "false"})
            for row in grid.rows:
                _text(Xml.SubElement(outer, "dt"), row[0])
                _entry(Xml.SubElement(outer, "dd"), grid.head, row)
            return
        table = Xml.SubElement(parent, "table", {"anchor": self.anchor()})
        if grid.caption:
            _text(Xml.SubElement(table, "name"), grid.caption)
        head = Xml.SubElement(Xml.SubElement(table, "thead"), "tr")
        for name in grid.head:
            _text(Xml.SubElement(head, "th"), name)
        body = Xml.SubElement(table, "tbody")
        for row in grid.rows:
            line = Xml.SubElement(body, "tr")
            for cell in row:
                _text(Xml.SubElement(line, "td"), cell)


def _entry(parent: Xml.Element, head: Sequence[str], row: Sequence[str]) -> None:
    if not head:
        _text(parent, " ".join(row[1:]) or "-")
        return
    parts = [f"{name}: {value}" for name, value in zip(head[1:], row[1:], strict=True) if value != "—"]
    _text(parent, "; ".join(parts) or "-")


def _needs(grid: Grid) -> int:
    """Return the columns that the table takes when each cell is broken at its spaces."""
    columns = zip(*(grid.head, *grid.rows), strict=True)
    return sum(max(len(word) for cell in column for word in cell.split() or [""]) + 3 for column in columns)


def _broken(code: str) -> str:
    """Break lines that the text form would cut, as a shell reads them."""
    lines: list[str] = []
    for line in code.splitlines():
        rest = line
        while len(rest) > _CODE_COLUMNS and " " in rest[4 : _CODE_COLUMNS - 2]:
            at = rest.rindex(" ", 4, _CODE_COLUMNS - 2)
            lines.append(rest[:at] + " \\")
            rest = "    " + rest[at + 1 :]
        lines.append(rest)
    return "\n".join(lines)


def _text(element: Xml.Element, text: str) -> None:
    element.text = ascii_only(text)
