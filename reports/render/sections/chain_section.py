"""Chains of functions: throughput, latency, CPU and activation against length, in a figure and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.cells import chains
from bmwg.methodology.records import Cell, Outcome
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import INK, MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.plots.extent import Extent, Known, extent
from bmwg.reports.render.plots.option_panels import Beside, beside
from bmwg.reports.render.sections.common_columns import badge
from bmwg.reports.render.sections.data_plane import brief
from bmwg.reports.render.sections.results import found as answer
from bmwg.reports.render.sections.results import tail
from bmwg.reports.render.text import NONE, nanoseconds, unit

NAME = "chains"
_MOST_LINES = len(MARKERS)
_SAID = {
    True: "not above the shorter chain",
    False: "above the shorter chain, which its frames pass as well: one of both answers is wrong",
    None: "not told apart: the bounds overlap, or one is not proven",
}
Series = Mapping[Cell, Sequence[tuple[int, Outcome]]]  # by what the chains share; length and throughput


def series_of(facts: Facts) -> Series:
    """Return the chains of a run by what they share, shortest first; PVP is a chain of one beside others."""
    found: dict[Cell, list[tuple[int, Outcome]]] = {}
    for outcome in facts.of_devices():
        if (number := chains.length(outcome.cell)) is not None:
            found.setdefault(chains.alike(outcome.cell), []).append((number, outcome))
    return {
        shared: sorted(points, key=lambda point: point[0])
        for shared, points in found.items()
        if any(outcome.cell.path == chains.CHAIN for _, outcome in points)
    }


def section(facts: Facts, figure: Sequence[Block]) -> list[Block]:
    """Return the section; nothing for a run without chains. `figure`: its plot."""
    series = series_of(facts)
    if not series:
        return []
    links = {
        (link.longer.outcome_id): link
        for link in chains.against_shorter(one for points in series.values() for _, one in points)
    }
    rows = []
    for points in series.values():
        for number, outcome in points:
            found = next(
                (one for one in facts.of_metric("latency.all_frames") if one.cell == outcome.cell), None
            )
            link = links.get(outcome.outcome_id)
            rows.append(
                [
                    option(outcome.cell),
                    unit(outcome.cell.frame_octets, "octets"),
                    str(number),
                    badge(outcome.type),
                    answer(facts, outcome),
                    (tail(found) if found and tail(found) else NONE),
                    (brief(facts.use(outcome)) if facts.use(outcome) else NONE),
                    _activation(facts, outcome),
                    NONE if link is None else _SAID[link.holds],
                ]
            )
    head = [
        "path and option",
        "frame size",
        "functions",
        "type",
        "throughput per port and direction, frames/s",
    ]
    head += ["latency p50 / p99", "data plane at that throughput", "activation", "against the shorter chain"]
    lines = [*title("Chains"), *figure, *table(head, rows, "Chains of functions by their length")]
    condition = searches.conditions(one for points in series.values() for _, one in points)
    return [*lines, *(paragraph(condition) if condition else [])]


def _activation(facts: Facts, outcome: Outcome) -> str:
    """Return how long the deployments of a cell took until all functions forwarded, vSwitch start apart."""
    names = {facts.run.trial(seq).deployment_id for seq in outcome.trials}
    told = [facts.run.deployments.get(name, {}).get(chains.AXIS) for name in names]
    times = [
        (float(one["activation_s"]), float(one.get("vswitch_start_s", 0.0)))
        for one in told
        if isinstance(one, Mapping) and "activation_s" in one
    ]
    if not times:
        return NONE
    took, start = max(times)
    apart = f", {start:.2f}\u00a0s of it the start of the vSwitch" if start else ""
    return f"{took:.2f}\u00a0s{apart}"


def chain_plot(facts: Facts) -> Plot | None:
    """Draw throughput and latency against length; None for a run without chains."""
    every = series_of(facts)
    if not every:
        return None
    shown = dict(list(every.items())[:_MOST_LINES])
    extents = {
        shared: [(number, extent(facts, one), beside(facts, one)) for number, one in points]
        for shared, points in shown.items()
    }

    def draw(figure: Any) -> None:
        loads, times = figure.subplots(1, 2)
        lengths = sorted({number for points in shown.values() for number, _ in points})
        for place, (shared, points) in enumerate(extents.items()):
            colour, marker = SERIES[place], MARKERS[place]
            draw_throughput(loads, points, colour, marker, _name(shared))
            draw_latency(times, points, colour, marker)
        loads.set(xlabel="functions in the chain", ylabel="throughput, frames/s\nper port and direction")
        loads.set_ylim(0, max(loads.dataLim.ymax * 1.1, 1))
        times.set(xlabel="functions in the chain", ylabel="latency, dot p50, stroke p99")
        times.set_yscale("log")
        times.yaxis.set_major_formatter(lambda value, _: nanoseconds(value))
        times.yaxis.set_minor_formatter(lambda _value, _place: "")
        for axes in (loads, times):
            axes.set_xticks(lengths)
            axes.set_xlim(lengths[0] - 0.4, lengths[-1] + 0.4)
            axes.grid(axis="y")
        from matplotlib.ticker import EngFormatter

        loads.yaxis.set_major_formatter(EngFormatter(sep=""))
        handles, labels = loads.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)

    left = len(every) - len(shown)
    more = not_drawn(left, "options")
    condition = searches.conditions(one for points in shown.values() for _, one in points)
    return draw_plot(
        NAME,
        "Throughput and latency against the length of a chain",
        "Filled marks are plain numbers, and lines join these alone; a stroke is an interval between its"
        " ends, an arrow up means at least, an arrow down less than, a cross an unstable answer. Latency is"
        f" at each chain's own throughput, so loads differ; of two directions the one with the"
        f" greater p99. One function is the path pvp, or a chain of one.{more} {condition}".rstrip(),
        (7.2, 3.6),
        draw,
    )


def _name(shared: Cell) -> str:
    return label(option(shared).removeprefix(chains.CHAIN).strip() + f", {shared.frame_octets}", 34)


def draw_throughput(
    axes: Any, points: Sequence[tuple[int, Extent, Beside]], colour: str, marker: str, name: str
) -> None:
    """Draw one line against a number: plain numbers joined, anything else as what it is."""
    plain = [one.low_fps if one.known is Known.NUMBER else float("nan") for _, one, _ in points]
    axes.plot([number for number, _, _ in points], plain, color=colour, marker=marker, label=name)
    for number, one, _ in points:
        low, high = one.low_fps, one.high_fps
        match one.known:
            case Known.INTERVAL:
                axes.plot(
                    [number, number],
                    [one.lowest_fps, high],
                    color=colour,
                    marker="_",
                    markersize=9,
                    linewidth=1.2,
                )
            case Known.AT_LEAST:
                axes.plot([number], [low], color=colour, marker="^", fillstyle="none", linestyle="")
            case Known.AT_MOST:
                axes.plot([number], [high], color=colour, marker="v", fillstyle="none", linestyle="")
            case Known.UNCONFIRMED:
                ends = [end for end in (low, high) if end is not None]
                axes.plot([number] * len(ends), ends, color=colour, marker="x", linestyle=":", linewidth=1.2)


def draw_latency(axes: Any, points: Sequence[tuple[int, Extent, Beside]], colour: str, marker: str) -> None:
    """Draw medians joined, each with a stroke up to its 99th percentile."""
    medians = [
        (number, max(one.latency_ns, key=lambda way: way[2])) for number, _, one in points if one.latency_ns
    ]
    axes.plot(
        [number for number, _ in medians],
        [median for _, (_, median, _) in medians],
        color=colour,
        marker=marker,
    )
    for number, (_, median, worst) in medians:
        axes.plot([number, number], [median, worst], color=colour, linewidth=1, zorder=1)
        axes.plot([number], [worst], color=colour, marker="_", markersize=9, markeredgecolor=colour)
    axes.tick_params(colors=INK)
