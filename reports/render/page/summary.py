"""The end of a run in a few lines for a terminal, computed from the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bmwg.methodology.answers.throughput import WIDE, streams_fps
from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.methodology.trial.disturbed import HINT, hardly_usable
from bmwg.reports import rooms
from bmwg.reports.render import searches
from bmwg.reports.render.facts import Facts, short_words
from bmwg.reports.render.plots.extent import extent
from bmwg.reports.render.sections.common_columns import TYPE_WORDS
from bmwg.reports.render.sections.results import banner, marked, tail
from bmwg.reports.render.sections.unanswered import unanswered
from bmwg.reports.render.text import plain

_AT_LOWER_END = (
    f"Latency beside an interval that reaches more than {WIDE:.0%} to either side of its number was taken at"
    " its lower end."
)


def summary_lines(told: Facts) -> list[str]:
    """Return the state of the run, one line a cell, and the counts by type. Plain text, no markup."""
    run = told.run
    lines = [plain(sentence) for _, sentence in banner(told)]
    if lacking := len(told.not_assessed()):
        lines.append(f"Not assessed: {lacking} of {len(told.outcomes)} answers, reasons below.")
    lines += _throughputs(told)
    marks = rooms.marks(run)
    lines += _aligned(
        [("cell", "metric", "answer, with what bounds it")]
        + [
            (plain(outcome.cell.cell_id), plain(outcome.metric), plain(marked(outcome, marks)))
            for outcome in run.outcomes
            if outcome.cell.kind != FRAMES and outcome.type is OutcomeType.MEASURED
        ]
    )
    if without := unanswered(told):
        lines += ["without a number:", *(f"  {plain(one)}" for one in without)]
    for load in run.kinds:
        counted = Counter(outcome.type for outcome in run.of_kind(load))
        words = ", ".join(f"{counted[kind]} {TYPE_WORDS[kind]}" for kind in OutcomeType if counted[kind])
        lines.append(f"{load}: {words or 'no answer'}" if len(run.kinds) > 1 else words or "no answer")
    if hardly_usable(told.outcomes, (trial.validity for trial in run.trials)):
        lines.append(f"hint: {HINT}")
    return [line.rstrip() for line in lines]


def _throughputs(told: Facts) -> list[str]:
    """Return what searches found, one line a cell that could be tried, and what a column stands for."""
    found = [one for one in told.of_search() if one.type is not OutcomeType.NOT_ASSESSED]
    metrics = told.search_metrics(found)
    head = ("path, option, octets", *searches.heads(metrics), "p50 / p99 latency")
    rows = [head]
    for outcome in found:
        answers = told.by_metric(outcome, metrics)
        loads = (plain(extent(told, answer)) if answer is not None else "" for answer in answers)
        rows.append((plain(short_words(outcome.cell)), *loads, _tail(told, outcome)))
    conditions = dict.fromkeys(filter(None, map(searches.condition, metrics)))
    if any(one.lower and streams_fps(one) != one.lower.load_fps and _tail(told, one) for one in found):
        conditions[_AT_LOWER_END] = None
    unit = "throughput in frames/s per port and direction, to the load at which it no longer holds:"
    return [unit, *_aligned(rows), *map(plain, conditions)] if found else []


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines; nothing for one with a head alone."""
    if len(rows) < 2:
        return []
    widths = [min(40, max(len(row[column]) for row in rows)) for column in range(len(rows[0]))]
    return [
        "  ".join(part.ljust(width) for part, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _tail(told: Facts, outcome: Outcome) -> str:
    found = told.latency_of(outcome.cell)
    return plain(tail(found)) if found is not None and found.values else ""
