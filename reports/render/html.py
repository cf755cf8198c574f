"""One self-contained page by docutils: style and plots inside, no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from docutils import nodes
from docutils.core import publish_string
from docutils.writers import html5_polyglot

from bmwg.methodology.errors import ToolkitBug
from bmwg.reports.render.plots import Plot

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "embed_stylesheet": True,
    "stylesheet_path": "",
    "stylesheet": "",
    "output_encoding": "unicode",
    "input_encoding": "unicode",
    "report_level": 2,
    "halt_level": 2,
    "traceback": False,
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
        made = publish_string(text, writer=_writer(plots), settings_overrides=_SETTINGS)
    except Exception as error:  # docutils raises SystemMessage and others; the cause is kept
        raise ToolkitBug(
            "REPORT-01", "report: the page could not be made from its text", found=str(error)
        ) from error
    return made if isinstance(made, str) else made.decode("utf-8")


def _writer(plots: Mapping[str, Plot]) -> html5_polyglot.Writer:
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")

    class Translator(html5_polyglot.HTMLTranslator):
        """Puts our plots, tables and folds in place of docutils' own."""

        def __init__(self, document: nodes.document) -> None:
            super().__init__(document)
            self.head_names: list[str] = []
            self.stylesheet = [f"<style>\n{style}</style>\n"]
            self.head.insert(0, '<meta name="color-scheme" content="light dark" />\n')

        def visit_image(self, node: nodes.image) -> None:
            name = str(node["uri"]).rsplit("/", 1)[-1].removesuffix(".svg")
            self.body.append(plots[name].svg)

        def depart_image(self, node: nodes.image) -> None:
            """Nothing is open."""

        def visit_table(self, node: nodes.table) -> None:
            self.head_names = [entry.astext() for head in node.findall(nodes.thead) for entry in head[0]]
            label = next((caption.astext() for caption in node.findall(nodes.title)), "Table")
            attributes = {"role": "region", "tabindex": "0", "aria-label": label}
            self.body.append(self.starttag(nodes.container(), "div", CLASS="wide", **attributes))
            super().visit_table(node)

        def depart_table(self, node: nodes.table) -> None:
            super().depart_table(node)
            self.body.append("</div>\n")

        def visit_colgroup(self, node: nodes.Element) -> None:
            """Column widths are the browser's affair."""

        def visit_entry(self, node: nodes.entry) -> None:
            column = node.parent.column
            super().visit_entry(node)
            in_head = isinstance(node.parent.parent, nodes.thead)
            name = self.head_names[column] if column < len(self.head_names) else ""
            if in_head:
                self.body[-1] = self.body[-1].replace("<th", '<th scope="col"', 1)
            elif name:
                label = self.attval(name)
                self.body[-1] = self.body[-1].replace("<td", f'<td data-label="{label}"', 1)

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
