"""The draft's combination model as rules: which axis each interface of a pod serves, and by which model.

Evidence is what the network driver told of each attachment (platform.json, `deployments`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Direction
from bmwg.reports.checker.clauses.models import attachments, deployments
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

COMBINATION = "combination"
NORTH_SOUTH, EAST_WEST = "north-south", "east-west"
_NONE = not_applicable("no deployment on networks of several models (combination)")


def _fits(attachment: Mapping[str, Any]) -> bool:
    """Whether an interface is what its axis asks for: a virtual function, or a port of a vSwitch."""
    if attachment.get("axis") == NORTH_SOUTH:
        return bool(below(attachment, "virtual_function", "address"))
    return attachment.get("axis") == EAST_WEST and below(attachment, "interface", "kind") == "vhost-user"


@clause("CINF08-5.1.2.4-01")
def combined(scope: Scope) -> Answer:
    """Pods have a virtual function north and south and a port of a user-space vSwitch east and west."""
    mine = deployments(scope, COMBINATION)
    if not mine:
        return _NONE
    other = sorted(
        name
        for name, told in mine.items()
        if not _axes(told) <= {NORTH_SOUTH, EAST_WEST} or not all(map(_fits, attachments(told)))
    )
    both = sorted(name for name, told in mine.items() if _axes(told) == {NORTH_SOUTH, EAST_WEST})
    found = f"both axes in {len(both)} of {len(mine)} deployments, interfaces of another kind in {len(other)}"
    return held(bool(both) and not other, "interfaces of both axes, each of its kind", found)


@clause("CINF08-5.1.2.4-03")
def axes_abelow(scope: Scope) -> Answer:
    """Each deployment says which axes its frames pass, and the cells on it have one direction each."""
    mine = deployments(scope, COMBINATION)
    if not mine:
        return _NONE
    silent = sorted(name for name, told in mine.items() if not _axes(told) <= {NORTH_SOUTH, EAST_WEST})
    ran = {trial.cell_id for trial in scope.trials if trial.deployment_id in mine}
    cells = {outcome.cell for outcome in scope.outcomes if outcome.cell.cell_id in ran}
    mixed = sum(cell.direction is Direction.BOTH for cell in cells)
    found = f"{len(silent)} of {len(mine)} deployments without, {mixed} of {len(cells)} cells with both"
    return held(not silent and not mixed, "axes of each deployment, one direction a cell", found)


def _axes(told: Mapping[str, Any]) -> set[Any]:
    return {attachment.get("axis") for attachment in attachments(told)} or {None}
