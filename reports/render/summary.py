"""The end of a run in a few lines for a terminal, computed from the run."""

from __future__ import annotations

from collections import Counter

from bmwg.methodology.disturbed import HINT, hardly_usable
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.render.facts import LATENCY, facts, option
from bmwg.reports.render.results import TYPE_WORDS, banner, beside_wide, quantity_text, tail
from bmwg.reports.render.text import plain
from bmwg.reports.store import Run


def summary_lines(run: Run) -> list[str]:
    """Return the state of the run, one line a cell, and the counts by type. Plain text, no markup."""
    told = facts(run)
    lines = [plain(sentence) for _, sentence in banner(told)]
    latency = {outcome.cell.cell_id: outcome for outcome in told.of_metric(LATENCY)}
    rows = [
        (
            plain(option(outcome.cell)),
            str(outcome.cell.frame_octets),
            _answer(outcome),
            _tail(outcome, latency),
        )
        for outcome in told.of_search()
    ]
    if rows:
        head = ("path and option", "octets", "throughput per port and direction", "p50 / p99 latency")
        widths = [min(40, max(len(row[column]) for row in (head, *rows))) for column in range(3)]
        for row in (head, *rows):
            lines.append(
                "  ".join(part.ljust(width) for part, width in zip(row, widths, strict=False)) + f"  {row[3]}"
            )
    for load in run.kinds:
        counted = Counter(outcome.type for outcome in run.of_kind(load))
        words = ", ".join(f"{counted[kind]} {TYPE_WORDS[kind]}" for kind in OutcomeType if counted[kind])
        lines.append(f"{load}: {words or 'no answer'}" if len(run.kinds) > 1 else words or "no answer")
    if hardly_usable(told.outcomes, (trial.validity for trial in run.trials)):
        lines.append(f"hint: {HINT}")
    return [line.rstrip() for line in lines]


def _answer(outcome: Outcome) -> str:
    if outcome.type is OutcomeType.MEASURED:
        text = quantity_text(outcome.values[0].number, outcome.values[0].unit)
        return plain(text + beside_wide(outcome))
    said = outcome.statement or outcome.reason
    return plain(f"{TYPE_WORDS[outcome.type]}: {said}" if said else TYPE_WORDS[outcome.type])


def _tail(outcome: Outcome, latency: dict[str, Outcome]) -> str:
    found = latency.get(outcome.cell.cell_id)
    if found is None or not found.values:
        return ""
    return plain(tail(found))
