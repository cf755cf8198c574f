"""Trends as blocks, from which all forms are made, and a plot of each series. Sentences are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from bmwg.reports.compare.statistics import METHOD
from bmwg.reports.compare.trend import NEWEST, Change, Point, Series, Trend
from bmwg.reports.render.blocks import Block, Figure, banner, paragraph, table, title
from bmwg.reports.render.facts import cell_words
from bmwg.reports.render.plots.drawing import INK, MARKERS, SERIES, Plot, draw_plot
from bmwg.reports.render.sections.guest import guest_sentences
from bmwg.reports.render.text import NONE, percent, quantity_text

_ROWS = 400  # choice: of a table
_DRAWN = 60  # choice: of plots; a page of more takes seconds to open
_FIELDS = 20  # choice: named at a jump


def trends_page(made: Sequence[Trend], newest: int = NEWEST) -> list[Block]:
    """Return the page of trends; figures are named as `plots_of` names them."""
    lines = title("Trend", 0)
    lines += paragraph(verdict(made, newest), lead=True)
    if len(made) > 1:
        lines += paragraph(
            f"{len(made)} trends stand apart: runs by other profiles, simulated ones, and those of testbeds"
            " whose calibrations (what was measured on the wire and on bare metal) do not agree or are"
            " not there."
        )
    lines += paragraph(METHOD)
    for number, one in enumerate(made):
        lines += _trend(number, one, newest)
    return lines


def verdict(made: Sequence[Trend], newest: int = NEWEST) -> str:
    """Say in a sentence whether anything became worse."""
    series = [one for trend in made for one in trend.series]
    if not series:
        return "No run gave a plain number, so nobody can tell whether anything became worse."
    worse = [one for one in series if one.worsened(newest)]
    among = f"among the newest {newest} runs"
    silent = sum(one.silent > 0 for one in series)
    told = f" {silent} have no plain number from the newest run that asked for one." if silent else ""
    apart = sum(bool(one.not_judged(newest)) for one in series)
    told += f" Of {apart} more nobody can tell: which way is worse, or at which load." if apart else ""
    count = len(series) - apart
    return (
        f"{len(worse)} of {count} series became worse by more than their width {among}.{told}"
        if worse
        else f"None of {count} series became worse by more than its width {among}.{told}"
    )


def _trend(number: int, made: Trend, newest: int) -> list[Block]:
    lines = title(f"Testbed {' and '.join(made.testbeds)}, profile {made.profile}")
    lines += paragraph(f"{len(made.runs)} runs, {made.runs[0].started_at} to {made.runs[-1].started_at}.")
    if made.simulated:
        lines += banner("simulated", "Simulated: no measurements.")
    if made.indicative:
        lines += banner("indicative", "Indicative: procedures of these runs were shortened.")
    for text in guest_sentences(made.runs):
        lines += banner("guest", text)
    rows = [_row(series, newest) for series in made.series[:_ROWS]]
    head = [
        *("cell", "metric", "plain numbers", "no plain number", "median", "smallest to largest"),
        *("new level from", "last change"),
    ]
    lines += table(head, rows, "Series by cell") or paragraph("No run gave a plain number.")
    if more := made.series[_ROWS:]:
        lines += paragraph(f"{len(more)} more series are not shown.")
    changed = [one for one in made.series if one.changes]
    lines += [line for one in changed for line in _changes(one)]
    for name, one in _drawn(number, made):
        caption = f"{_title(one)}{_beside(one.points)}"
        lines.append(Figure(file=f"{name}.svg", title=_title(one), caption=caption))
    return lines


def _row(one: Series, newest: int) -> list[str]:
    last = one.changes[-1] if one.changes else None
    said = NONE
    if last is not None:
        said = _signed(last.ratio) + (", worse" if one.worsened(newest) else "")
        said += f", at different loads ({last.unlike})" if last.unlike else ""
    return [
        cell_words(one.cell),
        one.metric,
        f"{len(one.points)}{_beside(one.points)}",
        str(one.gaps),
        quantity_text(median(one.numbers), one.unit),
        f"{quantity_text(min(one.numbers), one.unit)} to {quantity_text(max(one.numbers), one.unit)}",
        ", ".join(change.run_id for change in one.changes) or NONE,
        said,
    ]


def _changes(one: Series) -> Iterator[Block]:
    yield from title(f"Jumps of {_title(one)}", 2)
    rows = []
    for (before, after), change in zip(pairwise(one.parts), one.changes, strict=True):
        fields = ", ".join(field.path for field in change.fields[:_FIELDS]) or "none"
        more = f", and {len(change.fields) - _FIELDS} more" if len(change.fields) > _FIELDS else ""
        rows.append(
            [
                change.run_id,
                f"{quantity_text(change.before, one.unit)}{_beside(before)} to"
                f" {quantity_text(change.after, one.unit)}{_beside(after)}",
                _signed(change.ratio),
                percent(change.width, 2),
                _worse(one, change),
                fields + more,
            ]
        )
    head = [
        "first run",
        "medians",
        "change",
        "width",
        "worse by more than its width",
        "fields that changed with it",
    ]
    yield from table(head, rows)


def _worse(one: Series, change: Change) -> str:
    if change.unlike:
        return f"not known: taken at different loads ({change.unlike})"
    return ("yes" if change.worse else "no") if one.judged else "not known"


def _beside(points: Sequence[Point]) -> str:
    """Say of how many numbers which mark is; empty where none has one."""
    counted = Counter(point.mark for point in points if point.mark)
    told = ", ".join(f"{count} of {len(points)} {mark}" for mark, count in counted.items())
    return f" ({told})" if told else ""


def _signed(ratio: float) -> str:
    return ("+" if ratio >= 1 else "") + percent(ratio - 1, 2)


def _title(one: Series) -> str:
    return f"{one.metric}: {cell_words(one.cell)}"


def _drawn(number: int, made: Trend) -> Iterator[tuple[str, Series]]:
    """Yield what is drawn and its name: series that jumped before the others, of two numbers at least."""
    able = [series for series in made.series if len(series.points) > 1]
    able.sort(key=lambda one: not one.changes)
    for place, one in enumerate(able[:_DRAWN]):
        yield f"trend-{number}-{place}", one


def plots_of(made: Sequence[Trend]) -> Mapping[str, Plot]:
    """Draw the series of all trends, by name."""
    return {
        name: _plot(name, one) for number, trend in enumerate(made) for name, one in _drawn(number, trend)
    }


def _plot(name: str, one: Series) -> Plot:
    times = [datetime.fromisoformat(point.started_at) for point in one.points]
    beds = sorted({point.testbed for point in one.points})
    jumps = [len(one.points) - change.newest for change in one.changes]

    def draw(figure: Any) -> None:
        from matplotlib import dates
        from matplotlib.ticker import EngFormatter

        of_dates: Any = dates  # it has no types
        axes = figure.subplots()
        for number, bed in enumerate(beds):
            mine = [(at, point) for at, point in zip(times, one.points, strict=True) if point.testbed == bed]
            axes.plot(
                [at for at, _ in mine],
                [point.number for _, point in mine],
                linestyle="",
                marker=MARKERS[number % len(MARKERS)],
                markersize=4,
                color=SERIES[number % len(SERIES)],
                label=bed,
            )
        edges = [0, *jumps, len(one.points)]
        for (begin, end), level in zip(pairwise(edges), one.levels, strict=True):
            axes.plot([times[begin], times[end - 1]], [level, level], color=INK, linewidth=1.0)
        for at, change in zip(jumps, one.changes, strict=True):
            axes.axvline(times[at], color=INK, linestyle=":", linewidth=1.0)
            axes.annotate(
                _signed(change.ratio),
                (times[at], max(change.before, change.after)),
                textcoords="offset points",
                xytext=(4, 6),
                fontsize=8,
                color=INK,
            )
        axes.set_ylim(0, max(one.numbers) * 1.15)
        axes.set(ylabel=one.unit)
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        locator = of_dates.AutoDateLocator(minticks=3, maxticks=8)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(of_dates.ConciseDateFormatter(locator))
        axes.grid(axis="y")
        if len(beds) > 1:
            figure.legend(loc="outside lower center", ncols=3, frameon=False)

    count = f"{len(one.points)} numbers{_beside(one.points)}"
    levels = ", then ".join(quantity_text(level, one.unit) for level in one.levels)
    return draw_plot(
        name,
        _title(one),
        f"{count} by the time of their runs; medians of levels: {levels}.",
        (6.4, 2.6),
        draw,
    )
