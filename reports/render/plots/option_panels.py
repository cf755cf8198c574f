"""The panels of the first figure beside throughput: latency at each row's load, and the CPUs that it took.

A mark is drawn only where the run has that answer; a row without one stays empty, or says the type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.answers.data_plane import Use
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.trial import directions
from bmwg.reports.render.facts import LATENCY, Facts, percentiles, told_ways
from bmwg.reports.render.plots.drawing import GRID, INK, SERIES
from bmwg.reports.render.text import nanoseconds

P50, P99 = "p50", "p99"
_MEDIAN, _CPU = SERIES[2], SERIES[3]
_BAR = 0.6
_SIZE = 7.5
_SHIFT = 0.17  # of a row, between two directions
_FREE = 1.12  # of the longest bar: room for its number


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands beside the throughput of one row.

    `latency_ns` are median and 99th percentile of each direction that was told; `latency_word` says why there
    is none. `at_load` says that CPUs were counted at the row's lossless load; else over all of its search.
    """

    latency_ns: tuple[tuple[str, float, float], ...] = ()
    latency_word: str = ""
    cpus: float | None = None
    at_load: bool = False


def beside(facts: Facts, outcome: Outcome) -> Beside:
    """Return what the run says beside a row."""
    found = facts.latency_of(outcome.cell)
    at_load: Use | None = facts.use(outcome)
    use = at_load or facts.use_over_all(outcome)
    cpus = None if use is None else use.cpus
    told = {"cpus": cpus, "at_load": at_load is not None}
    if found is None:
        return Beside(**told)  # type: ignore[arg-type]
    if found.type is not OutcomeType.MEASURED:
        word = found.type.value.replace("_", " ")
        return Beside(latency_word=word, **told)  # type: ignore[arg-type]
    ways = []
    for way in told_ways(found, LATENCY):
        values = percentiles(found, way)
        if P50 in values and P99 in values:
            ways.append((way, float(values[P50].number), float(values[P99].number)))
    return Beside(latency_ns=tuple(ways), **told)  # type: ignore[arg-type]


def draw_latency(axes: Any, rows: Sequence[Beside], places: Sequence[float]) -> None:
    """Draw a dot at the median and a line to a stroke at the 99th percentile, on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, NullLocator

    every = [number for row in rows for _, *pair in row.latency_ns for number in pair]
    low, high = _limits(every)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    for place, one in zip(places, rows, strict=True):
        ways = one.latency_ns
        for number, (way, median, tail) in enumerate(ways):
            at = place + (number - (len(ways) - 1) / 2) * 2 * _SHIFT
            axes.plot([median, tail], [at, at], color=_MEDIAN, linewidth=1.4, zorder=2)
            axes.plot([median], [at], marker="o", markersize=4.5, color=_MEDIAN, linestyle="", zorder=3)
            axes.vlines([tail], at - _SHIFT, at + _SHIFT, color=_MEDIAN, linewidth=1.6, zorder=3)
            said = directions.of(f"{nanoseconds(median)} / {nanoseconds(tail)}", way)
            _beside(axes, at, said)
        if not ways and one.latency_word:
            _beside(axes, place, one.latency_word)
    axes.xaxis.set_major_formatter(lambda value, _: nanoseconds(value))
    _finish(axes, "latency p50 to p99, each at\nits row's load, logarithmic")


def _limits(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axis: around all numbers, at least a factor of four apart."""
    low, high = min(numbers, default=1_000.0), max(numbers, default=1_000.0)
    wanted = max(4.0, high / low * _FREE**2)
    spare = math.sqrt(wanted * low / high)
    return low / spare, high * spare


def _ticks(low: float, high: float) -> list[float]:
    """Return two round numbers on the axis, as far apart as they are there: names of more would meet."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1,), (1, 2, 5)):
        round_ones = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [one for one in round_ones if low <= one <= high]
        if len(inside) > 1:
            return [inside[0], inside[-1]]
    return inside


def draw_cpus(axes: Any, rows: Sequence[Beside], places: Sequence[float]) -> None:
    """Draw CPUs in use: filled at the row's lossless load, an outline over all trials of its search."""
    from matplotlib.ticker import MaxNLocator

    longest = max((row.cpus for row in rows if row.cpus), default=1.0)
    for place, one in zip(places, rows, strict=True):
        if one.cpus is None:
            continue
        style = {"color": _CPU} if one.at_load else {"facecolor": "none", "edgecolor": _CPU, "linestyle": ":"}
        axes.barh(place, one.cpus, height=_BAR, zorder=2, **style)
        _beside(axes, place, f"{one.cpus:.2f}")
    axes.set_xlim(0, max(longest, 0.01) * _FREE)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=2))
    axes.xaxis.set_major_formatter("{x:g}")
    _finish(axes, "CPUs of the\ndata plane")


def cpu_marks(rows: Sequence[Beside]) -> list[Any]:
    """Return the legend's entries for the bars of CPUs that are drawn."""
    from matplotlib.patches import Patch

    dotted: dict[str, Any] = {"facecolor": "none", "edgecolor": _CPU, "linestyle": ":"}
    kinds = {row.at_load for row in rows if row.cpus is not None}
    at_load = [Patch(color=_CPU, label="CPUs in use at the row's load")]
    of_search = [Patch(**dotted, label="CPUs in use over all trials of its search")]
    return (at_load if True in kinds else []) + (of_search if False in kinds else [])


def latency_marks() -> list[Any]:
    """Return the legend's entry for latency."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], marker="o", markersize=4.5, color=_MEDIAN, label="latency: dot p50, stroke p99")]


def _beside(axes: Any, place: float, text: str) -> None:
    across = axes.get_yaxis_transform()
    axes.text(1.03, place, text, transform=across, va="center", size=_SIZE, color=INK)


def _finish(axes: Any, name: str) -> None:
    axes.set_xlabel(name)
    axes.grid(axis="x", zorder=0, color=GRID)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelleft=False)
