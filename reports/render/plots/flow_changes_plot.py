"""Throughput over what a switch's table holds: flows that frames match, and changes of idle ones (LTD)."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.benchmarks import flow_changes, flow_scale
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label

NAME, SCALE = "flow-changes", "flow-scale"
_MOST = 6  # choice: what a reader tells apart


def flow_changes_plot(facts: Facts) -> Plot | None:
    """Draw throughputs over the rate of changes (LTD 3.2.2.5.1); None where the run has no plain number."""
    series: dict[str, list[tuple[int, float]]] = {}
    for one in _plain(facts, flow_changes.METRIC):
        if (coupling := flow_changes.of_metric(one.metric)) is not None:
            name = f"{_cell(one)}, {coupling.entries:,} idle flows"
            series.setdefault(name, []).append((coupling.changes_per_s, float(one.values[0].number)))
    return _drawn(
        NAME,
        "Throughput beside changes of idle flows",
        "additions and removals of idle flows a second, logarithmic from 1 on; a line for each number",
        "changes per second",
        series,
    )


def flow_scale_plot(facts: Facts) -> Plot | None:
    """Draw throughputs over the number of flows (LTD 3.2.2.3.1); None where the run has no plain number."""
    series: dict[str, list[tuple[int, float]]] = {}
    for metric, words in ((flow_scale.METRIC, ""), (flow_scale.EXPIRING_METRIC, ", entries expire")):
        for one in _plain(facts, metric):
            points = series.setdefault(f"{_cell(one)}{words}", [])
            points.append((one.cell.flows, float(one.values[0].number)))
    return _drawn(
        SCALE,
        "Throughput by the number of flows",
        "flows that each have an entry, on a logarithmic scale",
        "flows",
        series,
    )


def _plain(facts: Facts, metric: str) -> list[Outcome]:
    return [one for one in facts.of_metric(metric) if one.type is OutcomeType.MEASURED and one.values]


def _cell(one: Outcome) -> str:
    return f"{option(one.cell)}, {one.cell.frame_octets} octets"


def _drawn(
    name: str, title: str, over: str, x: str, series: dict[str, list[tuple[int, float]]]
) -> Plot | None:
    shown = list(series.items())[:_MOST]
    if not shown:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (words, points) in enumerate(shown):
            places, loads = zip(*sorted(points), strict=True)
            axes.plot(
                places,
                [load / 1e3 for load in loads],
                color=SERIES[number],
                marker=MARKERS[number],
                markersize=4,
                label=label(words),
            )
        axes.set_xscale("symlog", linthresh=1)
        axes.set(xlabel=x, ylabel="throughput, 1,000 frames/s")
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", frameon=False)

    left = len(series) - len(shown)
    return draw_plot(
        name,
        title,
        f"Throughput per port and direction in 1,000 frames/s over {over}. Answers that are no plain number"
        f" are left out. {left} further lines are in the table only.",
        (5.8, 3.2),
        draw,
    )
