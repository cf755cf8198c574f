"""Loss and mean latency over the load, from half of the throughput to half-way beyond it (LTD 3.2.2.1.3)."""

from __future__ import annotations

from typing import Any

from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.sections.load_profile_table import METRICS, points

NAME = "load-profile"
_WIDE = 10  # choice: a decade, from which on a logarithmic scale tells more
_MOST = 4  # choice: what a reader tells apart in two panels


def load_profile_plot(facts: Facts) -> Plot | None:
    """Draw the profiles of the first cells that have one; None where the run has none."""
    measured = [one for one in facts.outcomes if one.metric in METRICS and points(one)]
    shown = measured[:_MOST]
    if not shown:
        return None

    means = [point.mean_ns for one in shown for point in points(one) if point.mean_ns]
    wide = bool(means) and max(means) > _WIDE * min(means)

    def draw(figure: Any) -> None:
        loss, latency = figure.subplots(1, 2)
        for number, one in enumerate(shown):
            known = points(one)
            style = {"color": SERIES[number], "marker": MARKERS[number], "markersize": 4}
            loss.plot(
                [point.load_fps / 1e3 for point in known],
                [100 * point.loss_ratio for point in known],
                label=label(f"{option(one.cell)}, {one.cell.frame_octets} octets"),
                **style,
            )
            timed = [(point.load_fps / 1e3, point.mean_ns / 1e3) for point in known if point.mean_ns]
            if timed:
                latency.plot(*zip(*timed, strict=True), **style)
        loss.set(xlabel="load, 1,000 frames/s", ylabel="frames lost, %")
        loss.set_ylim(bottom=0)
        latency.set(xlabel="load, 1,000 frames/s", ylabel="mean latency, us")
        if wide:
            latency.set_yscale("log")
        else:
            latency.set_ylim(bottom=0)
        for axes in (loss, latency):
            axes.set_xlim(left=0)
            axes.grid()
            axes.set_axisbelow(True)
        figure.legend(*loss.get_legend_handles_labels(), loc="outside upper center", frameon=False)

    scale = " on a logarithmic scale" if wide else ""
    left = len(measured) - len(shown)
    return draw_plot(
        NAME,
        "Loss and latency around the throughput",
        f"Frames lost in percent, and the mean latency in microseconds{scale}, over the load per port and"
        " direction in 1,000 frames/s. A line's points are the deltas of the table, from -50 to +50 %;"
        f" 0 % is the throughput.{not_drawn(left, 'profiles')}",
        (6.8, 3.2),
        draw,
    )
