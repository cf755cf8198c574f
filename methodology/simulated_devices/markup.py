"""A page of headings, paragraphs and tables, as Markdown, reStructuredText, RFCXML v3 (RFC 7991) or text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Starts a section."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Plain text, no markup."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A titled table; every row has as many cells as there are columns, all plain text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Refuse a row that does not fit."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row {row}: expected {len(self.columns)} cells, found {len(row)}")


Block = Heading | Paragraph | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A title and what follows it."""

    title: str
    blocks: tuple[Block, ...]


def markdown(page: Page) -> str:
    """Return the page as Markdown with pipe tables."""
    parts = [f"# {_md(page.title)}"]
    for block in page.blocks:
        match block:
            case Heading():
                parts.append(f"## {_md(block.text)}")
            case Paragraph():
                parts.append(_md(block.text))
            case Table():
                lines = [block.columns, ("---",) * len(block.columns), *block.rows]
                cells = [" | ".join(map(_md, line) if line[0] != "---" else line) for line in lines]
                parts.append(f"{_md(block.title)}:")
                parts.append("\n".join(f"| {line} |" for line in cells))
    return "\n\n".join(parts) + "\n"


def restructured(page: Page) -> str:
    """Return the page as reStructuredText with list tables."""
    parts = [_underlined(page.title, "=")]
    for block in page.blocks:
        match block:
            case Heading():
                parts.append(_underlined(block.text, "-"))
            case Paragraph():
                parts.append(_rst(block.text))
            case Table():
                lines = [f".. list-table:: {_rst(block.title)}", "   :header-rows: 1", ""]
                for row in (block.columns, *block.rows):
                    lines.extend(
                        f"   {'*' if not index else ' '} - {_rst(cell)}" for index, cell in enumerate(row)
                    )
                parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def rfcxml(page: Page) -> str:
    """Return the page as an Internet-Draft skeleton in RFCXML v3 that xml2rfc accepts."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<rfc xmlns:xi="http://www.w3.org/2001/XInclude" version="3" category="info" ipr="trust200902"'
        ' submissionType="IETF" docName="draft-methods-00" xml:lang="en" tocInclude="false">',
        "<front>",
        f"<title>{escape(page.title)}</title>",
        '<seriesInfo name="Internet-Draft" value="draft-methods-00"/>',
        '<author fullname="BMWG toolkit"><organization>BMWG toolkit</organization></author>',
        "<abstract><t>Tables computed by bmwg validate-method.</t></abstract>",
        "</front>",
        "<middle>",
    ]
    opened = False
    for number, block in enumerate(page.blocks):
        if isinstance(block, Heading) or not opened:
            lines.extend(["</section>"] if opened else [])
            name = block.text if isinstance(block, Heading) else page.title
            lines.append(f"<section><name>{escape(name)}</name>")
            opened = True
        match block:
            case Paragraph():
                lines.append(f"<t>{escape(block.text)}</t>")
            case Table():
                lines.append(
                    f"<table anchor={quoteattr(f'methods-{number}')}><name>{escape(block.title)}</name>"
                )
                lines.append(f"<thead>{_xml_row(block.columns, 'th')}</thead>")
                lines.append("<tbody>")
                lines.extend(_xml_row(row, "td") for row in block.rows)
                lines.append("</tbody></table>")
            case Heading():
                pass
    lines.extend(["</section>"] if opened else [])
    lines.extend(["</middle>", "<back/>", "</rfc>"])
    return "\n".join(lines) + "\n"


def plain(page: Page) -> str:
    """Return the page as text in columns, for a mail or a terminal; a paragraph is one line."""
    parts = [f"{page.title}\n{'=' * len(page.title)}"]
    for block in page.blocks:
        match block:
            case Heading():
                parts.append(f"{block.text}\n{'-' * len(block.text)}")
            case Paragraph():
                parts.append(block.text)
            case Table():
                lines = (block.columns, *block.rows)
                widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
                parts.append(f"{block.title}:")
                parts.append("\n".join(_columns(line, widths) for line in lines))
    return "\n\n".join(parts) + "\n"


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


FORMATS: dict[str, Callable[[Page], str]] = {
    "md": markdown,
    "rst": restructured,
    "txt": plain,
    "xml": rfcxml,
}


def _md(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]#])", r"\\\1", text)


def _rst(text: str) -> str:
    return re.sub(r"([\\*`|_])", r"\\\1", text) or "\\ "


def _underlined(text: str, mark: str) -> str:
    escaped = _rst(text)
    return f"{escaped}\n{mark * len(escaped)}"


def _xml_row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
