"""The curve of RFC 2544 26.3: percent lost over percent of the theoretical rate, or of the highest load."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.benchmarks.frame_loss import METRIC, MOST_CURVES
from bmwg.methodology.benchmarks.frame_loss import axes as axes_of
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.sections.frame_loss_table import curve

NAME = "frame-loss"


def frame_loss_plot(facts: Facts) -> Plot | None:
    """Draw the curves of the first cells that have one; None where the run has none."""
    measured = [outcome for outcome in facts.outcomes if outcome.metric == METRIC and outcome.values]
    shown = measured[:MOST_CURVES]
    if not shown:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, one in enumerate(shown):
            points = curve(one, facts)
            axes.plot(
                [100 * share for share, _, _ in points],
                [100 * loss for _, _, loss in points],
                color=SERIES[number],
                marker=MARKERS[number],
                markersize=4,
                label=label(f"{option(one.cell)}, {one.cell.frame_octets} octets"),
            )
        said = axes_of(facts.run.line_rate_bps)
        axes.set(xlabel=said.x, ylabel=said.y, xlim=said.ends, ylim=said.ends)
        axes.grid()
        axes.set_axisbelow(True)
        axes.legend(frameon=False)

    left = len(measured) - len(shown)
    hundred = (
        "the highest that was tried" if facts.run.line_rate_bps is None else "the medium's theoretical rate"
    )
    return draw_plot(
        NAME,
        "Frame loss rate (RFC 2544 26.3)",
        f"Frames lost over the load, both in percent from 0 to 100; 100 % of the load is {hundred}."
        f"{not_drawn(left, 'curves')}",
        (5.2, 3.2),
        draw,
    )
