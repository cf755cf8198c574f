"""The first figure of kinds of load that send no frames: what each found, with what bounds it.

A panel holds one metric in one unit, from zero. Answers through translated machines are left out: they show
function, never a rate (docs/adr/machines.md), and stand in the sections.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.reports import rooms
from bmwg.reports.render.facts import Facts, other_loads
from bmwg.reports.render.plots.drawing import INK, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.sections.guest import translated
from bmwg.reports.render.sections.results import Central, central_value, marked
from bmwg.reports.render.text import nanoseconds, told_apart
from bmwg.reports.store import Run

NAME = "headlines"
_ROWS = 24  # choice: more is no glance
_PANELS = 6
_BAR = 0.6
_WORDS = 40  # choice: an answer with what bounds it takes two lines, as a name does
_WIDTH, _MARK = 6.4, 2.0  # inches; what a mark beside a number takes
Row = tuple[Outcome, Central]


def headline_plot(facts: Facts) -> Plot | None:
    """Draw them; None for a run of frames alone, or without a number of another kind."""
    every = list(_rows(facts.run))
    panels: dict[tuple[str, str, str], list[Row]] = {}
    for outcome, found in every[:_ROWS]:
        key = (outcome.cell.kind, outcome.metric.split(".")[0].replace("_", " "), found.unit)
        panels.setdefault(key, []).append((outcome, found))
    shown = dict(list(panels.items())[:_PANELS])
    if not shown:
        return None
    drawn = sum(map(len, shown.values()))
    named = {outcome.outcome_id for rows in shown.values() for outcome, _ in rows}
    marks = {name: words for name, words in rooms.marks(facts.run).items() if name in named}

    def draw(figure: Any) -> None:
        heights = [len(rows) + 1.2 for rows in shown.values()]
        every_axes = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
        for number, (axes, (key, rows)) in enumerate(zip(every_axes, shown.items(), strict=True)):
            _draw(axes, key, rows, SERIES[number % len(SERIES)], marks)

    left = len(every) - drawn
    return draw_plot(
        NAME,
        other_loads(facts.run),
        "Bars begin at zero; a stroke is the 95 % interval of a mean, or a median's, 90 % if nothing else"
        " is said; a pale end reaches to the lowest load of a search that did not meet its criteria."
        + not_drawn(left, "answers"),
        (_WIDTH + (_MARK if marks else 0), 0.6 + 0.26 * drawn + 0.55 * len(shown)),
        draw,
    )


def _draw(
    axes: Any, key: tuple[str, str, str], rows: Sequence[Row], colour: str, marks: Mapping[str, str]
) -> None:
    from matplotlib.ticker import MaxNLocator

    kind, metric, unit_name = key
    for place, (outcome, found) in enumerate(rows):
        axes.barh(place, found.number, height=_BAR, color=colour, alpha=0.75, zorder=2)
        if found.unmet is not None:
            beyond = found.unmet - found.number
            axes.barh(place, beyond, height=_BAR, left=found.number, color=colour, alpha=0.2, zorder=2)
        if (ends := _ends(found)) is not None:
            axes.plot(ends, [place, place], color=INK, linewidth=1.4, zorder=3)
        said = textwrap.fill(marked(outcome, marks), _WORDS)
        across = axes.get_yaxis_transform()
        axes.text(1.015, place, said, transform=across, va="center", size=8, color=INK, linespacing=0.9)
    longest = max(max(found.number, found.unmet or 0, *(_ends(found) or ())) for _, found in rows)
    axes.set_xlim(0, longest * 1.03 if longest > 0 else 1)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    common, names = told_apart([outcome.cell.cell_id for outcome, _ in rows])
    axes.set_yticks(range(len(rows)), [label(name, 36, lines=2) for name in names], size=8, linespacing=0.9)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3))
    if unit_name == "ns":
        axes.xaxis.set_major_formatter(lambda value, _: nanoseconds(value))
    else:
        axes.xaxis.set_major_formatter("{x:,g}")
    said = f"{kind}: {metric}{'' if unit_name == 'ns' else f', {unit_name}'}"
    axes.set_xlabel(f"{said} ({label(common, 60)})" if common else said, size=8.5)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _ends(found: Central) -> tuple[float, float] | None:
    """Return the ends of the interval of a mean or of a median; None without one."""
    if found.half is not None:
        return found.number - found.half, found.number + found.half
    return found.ends


def _rows(run: Run) -> Iterator[Row]:
    deployments: dict[int, str] = {execution.seq: execution.deployment_id for execution in run.executions}
    for outcome in run.outcomes:
        if outcome.cell.kind == FRAMES or outcome.type is not OutcomeType.MEASURED:
            continue
        found = central_value(outcome)
        names = {deployments[seq] for seq in outcome.trials if seq in deployments}
        if found is not None and not any(translated(run, name) for name in names):
            yield outcome, found
