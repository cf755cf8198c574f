"""Graphs of RFC 9411's sustain phases: right answers by interval, a panel for each answer that has a figure.

The criteria ask for a constant rate; a mean alone would hide how constant it was. Of held connections those
that were open are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bmwg.methodology.kinds.requests.criteria import OPEN_WITHIN, RATE_WITHIN
from bmwg.methodology.kinds.requests.profile import RFC9411
from bmwg.methodology.kinds.requests.records import KIND, RequestsSpec
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.kinds.requests.answers import Answered, answers_of, at_rate
from bmwg.reports.render.plots.drawing import INK, SERIES, Plot, draw_plot, label
from bmwg.reports.render.text import percent, told_apart
from bmwg.reports.store import Run

_COLUMNS = 3
_PANEL = (2.7, 1.5)  # inches
Phase = tuple[Answered, Sustained]


def plot_name(experiment: str) -> str:
    """Name the graph of an experiment."""
    return f"sustain-{experiment.replace('_', '-')}"


def sustain_plots(run: Run) -> tuple[Plot, ...]:
    """Draw every experiment of RFC 9411 that has a figure. Raises ConfigError as `answers_of`."""
    if not has_answers(run, KIND):
        return ()
    answers = answers_of(run)
    made = (_chart(run, experiment, _phases(run, experiment, answers)) for experiment in RFC9411)
    return tuple(plot for plot in made if plot is not None)


def by_interval(spec: RequestsSpec, phase: Sustained) -> list[float]:
    """Return what each interval had: right answers a second, or connections that were open on average."""
    if _holds(spec):
        return [open_ns / phase.interval_ns for open_ns in phase.open_ns]
    return [completed * 1e9 / phase.interval_ns for completed in phase.completed]


def _holds(spec: RequestsSpec) -> bool:
    return bool((spec.search or {}).get("holds"))


def _phases(run: Run, experiment: str, answers: Sequence[Answered]) -> list[Phase]:
    mine = [one for one in answers if one.spec.experiment == experiment]
    trials = [(one, at_rate(run, one)) for one in mine]
    return [(one, trial.sustain) for one, trial in trials if trial is not None and trial.sustain is not None]


def _chart(run: Run, experiment: str, phases: Sequence[Phase]) -> Plot | None:
    if not phases:
        return None
    common, names = told_apart([one.outcome.cell.cell_id for one, _ in phases])
    holds = _holds(phases[0][0].spec)
    within = OPEN_WITHIN if holds else RATE_WITHIN
    titles = {one["id"]: one.get("title") for one in run.profile.get("experiments", [])}
    rows = -(-len(phases) // _COLUMNS)

    def draw(figure: Any) -> None:
        grid = figure.subplots(rows, _COLUMNS, squeeze=False).flat
        for axes, name, (one, phase) in zip(grid, names, phases, strict=False):
            _panel(axes, by_interval(one.spec, phase), phase.interval_ns / 1e9, within)
            axes.set_title(label(name, 36, lines=2), size=8, loc="left")
        for axes in list(figure.axes)[len(phases) :]:
            axes.set_axis_off()

    what = "Connections open on average" if holds else "Right answers a second"
    return draw_plot(
        plot_name(experiment),
        f"{titles.get(experiment) or experiment}: the sustain phase",
        f"{what}, by interval of the phase (s), in the trial that the figure rests on; the band is within"
        f" {percent(within, 0)} of their mean.{f' All cells: {common}.' if common else ''}",
        (_COLUMNS * _PANEL[0], rows * _PANEL[1] + 0.4),
        draw,
    )


def _panel(axes: Any, values: Sequence[float], interval_s: float, ratio: float) -> None:
    ends = [number * interval_s for number in range(len(values) + 1)]
    mean = sum(values) / len(values)
    axes.axhspan(mean * (1 - ratio), mean * (1 + ratio), color=SERIES[0], alpha=0.2, linewidth=0)
    axes.stairs(values, ends, color=INK, linewidth=1.2)
    axes.set_xlim(0, ends[-1])
    axes.set_ylim(0, max(values) * 1.25 or 1)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.locator_params(nbins=4)
    axes.tick_params(labelsize=7.5)
