"""Functions that count what they do: their counts beside the tester's, and what a setting of theirs costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.answers.data_plane_functions import disagreements, told_of
from bmwg.methodology.cells import axes as axes_of_cells
from bmwg.methodology.records import Cell, Outcome, TrialResult
from bmwg.reports.render.blocks import Block, pairs, table, title
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.plots.drawing import MARKERS, SERIES, Plot, draw_plot, label, not_drawn
from bmwg.reports.render.plots.extent import extent
from bmwg.reports.render.plots.option_panels import beside
from bmwg.reports.render.sections.chain_section import draw_latency, draw_throughput
from bmwg.reports.render.sections.common_columns import HEAD, front
from bmwg.reports.render.sections.results import tail
from bmwg.reports.render.text import NONE, nanoseconds, whole

NAME = "functions"
_MOST_LINES = len(MARKERS)
_LOGARITHMIC = 10  # choice: numbers that are so far apart stand on a logarithmic axis
_WORDS = (
    ("came to it, let through", "frames by the function's own counters, over all valid trials of the search"),
    ("sent, received", "the tester's counts of the same trials; what lies between was lost before or behind"),
)
Series = Mapping[tuple[str, Cell], Sequence[tuple[int, Outcome]]]  # by setting and what else is alike


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Frames over some trials: the function's counts and the tester's; `agree` in each trial."""

    offered: int
    passed: int
    sent: int
    received: int
    agree: bool


def series_of(facts: Facts) -> Series:
    """Return throughputs by a numeric setting of their function that has several values, smallest first."""
    found: dict[tuple[str, Cell], list[tuple[int, Outcome]]] = {}
    for outcome in facts.of_search():
        for name, value in outcome.cell.axes:
            if axes_of_cells.setting_place(name)[:1] == (axes_of_cells.FUNCTIONS,) and isinstance(value, int):
                others = tuple(axis for axis in outcome.cell.axes if axis[0] != name)
                alike = replace(outcome.cell, axes=others)
                found.setdefault((name, alike), []).append((value, outcome))
    return {
        key: sorted(points, key=lambda point: point[0]) for key, points in found.items() if len(points) > 1
    }


def section(facts: Facts, figure: Sequence[Block]) -> list[Block]:
    """Return the section; nothing for a run without functions that count. `figure`: its plot."""
    rows = []
    for outcome in facts.of_search():
        if (sums := _sums(facts, outcome)) is not None:
            late = facts.latency_of(outcome.cell)
            rows.append(
                [
                    *front(outcome),
                    str(extent(facts, outcome)),
                    (tail(late) if late and tail(late) else NONE),
                    *map(whole, (sums.sent, sums.offered, sums.passed, sums.received)),
                    "yes" if sums.agree else "no",
                ]
            )
    if not rows:
        return []
    head = [*HEAD, "throughput, frames/s per port and direction", "latency p50 / p99"]
    head += ["sent", "came to it", "let through", "received", "counts agree"]
    lines = [*title("Functions that filter or translate"), *figure]
    return [*lines, *table(head, rows, "What functions counted, and the tester"), *pairs(_WORDS)]


def _sums(facts: Facts, outcome: Outcome) -> _Sums | None:
    """Sum over the valid trials of a search; None where its function counts nothing."""
    results: list[TrialResult] = [trial.result for trial in facts.judged(outcome) if trial.valid]
    told = [one for result in results for one in told_of(result)]
    if not told:
        return None
    return _Sums(
        offered=sum(one.offered_frames for one in told),
        passed=sum(one.passed_frames for one in told),
        sent=sum(result.sent_frames for result in results),
        received=sum(result.received_frames for result in results),
        agree=not any(said for result in results for said in disagreements(result)),
    )


def function_plot(facts: Facts) -> Plot | None:
    """Draw throughput and latency against a setting of the functions; None where none has several values."""
    every = series_of(facts)
    if not every:
        return None
    setting = next(iter(every))[0]
    mine = {alike: points for (name, alike), points in every.items() if name == setting}
    shown = dict(list(mine.items())[:_MOST_LINES])
    numbers = sorted({number for points in shown.values() for number, _ in points})

    def draw(figure: Any) -> None:
        loads, times = figure.subplots(1, 2)
        for place, (alike, points) in enumerate(shown.items()):
            drawn = [(number, extent(facts, one), beside(facts, one)) for number, one in points]
            draw_throughput(loads, drawn, SERIES[place], MARKERS[place], label(option(alike), 40))
            draw_latency(times, drawn, SERIES[place], MARKERS[place])
        words = setting.rpartition(".")[2]
        loads.set(xlabel=words, ylabel="throughput, frames/s\nper port and direction")
        loads.set_ylim(0, max(loads.dataLim.ymax * 1.1, 1))
        times.set(xlabel=words, ylabel="latency, dot p50, stroke p99")
        times.set_yscale("log")
        times.yaxis.set_major_formatter(lambda value, _: nanoseconds(value))
        times.yaxis.set_minor_formatter(lambda _value, _place: "")
        from matplotlib.ticker import EngFormatter

        for axes in (loads, times):
            if numbers[-1] >= _LOGARITHMIC * numbers[0]:
                axes.set_xscale("log")
                axes.set_xlim(numbers[0] / 2, numbers[-1] * 2)
            axes.set_xticks(numbers)
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            axes.xaxis.set_minor_formatter(lambda _value, _place: "")
            axes.grid(axis="y")
        loads.yaxis.set_major_formatter(EngFormatter(sep=""))
        handles, labels = loads.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)

    left = len(every) - len(shown)
    return draw_plot(
        NAME,
        f"Throughput and latency against {setting}",
        "Filled marks are plain numbers, and lines join these alone; a stroke is an interval between its"
        " ends, an arrow up means at least, an arrow down less than, a cross an unstable answer. Latency is"
        " at each cell's own throughput, so loads differ." + not_drawn(left, "rows"),
        (7.2, 3.6),
        draw,
    )
