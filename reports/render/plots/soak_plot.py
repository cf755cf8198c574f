"""Loss and delay variation of each interval of a soak (LTD 3.2.2.1.6 and 3.2.2.2.2)."""

from __future__ import annotations

from typing import Any

from bmwg.methodology.benchmarks import alarmed_soak
from bmwg.methodology.records import Outcome
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.sections.vsperf_tables import SOAKS

NAME = "soak"
_MOST = 4  # choice: what a reader tells apart in two panels
_MOST_INTERVALS = 1000  # choice: of a longer soak the first ones; each is decoded with its latencies


def soak_plot(facts: Facts) -> Plot | None:
    """Draw the soaks of the first cells that have one; None where the run has none."""
    measured = [one for one in facts.outcomes if one.metric in SOAKS and one.values]
    shown = measured[:_MOST]
    if not shown:
        return None
    cut = any(len(one.trials) > 1 + _MOST_INTERVALS for one in shown)

    def draw(figure: Any) -> None:
        loss, variation = figure.subplots(1, 2)
        for number, one in enumerate(shown):
            known = _intervals(one, facts)
            style = {"color": SERIES[number], "marker": MARKERS[number], "markersize": 3, "linewidth": 1}
            loss.plot(
                [place for place, _, _ in known],
                [100 * ratio for _, ratio, _ in known],
                label=label(f"{option(one.cell)}, {one.cell.frame_octets} octets"),
                **style,
            )
            varied = [(place, pdv_ns / 1e3) for place, _, pdv_ns in known if pdv_ns is not None]
            if varied:
                variation.plot(*zip(*varied, strict=True), **style)
        loss.set(xlabel="interval", ylabel="frames lost, %")
        variation.set(xlabel="interval", ylabel="delay variation (99 %), us")
        for axes in (loss, variation):
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            axes.grid()
            axes.set_axisbelow(True)
        figure.legend(*loss.get_legend_handles_labels(), loc="outside upper center", frameon=False)

    first = f" Of longer soaks the first {_MOST_INTERVALS} intervals are drawn." if cut else ""
    left = len(measured) - len(shown)
    return draw_plot(
        NAME,
        "Loss and delay variation over a soak",
        "Frames lost in percent, and the 99th percentile delay less the least one in microseconds, of each"
        f" valid interval of the soak in order.{first}{not_drawn(left, 'soaks')}",
        (6.8, 3.0),
        draw,
    )


def _intervals(outcome: Outcome, facts: Facts) -> list[tuple[int, float, int | None]]:
    """Return number, loss ratio and delay variation (ns) of each valid interval."""
    trials = [facts.run.trial(seq) for seq in outcome.trials]
    intervals = [trial for trial in trials if trial.phase != alarmed_soak.CONFIRMATION][:_MOST_INTERVALS]
    return [
        (place, trial.loss_ratio, alarmed_soak.pdv_ns(trial.result))
        for place, trial in enumerate(intervals, start=1)
        if trial.validity == "valid"
    ]
