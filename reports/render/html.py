"""One self-contained page by docutils: style and plots inside, no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from docutils import nodes
from docutils.core import publish_string
from docutils.writers import html5_polyglot

from bmwg.methodology.errors import ToolkitBug
from bmwg.reports.render.drawing import Plot
from bmwg.reports.render.quick_tables import quick_tables
from bmwg.reports.render.sorting import sorting
from bmwg.reports.render.text import NONE

# a browser fetches nothing and runs nothing, whatever a page holds
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\" />\n"
)
SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "embed_stylesheet": True,
    "stylesheet_path": "",
    "stylesheet": "",
    "output_encoding": "utf-8",
    "input_encoding": "unicode",
    "report_level": 2,
    "halt_level": 2,
    "traceback": True,  # an error is raised, not printed
    "warning_stream": False,
    "datestamp": None,
    "generator": False,
    "source_link": False,
    "xml_declaration": False,
    "language_code": "en",
    "smart_quotes": False,
    "toc_backlinks": False,
    "sectsubtitle_xform": False,
    "doctitle_xform": True,
    "initial_header_level": 2,
    "math_output": "MathML",
    "line_length_limit": 1_000_000,
}


def html(text: str, plots: Mapping[str, Plot]) -> str:
    """Return the page. Raises ToolkitBug REPORT-01 when our own text is not sound reStructuredText."""
    try:
        with quick_tables():
            made = publish_string(text, writer=_writer(plots), settings_overrides=SETTINGS)
    except Exception as error:  # docutils raises SystemMessage and others; the cause is kept
        raise ToolkitBug(
            "REPORT-01", "report: the page could not be made from its text", found=str(error)
        ) from error
    return made if isinstance(made, str) else made.decode("utf-8")


def _texts(table: nodes.table, part: type[nodes.Element]) -> list[list[str]]:
    """Return the texts of a table's head or body, row by row: a cell of ours holds no table of its own."""
    groups = [group for group in table.children if isinstance(group, nodes.tgroup)]
    rows = [
        row
        for group in groups
        for found in group.children
        if isinstance(found, part)
        for row in found.children
    ]
    return [[entry.astext() for entry in row.children] for row in rows]


def _writer(plots: Mapping[str, Plot]) -> html5_polyglot.Writer:
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")

    class Translator(html5_polyglot.HTMLTranslator):
        """Puts our plots, tables and folds in place of docutils' own."""

        def __init__(self, document: nodes.document) -> None:
            super().__init__(document)
            self.head_names: list[str] = []
            self.meta.append(_POLICY)
            self.tables = 0
            self.sortable = False
            self.sorted_rows: Iterator[tuple[str, str]] = iter(())
            self.stylesheet = [f"<style>\n{style}</style>\n"]
            self.meta.append('<meta name="color-scheme" content="light dark" />\n')

        def visit_image(self, node: nodes.image) -> None:
            name = str(node["uri"]).rsplit("/", 1)[-1].removesuffix(".svg")
            self.body.append(plots[name].svg)

        def depart_image(self, node: nodes.image) -> None:
            """Nothing is open."""

        def visit_table(self, node: nodes.table) -> None:
            head, body = _texts(node, nodes.thead), _texts(node, nodes.tbody)
            self.head_names = [name for row in head for name in row]
            caption = next(
                (f": {found.astext()}" for found in node.children if isinstance(found, nodes.title)), ""
            )
            self.tables += 1
            self.sorted_rows = iter(())
            made = sorting(self.head_names, body, f"t{self.tables}")
            if made is not None:
                self.sorted_rows = iter(made.rows)
                count = len(self.head_names)
                self.body.append(f'<div class="sortable" style="--n:{count}">\n{made.controls}')
            self.sortable = made is not None
            label = f"Table {self.tables}{caption}"  # a landmark's name has to be its own
            self.body.append(
                f'<div class="wide" role="region" tabindex="0" aria-label="{self.attval(label)}">\n'
            )
            super().visit_table(node)

        def depart_table(self, node: nodes.table) -> None:
            super().depart_table(node)
            self.body.append("</div>\n</div>\n" if self.sortable else "</div>\n")

        def visit_row(self, node: nodes.row) -> None:
            super().visit_row(node)
            if isinstance(node.parent, nodes.tbody) and (marks := next(self.sorted_rows, None)):
                classes, style = marks
                self._mark("<tr", (f'class="{classes}" ' if classes else "") + f'style="{style}"')

        def visit_colgroup(self, node: nodes.Element) -> None:
            """Column widths are the browser's affair."""

        def visit_entry(self, node: nodes.entry) -> None:
            row: Any = node.parent
            column: int = row.column
            super().visit_entry(node)
            if isinstance(row.parent, nodes.thead):
                self._mark("<th", 'scope="col"')
            elif self.head_names:
                self._mark("<td", f'data-label="{self.attval(self.head_names[column])}"')
                if node.astext() == NONE:
                    self._mark("<td", 'class="none"')
            else:
                self._mark("<th", 'scope="row"')

        def _mark(self, tag: str, attribute: str) -> None:
            self.body[-1] = self.body[-1].replace(tag, f"{tag} {attribute}", 1)

        def visit_container(self, node: nodes.container) -> None:
            if "fold" in node["classes"]:
                self.body.append("<details>\n")
            else:
                super().visit_container(node)

        def depart_container(self, node: nodes.container) -> None:
            if "fold" in node["classes"]:
                self.body.append("</details>\n")
            else:
                super().depart_container(node)

        def visit_paragraph(self, node: nodes.paragraph) -> None:
            if "fold-summary" in node["classes"]:
                self.body.append("<summary>")
            else:
                super().visit_paragraph(node)

        def depart_paragraph(self, node: nodes.paragraph) -> None:
            if "fold-summary" in node["classes"]:
                self.body.append("</summary>\n")
            else:
                super().depart_paragraph(node)

    writer = html5_polyglot.Writer()
    writer.translator_class = Translator
    return writer
