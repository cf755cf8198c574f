"""The page's reStructuredText as plain blocks, for the forms beside HTML: mail, Markdown, RFCXML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from docutils.core import publish_doctree

from bmwg.methodology.errors import ToolkitBug
from bmwg.reports.render.html import SETTINGS
from bmwg.reports.render.quick_tables import quick_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A title; level 1 is the document's."""

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph; `banner` for what a reader has to know before any number."""

    text: str
    banner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table; `head` is empty where the first column names the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines that are kept as they are."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What a reader opens on demand."""

    summary: str
    inside: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot, by its file beside the report; its numbers stand in a table as well."""

    file: str
    caption: str


Block = Heading | Paragraph | Grid | Code | Fold | Figure


def blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a page in their order. Raises ToolkitBug REPORT-01 when it is not sound."""
    try:
        with quick_tables():
            document = publish_doctree(text, settings_overrides=SETTINGS)
    except Exception as error:  # docutils raises SystemMessage and others; the cause is kept
        raise ToolkitBug(
            "REPORT-01", "report: the blocks could not be made from its text", found=str(error)
        ) from error
    return tuple(_children(document, 1))


def _children(node: nodes.Element, level: int) -> Iterator[Block]:
    for child in node.children:
        if isinstance(child, nodes.Element):
            yield from _block(child, level)


def _block(node: nodes.Element, level: int) -> Iterator[Block]:
    match node:
        case nodes.title():
            yield Heading(level=level, text=_text(node))
        case nodes.topic() if "contents" in node["classes"]:
            return  # links within the page; the other forms have titles only
        case nodes.section():
            yield from _children(node, level + 1)
        case nodes.paragraph():
            yield Paragraph(text=_text(node))
        case nodes.table():
            yield _grid(node)
        case nodes.literal_block():
            yield Code(text=node.astext())
        case nodes.figure():
            image = next(iter(node.findall(nodes.image)))
            yield Figure(file=str(image["uri"]), caption=" ".join(map(_text, node.findall(nodes.caption))))
        case nodes.container() if "fold" in node["classes"]:
            first, *rest = [child for child in node.children if isinstance(child, nodes.Element)]
            inside = tuple(block for child in rest for block in _block(child, level))
            yield Fold(summary=_text(first), inside=inside)
        case nodes.container() if "banner" in node["classes"]:
            yield Paragraph(text=_text(node), banner=True)
        case nodes.bullet_list() | nodes.list_item() | nodes.container() | nodes.definition_list():
            yield from _children(node, level)
        case _:
            if node.astext().strip() and not isinstance(node, nodes.comment):
                yield Paragraph(text=_text(node))


def _grid(node: nodes.table) -> Grid:
    caption = next((_text(title) for title in node.findall(nodes.title)), "")
    heads = [row for head in node.findall(nodes.thead) for row in head.findall(nodes.row)]
    bodies = [row for body in node.findall(nodes.tbody) for row in body.findall(nodes.row)]
    return Grid(
        caption=caption,
        head=_cells(heads[0]) if heads else (),
        rows=tuple(_cells(row) for row in bodies),
    )


def _cells(row: nodes.row) -> tuple[str, ...]:
    return tuple(_text(entry) for entry in row.findall(nodes.entry))


def _text(node: nodes.Element) -> str:
    return " ".join(part for part in node.astext().replace("\n", " ").split(" ") if part)
