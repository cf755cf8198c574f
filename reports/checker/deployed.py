"""What every deployment of a scope must show, and which tell nothing of what others of their option tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from bmwg.methodology.records import Cell
from bmwg.reports.checker.verdicts import Answer, Scope, held, not_applicable

_NAMED = 3  # deployments without it that a verdict names
T = TypeVar("T")


def silent_beside(scope: Scope, described: Collection[str], tells: Callable[[object], bool]) -> list[str]:
    """Return deployments whose evidence tells nothing, of networks and hosting forms that others describe.

    What one deployment shows is no evidence of another one: a rule that looks at the described ones alone
    would be met by a run that left the others' evidence out.
    """
    told = scope.evidence.deployments
    cells = {planned.cell.cell_id: planned.cell for planned in scope.evidence.plan}
    ran = {trial.deployment_id: cells[trial.cell_id] for trial in scope.trials if trial.cell_id in cells}
    alike = {_place(ran[name]) for name in described if name in ran}
    return [
        name
        for name, cell in ran.items()
        if name not in described and _place(cell) in alike and not tells(told.get(name))
    ]


def every(mine: Mapping[str, T], none: str, what: str, check: Callable[[T], bool]) -> Answer:
    """Whether each deployment of a scope shows something; not applicable, as `none` says, without one."""
    if not mine:
        return not_applicable(none)
    lacking = sorted(name for name, one in mine.items() if not check(one))
    found = f"{len(lacking)} of {len(mine)} deployments without: {', '.join(lacking[:_NAMED]) or 'none'}"
    return held(not lacking, what, found)


def recorded(scope: Scope, what: str) -> Answer:
    """Whether the machine stands in the record, and each deployment that trials of a scope ran on."""
    record = ((scope.evidence.platform or {}).get("base") or {}).get("before") is not None
    lacking = {trial.deployment_id for trial in scope.trials} - set(scope.evidence.deployments)
    found = f"{'a' if record else 'no'} record; {len(lacking)} deployments not described"
    return held(record and not lacking, what, found)


def has_part(key: str) -> Callable[[object], bool]:
    """Return whether evidence has a mapping under a key."""
    return lambda evidence: isinstance(evidence, Mapping) and isinstance(evidence.get(key), Mapping)


def _place(cell: Cell) -> tuple[str, str]:
    return cell.hosting, cell.network
