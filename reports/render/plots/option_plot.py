"""The first figure: each option by networking model, with what is known of it, drawn as what it is.

A full bar is a plain number and nothing else is one. Behind each stands what the tester alone carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.render import searches
from bmwg.reports.render.facts import ENVELOPE, GLANCE_ROWS, LACKING, Facts, option, short_words
from bmwg.reports.render.plots.drawing import GRID, INK, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.plots.extent import Extent, Known, extent
from bmwg.reports.render.plots.option_panels import (
    beside,
    cpu_marks,
    draw_cpus,
    draw_latency,
    latency_marks,
)

NAME = "options"
_NAME_SIZE = 8  # of a row's name, which may have two lines
_WIDTH = 8.4  # inches, whichever panels there are: letters of one size on the page
_LEGEND_COLUMNS = 2
_HEIGHT = 0.6  # of a bar; the envelope behind fills its row
_CONFIRMED, _UNCONFIRMED = SERIES[0], SERIES[1]
_PALE, _BEHIND = 0.28, 0.45
_MARKS = ("D", "s", "^", "v")
_HATCHES = {_CONFIRMED: "/////", _UNCONFIRMED: "xxxxx"}  # told apart without colours as well
_LEGEND = {
    Known.NUMBER: "full bar: number",
    Known.INTERVAL: "wide interval: the number lies in the hatched part",
    Known.AT_LEAST: "pale bar with arrow: at least; the search or the tester ends there",
    Known.UNCONFIRMED: "unstable: trials contradict each other in the crossed part",
    Known.AT_MOST: "hatched from the left: less than",
}


def shown_rows(facts: Facts) -> tuple[Outcome, ...]:
    """Return the outcomes that get a row: every option that was tried; the wire where it is alone."""
    found = [outcome for outcome in facts.at_a_glance() if outcome.type is not OutcomeType.NOT_ASSESSED]
    return tuple(one for one in found if one.metric != ENVELOPE) or tuple(found)


def option_plot(facts: Facts) -> Plot | None:
    """Draw all options; None for a run that searched nothing."""
    every = shown_rows(facts)
    rows = every[:GLANCE_ROWS]
    if not rows:
        return None
    extents = [extent(facts, outcome) for outcome in rows]
    envelopes = [None if one.metric == ENVELOPE else facts.envelope_fps(one.cell) for one in rows]
    sizes = {outcome.cell.frame_octets for outcome in rows}

    further = facts.search_metrics(rows)[1:]
    besides = [beside(facts, outcome) for outcome in rows]
    models = [facts.model(outcome.cell) for outcome in rows]
    places, headings = _places(models)
    latency = any(one.latency_ns for one in besides)
    cpus = any(one.cpus is not None for one in besides)

    def draw(figure: Any) -> None:
        widths = [2.0, *([1.5] if latency else []), *([0.8] if cpus else [])]
        axes, *panels = figure.subplots(1, len(widths), sharey=True, squeeze=False, width_ratios=widths)[0]
        longest = max([*(end for one in extents for end in (one.low_fps, one.high_fps) if end), 1])
        longest = max([longest, *(fps for fps in envelopes if fps)])
        for place, outcome, one, envelope in zip(places, rows, extents, envelopes, strict=True):
            if envelope is not None:
                axes.barh(place, envelope, color=GRID, alpha=_BEHIND, height=0.96, linewidth=0, zorder=0)
            _draw(axes, place, one, longest)
            _marks(axes, place, facts, facts.by_metric(outcome, (outcome.metric, *further))[1:])
            axes.text(
                1.015, place, str(one), transform=axes.get_yaxis_transform(), va="center", size=8, color=INK
            )
        for place, model in headings:
            across = axes.get_yaxis_transform()
            axes.text(
                0, place, _heading(model), transform=across, va="center", size=8, style="italic", color=INK
            )
        names = [short_words(row.cell) if len(sizes) > 1 else option(row.cell) for row in rows]
        axes.set_yticks(
            places, [label(name, 32, lines=2) for name in names], size=_NAME_SIZE, linespacing=0.9
        )
        axes.set_ylim(places[-1] + 0.6, -0.6)
        axes.set_xlim(0, longest * 1.03)
        axes.set(xlabel=f"throughput, frames/s per port\nand direction{_found_by(rows)}")
        axes.grid(axis="x", zorder=0)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _axis(axes.xaxis)
        more: list[Any] = []
        if latency:
            draw_latency(panels.pop(0), besides, places)
            more += latency_marks()
        if cpus:
            draw_cpus(panels.pop(0), besides, places)
            more += cpu_marks(besides)
        figure.legend(
            *_legend(extents, further, more, envelope=any(fps is not None for fps in envelopes)),
            loc="outside lower left",
            ncols=_LEGEND_COLUMNS,
            frameon=False,
            fontsize=7.5,
            handleheight=0.9,
            columnspacing=1.2,
        )

    return draw_plot(
        NAME,
        _title(sizes, latency=latency, by_model=bool(headings)),
        _description(rows, len(every) - len(rows), latency=any(one.latency_ns for one in besides)),
        (_WIDTH, 1.7 + 0.22 * (places[-1] + 1)),
        draw,
    )


def _places(models: Sequence[str]) -> tuple[list[float], list[tuple[float, str]]]:
    """Return where rows stand from above, and a heading before each model where there are several."""
    if len({model for model in models if model}) < 2:
        return [float(number) for number in range(len(models))], []
    places: list[float] = []
    headings: list[tuple[float, str]] = []
    line, before = 0.0, None
    for model in models:
        if model != before:
            headings.append((line, model))
            line, before = line + 1, model
        places.append(line)
        line += 1
    return places, headings


def _heading(model: str) -> str:
    if model == LACKING:
        return model
    return f"model {model}" if model else "no container network"


def _draw(axes: Any, place: float, one: Extent, longest: int) -> None:
    """Draw one row. `longest` is where the axis ends, for what has no upper end."""
    low, high = one.low_fps or 0, one.high_fps
    match one.known:
        case Known.NUMBER:
            axes.barh(place, low, color=_CONFIRMED, height=_HEIGHT, zorder=2)
        case Known.INTERVAL:
            low = one.lowest_fps or 0
            axes.barh(place, low, color=_CONFIRMED, alpha=_PALE, height=_HEIGHT, linewidth=0, zorder=2)
            _between(axes, place, low, high, _CONFIRMED)
        case Known.AT_LEAST:
            axes.barh(place, low, color=_CONFIRMED, alpha=_PALE, height=_HEIGHT, linewidth=0, zorder=2)
            axes.plot([low], [place], marker=">", color=_CONFIRMED, markersize=6, linestyle="", zorder=3)
        case Known.AT_MOST:
            _between(axes, place, 0, high, _CONFIRMED)
        case Known.UNCONFIRMED:
            if one.low_fps is not None:
                axes.barh(place, low, color=_UNCONFIRMED, alpha=_PALE, height=_HEIGHT, linewidth=0, zorder=2)
            _between(axes, place, low, high, _UNCONFIRMED, open_end=longest)


def _between(axes: Any, place: float, low: int, high: int | None, colour: str, open_end: int = 0) -> None:
    """Draw a hatched stretch with a mark at each end that is known: the answer lies somewhere in it."""
    axes.barh(
        place,
        (open_end if high is None else high) - low,
        left=low,
        height=_HEIGHT,
        facecolor="none",
        edgecolor=colour,
        hatch=_HATCHES[colour],
        linewidth=0,
        zorder=2,
    )
    ends = [end for end in (low, high) if end]
    half = _HEIGHT / 2
    axes.vlines(ends, place - half, place + half, color=colour, linewidth=1.6, zorder=3)


def _marks(axes: Any, place: float, facts: Facts, answers: Sequence[Outcome | None]) -> None:
    """Mark what further searches of the row found: their lower ends."""
    for number, answer in enumerate(answers):
        found = extent(facts, answer) if answer is not None else None
        if found is not None and found.known in (Known.NUMBER, Known.INTERVAL):
            axes.plot([found.low_fps], [place], **_mark(number))


def _mark(number: int) -> dict[str, Any]:
    return {
        "marker": _MARKS[number % len(_MARKS)],
        "color": INK,
        "linestyle": "",
        "markersize": 4,
        "zorder": 4,
    }


def _found_by(rows: Sequence[Outcome]) -> str:
    """Say by which document the bars are, where all of them are by one."""
    metrics = {row.metric for row in rows if row.metric != ENVELOPE}
    if len(metrics) != 1:
        return ""
    (metric,) = metrics
    return f" ({searches.document(metric)}, {searches.allowed(metric)})"


def _legend(
    extents: Sequence[Extent], further: Sequence[str], more: Sequence[Any], *, envelope: bool
) -> tuple[list[Any], list[str]]:
    """Return what is drawn for each look that the figure has, and its words; `more` have theirs."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def hatched(colour: str) -> Any:
        return Patch(facecolor="none", edgecolor=colour, hatch=_HATCHES[colour], linewidth=0)

    def pale(colour: str) -> Any:
        return Patch(color=colour, alpha=_PALE, linewidth=0)

    marks: dict[Known, tuple[Any, ...]] = {  # what lies on each other, as in a bar
        Known.NUMBER: (Patch(color=_CONFIRMED),),
        Known.INTERVAL: (pale(_CONFIRMED), hatched(_CONFIRMED)),
        Known.AT_LEAST: (pale(_CONFIRMED), Line2D([], [], marker=">", color=_CONFIRMED, linestyle="")),
        Known.AT_MOST: (hatched(_CONFIRMED),),
        Known.UNCONFIRMED: (pale(_UNCONFIRMED), hatched(_UNCONFIRMED)),
    }
    known = [mark for mark in marks if any(found.known is mark for found in extents)]
    handles: list[Any] = [marks[one] for one in known]
    others: list[Any] = [
        Line2D(
            [],
            [],
            label=f"the same with {searches.allowed(metric)}, by {searches.document(metric)}",
            **_mark(number),
        )
        for number, metric in enumerate(further)
    ]
    if envelope:
        others.append(Patch(color=GRID, alpha=_BEHIND, label="behind: what the tester alone carries (wire)"))
    others += more
    return [*handles, *others], [*(_LEGEND[one] for one in known), *(other.get_label() for other in others)]


def _title(sizes: set[int], *, latency: bool, by_model: bool) -> str:
    what = "Throughput and latency" if latency else "Throughput"
    by = " by networking model" if by_model else ""
    if len(sizes) == 1:
        return f"{what} of each option{by} at {min(sizes)} octets"
    return f"{what} of each option and frame size{by} (octets behind the name)"


def _description(rows: Sequence[Outcome], left: int, *, latency: bool) -> str:
    words = "Beside each bar: the number, to the load at which it no longer holds"
    words += "; latency at its own row's load, so loads differ." if latency else "."
    said = filter(None, (words, searches.conditions(rows)))
    return " ".join(said) + not_drawn(left, "answers")


def _axis(axis: Any) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=4))
    axis.set_major_formatter(EngFormatter(sep=""))
