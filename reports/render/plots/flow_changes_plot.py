"""Throughput over the rate of changes of idle flows, a line for each number of them (LTD 3.2.2.5.1)."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.benchmarks import flow_changes
from bmwg.methodology.records import OutcomeType
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label

NAME = "flow-changes"
_MOST = 6  # choice: what a reader tells apart


def flow_changes_plot(facts: Facts) -> Plot | None:
    """Draw the throughputs that are plain numbers; None where the run has none."""
    series: dict[str, list[tuple[int, float]]] = {}
    for one in facts.of_metric(flow_changes.METRIC):
        coupling = flow_changes.of_metric(one.metric)
        if coupling is None or one.type is not OutcomeType.MEASURED or not one.values:
            continue
        name = f"{option(one.cell)}, {one.cell.frame_octets} octets, {coupling.entries:,} flows"
        series.setdefault(name, []).append((coupling.changes_per_s, float(one.values[0].number)))
    shown = list(series.items())[:_MOST]
    if not shown:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, points) in enumerate(shown):
            rates, loads = zip(*sorted(points), strict=True)
            axes.plot(
                rates,
                [load / 1e3 for load in loads],
                color=SERIES[number],
                marker=MARKERS[number],
                markersize=4,
                label=label(name),
            )
        axes.set_xscale("symlog", linthresh=1)
        axes.set(xlabel="changes per second", ylabel="throughput, 1,000 frames/s")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", frameon=False)

    left = len(series) - len(shown)
    return draw_plot(
        NAME,
        "Throughput beside changes of idle flows",
        "Throughput per port and direction in 1,000 frames/s over the additions and removals of idle flows a"
        " second, logarithmic from 1 on; a line for each number of idle flows. Answers that"
        f" are no plain number are left out. {left} further lines are in the table only.",
        (5.8, 3.2),
        draw,
    )
