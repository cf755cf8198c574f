"""The graph of RFC 2544 26.3: percent lost against percent of the highest rate, both from 0 to 100."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.benchmarks.frame_loss import METRIC
from bmwg.reports.render.drawing import INK, MARKERS, SERIES, Plot, cut_label, drawn
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.frame_loss_table import curve


def frame_loss(facts: Facts) -> Plot | None:
    """Draw the curves of the run, at most one a colour; nothing of a run without a plain number."""
    measured = [one for one in facts.outcomes if one.metric == METRIC and one.values]
    shown = measured[: len(SERIES)]
    if not shown:
        return None
    names = [f"{option(one.cell)}, {one.cell.frame_octets}" for one in shown]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, one in enumerate(shown):
            points = [(100 * share, 100 * loss) for share, _, loss in curve(one, facts)]
            axes.plot(
                *zip(*points, strict=True),
                color=SERIES[number],
                marker=MARKERS[number],
                label=cut_label(names[number]),
                clip_on=False,
            )
        whole = facts.run.line_rate_bps is not None
        of = "theoretical rate" if whole else "highest load of the tester"
        axes.set(xlabel=f"offered load, % of the {of}", ylabel="frames lost, %", xlim=(0, 100), ylim=(0, 100))
        axes.tick_params(colors=INK)
        axes.grid(axis="y")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)

    left = len(measured) - len(shown)
    return drawn(
        "frame_loss",
        "Frame loss rate against offered load",
        f"Percent of frames lost at each load of {'; '.join(names)} octets. Both axes run from 0 to 100."
        + (f" {left} further curves are in the tables only." if left else ""),
        (5.2, 3.6),
        draw,
    )
