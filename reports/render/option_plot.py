"""The first figure: each option by networking model, with what is known of it, drawn as what it is.

A full bar is a plain number and nothing else is one. Behind each stands what the tester alone carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bmwg.methodology.records import Outcome
from bmwg.reports.render.drawing import GRID, INK, SERIES, Plot, draw_plot, label
from bmwg.reports.render.extent import Extent, Known, extent
from bmwg.reports.render.facts import ENVELOPE, GLANCE_ROWS, Facts, option
from bmwg.reports.render.option_panels import (
    Beside,
    beside,
    cpu_marks,
    draw_cpus,
    draw_latency,
    latency_marks,
)
from bmwg.reports.render.text import whole

NAME = "options"
_NAME_SIZE = 8  # of a row's name, which may have two lines
_HEIGHT = 0.6  # of a bar; the envelope behind fills its row
_CONFIRMED, _UNCONFIRMED = SERIES[0], SERIES[1]
_PALE, _BEHIND = 0.28, 0.45
_HATCHES = {_CONFIRMED: "/////", _UNCONFIRMED: "xxxxx"}  # told apart without colours as well
_LEGEND = {
    Known.NUMBER: "plain number",
    Known.INTERVAL: "interval: no loss to its left, loss from its right end on",
    Known.AT_LEAST: "at least: the search or the tester ends there",
    Known.UNCONFIRMED: "unstable: no bound confirmed; trials contradict each other between the ends",
    Known.AT_MOST: "less than",
}


def shown_rows(facts: Facts) -> tuple[Outcome, ...]:
    """Return the outcomes that get a row: every option; the wire itself only where nothing else is there."""
    found = facts.at_a_glance()
    return tuple(one for one in found if one.metric != ENVELOPE) or found


def option_plot(facts: Facts) -> Plot | None:
    """Draw all options; None for a run that searched nothing."""
    every = shown_rows(facts)
    rows = every[:GLANCE_ROWS]
    if not rows:
        return None
    extents = [extent(facts, outcome) for outcome in rows]
    envelopes = [facts.envelope_fps(outcome.cell) for outcome in rows]
    sizes = {outcome.cell.frame_octets for outcome in rows}

    besides = [beside(facts, outcome) for outcome in rows]
    models = [facts.model(outcome.cell) for outcome in rows]
    places, headings = _places(models)
    latency = any(one.latency_ns or one.latency_word for one in besides)
    cpus = any(one.cpus is not None for one in besides)

    def draw(figure: Any) -> None:
        widths = [2.0, *([1.5] if latency else []), *([0.8] if cpus else [])]
        axes, *further = figure.subplots(1, len(widths), sharey=True, squeeze=False, width_ratios=widths)[0]
        longest = max([*(end for one in extents for end in (one.low_fps, one.high_fps) if end), 1])
        longest = max([longest, *(fps for fps in envelopes if fps)])
        for place, outcome, one, envelope in zip(places, rows, extents, envelopes, strict=True):
            if envelope is not None and outcome.metric != ENVELOPE:
                axes.barh(place, envelope, color=GRID, alpha=_BEHIND, height=0.96, linewidth=0, zorder=0)
            _draw(axes, place, one, longest)
            axes.text(
                1.015, place, str(one), transform=axes.get_yaxis_transform(), va="center", size=8, color=INK
            )
        for place, model in headings:
            across = axes.get_yaxis_transform()
            axes.text(
                0, place, _heading(model), transform=across, va="center", size=8, style="italic", color=INK
            )
        names = [_name(outcome, several=len(sizes) > 1) for outcome in rows]
        axes.set_yticks(
            places, [label(name, 32, lines=2) for name in names], size=_NAME_SIZE, linespacing=0.9
        )
        axes.set_ylim(places[-1] + 0.6, -0.6)
        axes.set_xlim(0, longest * 1.03)
        axes.set(xlabel="throughput, frames/s\nper port and direction")
        axes.grid(axis="x", zorder=0)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _axis(axes.xaxis)
        handles = _legend(extents, envelope=any(fps is not None for fps in envelopes))
        if latency:
            draw_latency(further.pop(0), besides, places)
            handles += latency_marks()
        if cpus:
            draw_cpus(further.pop(0), besides, places)
            handles += cpu_marks()
        figure.legend(
            handles=handles, loc="outside lower left", frameon=False, fontsize=7.5, handleheight=0.9
        )

    return draw_plot(
        NAME,
        _title(sizes, latency=latency, by_model=bool(headings)),
        _description(rows, extents, len(every) - len(rows)) + _described(besides, cpus=cpus),
        (5.2 + 2.1 * latency + 1.1 * cpus, 2.2 + 0.27 * (places[-1] + 1)),
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
    return f"model {model}" if model else "no container network"


def _draw(axes: Any, place: float, one: Extent, longest: int) -> None:
    """Draw one row. `longest` is where the axis ends, for what has no upper end."""
    low, high = one.low_fps or 0, one.high_fps
    match one.known:
        case Known.NUMBER:
            axes.barh(place, low, color=_CONFIRMED, height=_HEIGHT, zorder=2)
        case Known.INTERVAL:
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


def _legend(extents: Sequence[Extent], *, envelope: bool) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def hatched(colour: str) -> Any:
        return Patch(facecolor="none", edgecolor=colour, hatch=_HATCHES[colour], linewidth=0)

    marks: dict[Known, Any] = {
        Known.NUMBER: Patch(color=_CONFIRMED),
        Known.INTERVAL: hatched(_CONFIRMED),
        Known.AT_LEAST: Line2D([], [], marker=">", color=_CONFIRMED, linestyle=""),
        Known.AT_MOST: hatched(_CONFIRMED),
        Known.UNCONFIRMED: hatched(_UNCONFIRMED),
    }
    handles = []
    for known, mark in marks.items():
        if any(one.known is known for one in extents):
            mark.set_label(_LEGEND[known])
            handles.append(mark)
    if envelope:
        handles.append(Patch(color=GRID, alpha=_BEHIND, label="behind: what the tester alone carries (wire)"))
    return handles


def _name(outcome: Outcome, *, several: bool) -> str:
    name = option(outcome.cell)
    return f"{name}, {whole(outcome.cell.frame_octets)}" if several else name


def _title(sizes: set[int], *, latency: bool, by_model: bool) -> str:
    what = "Throughput and latency" if latency else "Throughput"
    by = " by networking model" if by_model else ""
    if len(sizes) == 1:
        return f"{what} of each option{by} at {min(sizes)} octets"
    return f"{what} of each option and frame size{by} (octets behind the name)"


def _description(rows: Sequence[Outcome], extents: Sequence[Extent], left: int) -> str:
    counts = {known: sum(one.known is known for one in extents) for known in Known}
    words = {
        Known.NUMBER: "plain numbers (full bars)",
        Known.INTERVAL: "intervals (hatched between their ends)",
        Known.AT_LEAST: "known from below (arrow)",
        Known.UNCONFIRMED: "unstable (cross-hatched where trials contradict each other)",
        Known.AT_MOST: "known from above",
        Known.NOTHING: "without any load",
    }
    told = ", ".join(f"{words[known]}: {counts[known]}" for known in Known if counts[known])
    more = f" {left} further answers are in the tables only." if left else ""
    return f"Of {len(rows)} answers {told}. The table holds them all.{more}"


def _described(besides: Sequence[Beside], *, cpus: bool) -> str:
    told = sum(bool(one.latency_ns) for one in besides)
    words = f" Latency of {told} of them, each at its own row's load, so loads differ." if told else ""
    if cpus:
        words += " CPUs in use are those of the data plane's parts; its own section tells them apart."
    return words


def _axis(axis: Any) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=4))
    axis.set_major_formatter(EngFormatter(sep=""))
