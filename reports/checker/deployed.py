"""Which deployments of a scope tell nothing of what others of the same network option tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from bmwg.methodology.records import Cell
from bmwg.reports.checker.verdicts import Scope


def silent_beside(scope: Scope, described: Collection[str], tells: Callable[[object], bool]) -> list[str]:
    """Return deployments whose evidence tells nothing, of networks and hosting forms that others describe.

    What one deployment shows is no evidence of another one: a rule that looks at the described ones alone
    would be met by a run that left the others' evidence out.
    """
    told = (scope.evidence.platform or {}).get("deployments", {})
    cells = {planned.cell.cell_id: planned.cell for planned in scope.evidence.plan}
    ran = {trial.deployment_id: cells[trial.cell_id] for trial in scope.trials if trial.cell_id in cells}
    alike = {_place(ran[name]) for name in described if name in ran}
    return [
        name
        for name, cell in ran.items()
        if name not in described and _place(cell) in alike and not tells(told.get(name))
    ]


def has_part(key: str) -> Callable[[object], bool]:
    """Return whether evidence has a mapping under a key."""
    return lambda evidence: isinstance(evidence, Mapping) and isinstance(evidence.get(key), Mapping)


def _place(cell: Cell) -> tuple[str, str]:
    return cell.hosting, cell.network
