"""One self-contained page by docutils: style and plots inside, no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from importlib import resources
from itertools import count
from typing import Any

from docutils import nodes
from docutils.core import Publisher, publish_from_doctree
from docutils.readers import doctree
from docutils.utils import new_document
from docutils.writers import html5_polyglot

from bmwg.reports.render import blocks
from bmwg.reports.render.plots.drawing import Plot
from bmwg.reports.render.sections.sorting import sorting
from bmwg.reports.render.text import NONE

# a browser fetches nothing and runs nothing, whatever a page holds
_META = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\" />\n",
    '<meta name="color-scheme" content="light dark" />\n',
)
_SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "stylesheet_path": "",
    "report_level": 2,
    "halt_level": 2,
    "traceback": True,  # an error is raised, not printed
    "datestamp": None,
    "generator": False,
    "source_link": False,
    "xml_declaration": False,
    "toc_backlinks": False,
    "initial_header_level": 2,
}
_ATTRIBUTES = "html"  # of a node: attributes of its element that docutils has no names for


def html(page: Sequence[blocks.Block], plots: Mapping[str, Plot]) -> str:
    """Return the page."""
    writer = html5_polyglot.Writer()
    writer.translator_class = _Translator
    document = _Tree(plots).document(page)
    made: bytes = publish_from_doctree(document, writer=writer, settings=copy(_settings()))
    return made.decode("utf-8")


@cache
def _settings() -> Any:
    """Return what docutils is told for every page; to work it out anew takes as long as a short page."""
    return Publisher(reader=doctree.Reader(), writer=html5_polyglot.Writer()).get_settings(**_SETTINGS)


@cache
def _style() -> str:
    return resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")


class _Translator(html5_polyglot.HTMLTranslator):
    """Adds our style and attributes."""

    def __init__(self, document: nodes.document) -> None:
        super().__init__(document)
        self.stylesheet = [f"<style>\n{_style()}</style>\n"]
        self.meta += _META
        self.supported_block_tags = {"details", "summary"}

    def starttag(
        self, node: Any, tagname: str, suffix: str = "\n", empty: bool = False, **attributes: Any
    ) -> str:
        """Return the tag with the attributes of the node."""
        return super().starttag(node, tagname, suffix, empty, **attributes, **node.get(_ATTRIBUTES, {}))


class _Tree:
    """Makes the tree that docutils writes; `numbers` are those of the tables."""

    def __init__(self, plots: Mapping[str, Plot]) -> None:
        self.plots = plots
        self.numbers = count(1)

    def document(self, page: Iterable[blocks.Block]) -> nodes.document:
        """Return the whole tree; a heading opens a section in the one above it."""
        document = new_document("", copy(_settings()))
        within: list[nodes.Element] = [document]
        contents: list[tuple[nodes.topic, blocks.Contents]] = []
        for block in page:
            match block:
                case blocks.Heading():
                    del within[max(1, block.level - 1) :]
                    if block.level > 1:
                        within[-1] += (section := nodes.section())
                        within.append(section)
                    place: Any = within[-1]
                    place += nodes.title("", block.text)
                    place["names"].append(nodes.fully_normalize_name(block.text))
                    document.note_implicit_target(place, place)
                    document.setdefault("title", block.text)
                case blocks.Contents():
                    heading = nodes.title("", "Contents")
                    topic = nodes.topic("", heading, classes=["contents"], names=["contents"])
                    contents.append((topic, block))
                    within[-1] += topic
                case _:
                    within[-1] += self.node(block)
        for topic, block in contents:
            document.note_implicit_target(topic, topic)
            topic.append(nodes.bullet_list("", *_links(document, block.links)))
        return document

    def node(self, block: blocks.Block) -> nodes.Element:
        """Return the node of a block that opens no section."""
        match block:
            case blocks.Paragraph():
                return _paragraph(block.text, *(["lead"] if block.lead else []))
            case blocks.Banner():
                return _container(_paragraph(block.text), classes=["banner", f"banner-{block.kind}"])
            case blocks.Items():
                return nodes.bullet_list("", *(nodes.list_item("", _paragraph(text)) for text in block.texts))
            case blocks.Code():
                return nodes.literal_block(block.text, block.text)
            case blocks.Figure():
                name = block.file.rsplit("/", 1)[-1].removesuffix(".svg")
                caption = nodes.caption("", "", *_inline(block.caption))
                return nodes.figure("", nodes.raw("", self.plots[name].svg, format="html"), caption)
            case blocks.Group():
                return _container(*map(self.node, block.inside), classes=[block.name])
            case blocks.Fold() | blocks.Repeat():
                summary = _container(*_inline(block.summary), classes=["summary"])
                return _container(summary, *map(self.node, block.inside), classes=["details"])
            case blocks.Grid():
                return self.table(block)
            case _:
                raise TypeError(f"{block} stands within another block")

    def table(self, grid: blocks.Grid) -> nodes.Element:
        """Return a table in a region that can be scrolled; a long one with what sorts and filters it."""
        number = next(self.numbers)
        width = len(grid.head or grid.rows[0])
        group = nodes.tgroup(cols=width)
        group += [nodes.colspec(colwidth=1, stub=not grid.head and not column) for column in range(width)]
        if grid.head:
            head = [_entry(name, html={"scope": "col"}) for name in grid.head]
            group += nodes.thead("", nodes.row("", *head))
        body = [_row(grid, row) for row in grid.rows]
        group += nodes.tbody("", *body)
        title = [nodes.title("", grid.caption)] if grid.caption else []
        looks = ["colwidths-auto", "cards" if grid.head else "pairs"]
        label = f"Table {number}{f': {grid.caption}' if grid.caption else ''}"  # a landmark's own name
        region = _container(nodes.table("", *title, group, classes=looks), classes=["wide"])
        region[_ATTRIBUTES] = {"role": "region", "tabindex": "0", "aria-label": label}
        made = sorting(grid.head, grid.rows, f"t{number}")
        if made is None:
            return region
        for row, (classes, style) in zip(body, made.rows, strict=True):
            row["classes"] += classes.split()
            row[_ATTRIBUTES] = {"style": style}
        controls = nodes.raw("", made.controls, format="html")
        return _container(controls, region, classes=["sortable"], html={"style": f"--n:{width}"})


def _links(document: nodes.document, beside: Sequence[tuple[str, str]]) -> Iterator[nodes.list_item]:
    for section in (child for child in document.children if isinstance(child, nodes.section)):
        to = nodes.reference("", section[0].astext(), refid=section["ids"][0], internal=True)
        yield nodes.list_item("", nodes.paragraph("", "", to))
    for name, file in beside:
        to = nodes.reference("", f"{name} (a page of its own)", refuri=file)
        yield nodes.list_item("", nodes.paragraph("", "", to))


def _container(*children: nodes.Node, **attributes: Any) -> nodes.container:
    return nodes.container("", *children, **attributes)


def _paragraph(text: str, *classes: str) -> nodes.paragraph:
    return nodes.paragraph("", "", *_inline(text), classes=list(classes))


def _inline(text: str) -> Iterator[nodes.Node]:
    for part in blocks.parts(text):
        if part.role:
            yield nodes.inline("", part.text, classes=[part.role])
        elif part.target:
            yield nodes.reference("", part.text, refuri=part.target)
        else:
            yield nodes.Text(part.text)


def _row(grid: blocks.Grid, cells: Sequence[str]) -> nodes.row:
    if not grid.head:
        return nodes.row("", _entry(cells[0], html={"scope": "row"}), *map(_entry, cells[1:]))
    labels = ({"data-label": name} for name in grid.head)
    return nodes.row("", *(_entry(cell, html=label) for cell, label in zip(cells, labels, strict=True)))


def _entry(text: str, **attributes: Any) -> nodes.entry:
    classes = ["none"] if text == NONE and "data-label" in attributes.get("html", {}) else []
    return nodes.entry("", _paragraph(text), classes=classes, **attributes)
