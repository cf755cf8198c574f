"""Throughput over what a switch's table holds: flows that frames match, and changes of idle ones (LTD)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bmwg.methodology.benchmarks import flow_changes, flow_scale
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.render import searches
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.plots.extent import Known, measured_extent

NAME, SCALE = "flow-changes", "flow-scale"
_MOST = 6  # choice: what a reader tells apart


def flow_changes_plot(facts: Facts) -> Plot | None:
    """Draw throughputs over the rate of changes (LTD 3.2.2.5.1); None where the run has no plain number."""
    series: dict[str, list[tuple[int, Outcome]]] = {}
    for one in _plain(facts, flow_changes.METRIC):
        if (coupling := flow_changes.of_metric(one.metric)) is not None:
            name = f"{_name(one.cell)}, {coupling.entries:,} idle flows"
            series.setdefault(name, []).append((coupling.changes_per_s, one))
    return _drawn(
        NAME,
        "Throughput beside changes of idle flows",
        "additions and removals of idle flows a second, logarithmic from 1 on; a line for each number",
        "changes per second",
        series,
    )


def flow_scale_plot(facts: Facts) -> Plot | None:
    """Draw throughputs over the number of flows (LTD 3.2.2.3.1); None where the run has no plain number."""
    series: dict[str, list[tuple[int, Outcome]]] = {}
    for metric, words in ((flow_scale.METRIC, ""), (flow_scale.EXPIRING_METRIC, ", entries expire")):
        for one in _plain(facts, metric):
            name = f"{_name(replace(one.cell, flows=1))}{words}"  # a line goes over the numbers of flows
            series.setdefault(name, []).append((one.cell.flows, one))
    return _drawn(
        SCALE,
        "Throughput by the number of flows",
        "flows that each have an entry, on a logarithmic scale",
        "flows",
        series,
    )


def _plain(facts: Facts, metric: str) -> list[Outcome]:
    return [one for one in facts.of_metric(metric) if one.type is OutcomeType.MEASURED and one.values]


def _name(cell: Cell) -> str:
    return f"{option(cell)}, {cell.frame_octets} octets"


def _drawn(
    name: str, title: str, over: str, x: str, series: dict[str, list[tuple[int, Outcome]]]
) -> Plot | None:
    shown = list(series.items())[:_MOST]
    if not shown:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (words, points) in enumerate(shown):
            points.sort(key=lambda point: point[0])
            axes.plot(
                [place for place, _ in points],
                [one.values[0].number / 1e3 for _, one in points],
                color=SERIES[number],
                marker=MARKERS[number],
                markersize=4,
                label=label(words),
            )
            for place, one in points:
                found = measured_extent(one)
                if found.known is Known.INTERVAL and found.lowest_fps and found.high_fps:
                    ends = [found.lowest_fps / 1e3, found.high_fps / 1e3]
                    axes.plot([place, place], ends, color=SERIES[number], linewidth=2.5, alpha=0.4)
        axes.set_xscale("symlog", linthresh=1)
        axes.set(xlabel=x, ylabel="throughput, 1,000 frames/s")
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", frameon=False)

    left = len(series) - len(shown)
    condition = searches.conditions(one for points in series.values() for _, one in points)
    return draw_plot(
        name,
        title,
        f"Throughput per port and direction in 1,000 frames/s over {over}; a bar is a wide interval, in which"
        f" the answer lies. Answers that are no plain number are left out.{not_drawn(left, 'lines')}"
        f" {condition}".rstrip(),
        (5.8, 3.2),
        draw,
    )
