"""How every plot is drawn: the same on every run, and coloured by the page that shows it.

Colours are written as marks and then replaced by CSS variables with a fallback: the page's style decides.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from bmwg.reports.render.plots.settle import settle
from bmwg.reports.render.text import plain

INK, GRID = "#010203", "#010204"
SERIES = ("#010210", "#010211", "#010212", "#010213", "#010214", "#010215")
_VARIABLES = {
    INK: "var(--ink, #1b2430)",
    GRID: "var(--line, #c9d1da)",
    SERIES[0]: "var(--s0, #0b62a4)",
    SERIES[1]: "var(--s1, #b54708)",
    SERIES[2]: "var(--s2, #12805c)",
    SERIES[3]: "var(--s3, #8a3ffc)",
    SERIES[4]: "var(--s4, #a8195b)",
    SERIES[5]: "var(--s5, #5c6b00)",
}
MARKERS = "osD^vP"
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
TRANSLATED = "-translated"  # ends the names of figures of translated machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot: its file name, an accessible title and description, and the SVG element."""

    name: str
    title: str
    description: str
    svg: str


def draw_plot(
    name: str, title: str, description: str, size: tuple[float, float], draw: Callable[[Any], None]
) -> Plot:
    """Draw one plot by a function that gets the figure; `size` is in inches."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Mapping[str, Any] = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.useoffset": False,
        "text.parse_math": False,
        "lines.linewidth": 1.6,
    }
    settings: Any = {**mpl.rcParamsDefault, **style}
    del settings["backend"]  # the canvas is named below; to set it would import all of pyplot
    with mpl.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        _write_plainly(figure)
        settle(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Plot(
        name=name,
        title=title,
        description=description,
        svg=_inline(buffer.getvalue(), name, title, description),
    )


def _write_plainly(figure: Any) -> None:
    """Give the numbers of logarithmic axes that nobody named as digits: the library's own are TeX's words."""
    from matplotlib.ticker import LogFormatter, NullFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set_major_formatter(lambda value, _: f"{value:,g}")
            if isinstance(axis.get_minor_formatter(), LogFormatter):
                axis.set_minor_formatter(NullFormatter())


def told_of(plot: Plot, words: str) -> Plot:
    """Return a plot with words after its title, which goes with the picture wherever it is shown."""
    title = f"{plot.title} ({words})"
    mark = '<title id="{}-t">{}</title>'
    svg = plot.svg.replace(
        mark.format(plot.name, escape(plain(plot.title))), mark.format(plot.name, escape(plain(title))), 1
    )
    return replace(plot, title=title, svg=svg)


def alone(plot: Plot, words: str = "") -> str:
    """Return the SVG of a file of its own: on white, with words below that the plot's page says above it."""
    svg = plot.svg.replace('class="plot"', 'class="plot" style="background: #ffffff"', 1)
    box = _BOX.search(svg)
    if not words or box is None:
        return svg
    height = float(box[2])
    style = "font: bold 9px sans-serif; fill: #a8195b"
    said = f'<text x="4" y="{height + 11:g}" style="{style}">{escape(plain(words))}</text>'
    svg = svg.replace(box[0], f'viewBox="0 0 {box[1]} {height + 16:g}"', 1)
    return f"{svg.rstrip().removesuffix('</svg>')}{said}</svg>\n"


def renamed(plot: Plot, name: str) -> Plot:
    """Return a plot under another name, with which the identifiers of its SVG begin."""
    svg = re.sub(
        rf'(id="|url\(#|href="#|labelledby="| ){re.escape(plot.name)}-(?=[td\d])', rf"\g<1>{name}-", plot.svg
    )
    return replace(plot, name=name, svg=svg)


def _inline(svg: str, name: str, title: str, description: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    # by their turn: made from a layout's last digits they would differ from drawing to drawing
    used = list(dict.fromkeys(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg)))
    ids = {found: f"{name}-{number}" for number, found in enumerate(used, start=1)}
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{ids[m[1]]}"' if m[1] in ids else "", svg)
    svg = re.sub(r'(url\(#|xlink:href="#)([^)"]+)', lambda m: f"{m[1]}{ids[m[2]]}", svg)
    for mark, variable in _VARIABLES.items():
        svg = svg.replace(mark, variable)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px sans-serif", svg)
    box = re.search(r'viewBox="([^"]+)"', svg)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="plot" viewBox="{box[1] if box else "0 0 100 100"}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{escape(plain(title))}</title>'
        f'<desc id="{name}-d">{escape(plain(description))}</desc>'
    )
    return head + svg[svg.index(">") + 1 :].strip() + "\n"


def not_drawn(left: int, what: str) -> str:
    """Return how many of a kind the tables alone hold, to follow a sentence; empty where all are drawn."""
    return f" Further {what} in the tables only: {left}." if left else ""


def label(text: str, limit: int = 40, *, lines: int = 1) -> str:
    """Return a text that fits beside an axis, in so many lines; what is too long loses its middle.

    Labels of one figure often begin alike, so their ends tell them apart.
    """
    shown = textwrap.wrap(plain(text), limit) or [""]
    first, last = shown[: lines - 1], " ".join(shown[lines - 1 :])
    if len(last) > limit:
        last = f"{last[: limit // 2]}…{last[limit // 2 + 1 - limit :]}"
    return "\n".join([*first, last] if last else first)
