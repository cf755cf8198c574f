"""SVG plots by matplotlib, made the same on every run and in every colour scheme of the reader.

A mark of a plain number stands for a plain number only; each plot has a table on the page that holds all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bmwg.methodology.mlrsearch.outcome import is_conditional
from bmwg.methodology.records import Outcome, Validity
from bmwg.methodology.trial import directions
from bmwg.reports import rooms
from bmwg.reports.render.facts import LATENCY, Facts, option, percentiles, told_ways
from bmwg.reports.render.plots.drawing import (
    GRID,
    INK,
    MARKERS,
    SERIES,
    TRANSLATED,
    Plot,
    draw_plot,
    label,
    not_drawn,
    renamed,
    told_of,
)
from bmwg.reports.render.plots.extent import Extent, Known, extent
from bmwg.reports.render.plots.flow_changes_plot import flow_changes_plot, flow_scale_plot
from bmwg.reports.render.plots.frame_loss_plot import frame_loss_plot
from bmwg.reports.render.plots.headline_plot import headline_plot
from bmwg.reports.render.plots.load_profile_plot import load_profile_plot
from bmwg.reports.render.plots.option_plot import option_plot
from bmwg.reports.render.plots.soak_plot import soak_plot
from bmwg.reports.render.sections.chain_section import chain_plot
from bmwg.reports.render.sections.factor_section import factor_plot
from bmwg.reports.render.sections.function_section import function_plot
from bmwg.reports.render.sections.guest import guest_words
from bmwg.reports.render.text import nanoseconds

_MAX_ROWS = 24  # of bars and of search panels: choice, more is no reading
_MAX_LINES = 6


def plots(facts: Facts) -> tuple[Plot, ...]:
    """Draw what the run has numbers for; a run without leaves plots out. A run in a guest names it.

    Answers through translated machines have figures of their own: none of them stands beside a native one.
    """
    native, machines = facts.by_translation()
    words = f"machines under {machines.accelerators()}"
    drawn = [
        *_drawn(native),
        *(told_of(renamed(plot, plot.name + TRANSLATED), words) for plot in _drawn(machines)),
        *_of_others(facts),
        *rooms.plots(facts.run),
    ]
    guest = guest_words(facts.run)
    return tuple(told_of(plot, guest) for plot in drawn) if guest else tuple(drawn)


def _of_others(facts: Facts) -> Iterator[Plot]:
    made = headline_plot(facts)
    if made is not None:
        yield made


def _drawn(facts: Facts) -> Iterator[Plot]:
    made = (
        _throughput(facts),
        option_plot(facts),
        _latency(facts),
        chain_plot(facts),
        factor_plot(facts),
        function_plot(facts),
        frame_loss_plot(facts),
        load_profile_plot(facts),
        flow_changes_plot(facts),
        flow_scale_plot(facts),
        soak_plot(facts),
        _search(facts),
    )
    return (plot for plot in made if plot is not None)


def _thousands(axis: Any) -> None:
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(sep=""))


def measured_extents(facts: Facts) -> dict[str, list[tuple[int, Extent]]]:
    """Return what is drawn against the frame size: numbers and both ends of wide intervals, by option."""
    series: dict[str, list[tuple[int, Extent]]] = {}
    for outcome in facts.of_search():
        known = extent(facts, outcome)
        if known.known in (Known.NUMBER, Known.INTERVAL):
            series.setdefault(option(outcome.cell), []).append((outcome.cell.frame_octets, known))
    return {name: sorted(points, key=lambda point: point[0]) for name, points in series.items()}


def _throughput(facts: Facts) -> Plot | None:
    series = {name: points for name, points in measured_extents(facts).items() if len(points) > 1}
    if not series:
        return None
    shown = dict(list(series.items())[:_MAX_LINES])
    sizes = sorted({size for points in shown.values() for size, _ in points})
    maximum = [(size, facts.theoretical_fps(size)) for size in sizes]
    envelope = "tester's envelope (wire)"
    wide = any(one.known is Known.INTERVAL for points in shown.values() for _, one in points)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        if facts.run.line_rate_bps is not None:
            axes.plot(*zip(*maximum, strict=True), color=INK, linestyle=":", label="theoretical maximum")
        for number, (name, points) in enumerate(shown.items()):
            plain = [(size, one.low_fps if one.known is Known.NUMBER else None) for size, one in points]
            axes.plot(
                *zip(*((size, float("nan") if fps is None else fps) for size, fps in plain), strict=True),
                color=SERIES[number],
                marker=MARKERS[number],
                linestyle="--" if name == "wire" else "-",
                label=label(envelope if name == "wire" else name),
            )
            for size, one in points:
                if one.known is Known.INTERVAL:
                    ends = [one.lowest_fps, one.high_fps]
                    axes.plot(
                        [size, size], ends, color=SERIES[number], marker="_", markersize=9, linewidth=1.2
                    )
        axes.set(xlabel="frame size, octets", ylabel="throughput, frames/s", xticks=sizes)
        axes.set_ylim(0, axes.dataLim.ymax * 1.08)  # no marker on the edge
        axes.tick_params(axis="x", rotation=45 if len(sizes) > 4 else 0)
        axes.grid(axis="y")
        _thousands(axes.yaxis)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)

    reference = (
        "The theoretical maximum of the medium is dotted."
        if facts.run.line_rate_bps is not None
        else f"{facts.run.medium_kind} has no theoretical maximum; the tester's envelope is dashed."
    )
    left = len(series) - len(shown)
    return draw_plot(
        "throughput",
        "Throughput against frame size",
        f"Measured throughput of {', '.join(shown)}, frames/s per port and direction. {reference}"
        + (" Upright strokes are intervals between their two ends, not numbers." if wide else "")
        + not_drawn(left, "options"),
        (5.2, 3.6),
        draw,
    )


def _latency(facts: Facts) -> Plot | None:
    measured = [
        (outcome, way)
        for outcome in facts.of_metric(LATENCY)
        if outcome.values
        for way in told_ways(outcome, LATENCY)
    ]
    shown = measured[:_MAX_ROWS]
    if not shown:
        return None
    names = ("p50", "p90", "p99", "p99.9", "max")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        rows = [_latency_values(outcome, way) for outcome, way in shown]
        for place, row in enumerate(rows):
            reached = [row[name] for name in names if name in row]
            if reached:
                axes.plot([min(reached), max(reached)], [place, place], color=GRID, zorder=1)
        for number, name in enumerate(names):
            points = [(row[name], place) for place, row in enumerate(rows) if name in row]
            if points:
                axes.scatter(
                    *zip(*points, strict=True),
                    s=22,
                    color=SERIES[number],
                    marker=MARKERS[number],
                    label=name,
                    zorder=2,
                )
        axes.set_yticks(
            range(len(shown)),
            [
                label(f"{directions.of(option(one.cell), way)}, {one.cell.frame_octets}", 30)
                for one, way in shown
            ],
        )
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: nanoseconds(value))
        axes.xaxis.set_minor_formatter(lambda _value, _place: "")
        axes.set(xlabel="latency, logarithmic")
        axes.grid(axis="x")
        figure.legend(loc="outside lower center", ncols=5, frameon=False, columnspacing=1, handletextpad=0.2)

    left = len(measured) - len(shown)
    return draw_plot(
        "latency",
        "Latency percentiles, each at the load of its row in the table",
        f"Percentiles of {len(shown)} cells (option, frame size in octets) on a logarithmic axis."
        + not_drawn(left, "cells"),
        (5.2, 1.4 + 0.28 * len(shown)),
        draw,
    )


def _latency_values(outcome: Outcome, way: str) -> dict[str, float]:
    return {name: value.number for name, value in percentiles(outcome, way).items() if value.number > 0}


def _search(facts: Facts) -> Plot | None:
    searched = [outcome for outcome in facts.of_search() if outcome.trials]
    shown = searched[:_MAX_ROWS]
    if not shown:
        return None
    columns = 2
    rows = -(-len(shown) // columns)

    def draw(figure: Any) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for number, axes in enumerate(grid.flat):
            if number < len(shown):
                _search_panel(axes, facts, shown[number])
            else:
                axes.set_visible(False)
        figure.supylabel("load, frames/s", size=9)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)

    left = len(searched) - len(shown)
    return draw_plot(
        "search",
        "The searches as they went",
        f"Loads of {len(shown)} searches in the order they were tried: lossless, with loss, not valid; "
        "the band, where single trials set bounds, lies between those known so far."
        + not_drawn(left, "searches"),
        (5.2, 0.9 + 1.25 * rows),
        draw,
    )


def _search_panel(axes: Any, facts: Facts, outcome: Outcome) -> None:
    from matplotlib.ticker import MaxNLocator

    trials = [facts.run.trial(seq) for seq in outcome.trials]
    ends = (0.5, len(trials) + 0.5)
    kinds: list[tuple[str, str, str, str, Callable[[Any], bool]]] = [
        ("lossless", "o", SERIES[2], "full", lambda t: t.validity is Validity.VALID and not t.loss_ratio),
        ("with loss", "X", SERIES[1], "full", lambda t: t.validity is Validity.VALID and t.loss_ratio > 0),
        ("not valid", "D", INK, "none", lambda t: t.validity is not Validity.VALID),
    ]
    low: list[float] = []
    high: list[float] = []
    top = max(trial.spec.load_fps for trial in trials)
    for trial in trials:
        before = (low[-1] if low else 0.0, high[-1] if high else float(top))
        load = trial.spec.load_fps
        valid = trial.validity is Validity.VALID
        low.append(max(before[0], load) if valid and not trial.loss_ratio else before[0])
        high.append(min(before[1], load) if valid and trial.loss_ratio > 0 else before[1])
    steps = range(1, len(trials) + 1)
    if not is_conditional(outcome.metric):  # whose bounds single trials do not set
        axes.fill_between(steps, low, high, step="post", color=GRID, alpha=0.55, linewidth=0)
    for name, marker, colour, fill, belongs in kinds:
        points = [(place, t.spec.load_fps) for place, t in zip(steps, trials, strict=True) if belongs(t)]
        x, y = zip(*points, strict=True) if points else ((), ())
        axes.plot(x, y, linestyle="", marker=marker, color=colour, fillstyle=fill, markersize=4.5, label=name)
    axes.set_title(label(f"{option(outcome.cell)}, {outcome.cell.frame_octets}", 32), size=8.5, loc="left")
    axes.set_xlim(*ends)
    axes.set_ylim(0, top * 1.08)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.tick_params(labelsize=8)
    _thousands(axes.yaxis)
