"""Which cells have no number, why, and what would help, in words that need no other page."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.methodology.search.sustained import FILLS
from bmwg.reports.render.facts import Facts, short_words

_WHY = {
    OutcomeType.AT_FLOOR: "too much was lost even at the lowest load that is tried",
    OutcomeType.AT_CEILING: "the highest load that is tried was carried",
    OutcomeType.TESTER_LIMITED: "the tester can offer no more, so the device may carry more",
}
_HELPS = {
    OutcomeType.AT_FLOOR: "a profile with a lower `search.min_load_fps`",
    OutcomeType.TESTER_LIMITED: "a faster tester (docs/testers.md)",
}
_HELPS_OTHERS = {
    OutcomeType.AT_FLOOR: "a profile whose lowest load is lower",
    OutcomeType.AT_CEILING: "a profile whose highest load is higher",
    OutcomeType.TESTER_LIMITED: "clients and origin on hosts of their own (docs/lab.md)",
}
_LONGER = "a profile with longer trials, which a buffer cannot carry"
_Lacking = tuple[str, Outcome]  # words before the cell's name
_AGAIN = "longer trials, or a quieter hour, see `bmwg doctor`"
_QUIETER = "a quieter hour or CPUs of its own, see `bmwg doctor`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Cells that have no number for the same reason; `helps` is empty where nobody knows what would."""

    cells: tuple[str, ...]
    why: str
    helps: str

    def __str__(self) -> str:
        """Format as one line."""
        return f"{', '.join(self.cells)}: {self.why}" + (f" (helps: {self.helps})" if self.helps else "")


def unanswered(facts: Facts) -> list[Unanswered]:
    """Return the cells without a number, those with the same reason together, what was tried first.

    Latency is named where its cell has a load that it could be measured at, else it shares the load's fate.
    """
    groups: dict[tuple[str, str], list[_Lacking]] = {}
    for outcome in (one for one in facts.run.outcomes if one.cell.kind != FRAMES):
        _note(groups, facts, outcome)
    for outcome in facts.of_search():
        latency = facts.latency_of(outcome.cell)
        if not _note(groups, facts, outcome) and latency is not None:
            _note(groups, facts, latency, "latency of ")
    return [
        Unanswered(
            cells=tuple(dict.fromkeys(words + short_words(one.cell) for words, one in lacking)),
            why=why,
            helps=helps,
        )
        for (why, helps), lacking in sorted(groups.items(), key=lambda group: _order(group[1]))
    ]


def _order(lacking: list[_Lacking]) -> int:
    """Put devices that were tried first, and the tester's own cells last."""
    if all(one.cell.qualifies_tester for _, one in lacking):
        return 2
    return int(all(one.type is OutcomeType.NOT_ASSESSED for _, one in lacking))


def _note(
    groups: dict[tuple[str, str], list[_Lacking]], facts: Facts, outcome: Outcome, words: str = ""
) -> bool:
    if outcome.type is OutcomeType.MEASURED:
        return False
    groups.setdefault(_reason(facts, outcome), []).append((words, outcome))
    return True


def _reason(facts: Facts, outcome: Outcome) -> tuple[str, str]:
    usual = _HELPS if outcome.cell.kind == FRAMES else _HELPS_OTHERS
    helps = facts.run.mends.get(outcome.outcome_id, usual.get(outcome.type, ""))
    told = outcome.reason or outcome.statement
    if outcome.type in _WHY:
        return (told if told and outcome.cell.kind != FRAMES else _WHY[outcome.type]), helps
    said = told or "no reason was recorded"
    if outcome.type is OutcomeType.UNSTABLE and said.startswith(FILLS):
        return f"unstable, {said}", _LONGER
    if outcome.type is OutcomeType.UNSTABLE:
        disturbed = outcome.cell.kind == FRAMES and bool(facts.set_aside(outcome).count)
        return f"unstable, {said}", _QUIETER if disturbed else helps or _other(outcome)
    return said if outcome.type is OutcomeType.NOT_ASSESSED else f"invalid, {said}", helps


def _other(outcome: Outcome) -> str:
    """Say what helps a search of another kind of load, which met and missed the same one."""
    return "" if outcome.cell.kind == FRAMES else _AGAIN
