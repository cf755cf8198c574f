"""What pods were granted, as a rule: nothing but what runs in them, or attaches them, asks for.

Evidence is what the kernel said of a pod's processes while its deployment stood (platform.json,
`deployments`, `rights`): each capability that one of them had or could gain, and whether it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.reports.checker.clauses.isolation import MADE, no_special_capability
from bmwg.reports.checker.deployed import silent_beside
from bmwg.reports.checker.verdicts import (
    EVERY_LOAD,
    Answer,
    Scope,
    Verdict,
    clause,
    held,
)

_NAMED = 3  # deployments, and capabilities of one, that a verdict names


@clause("CINF08-7-03", loads=EVERY_LOAD)
def containerized_no_special_capability(scope: Scope) -> Answer:
    """No pod has a capability that nothing in it asked for.

    Where the run made the device itself that is all that it could be given; of a device of somebody's own
    only a person can say what else it has.
    """
    said = no_special_capability.check(scope)
    told = dict(_pods(scope))
    if not told:
        return said
    expected = "in each pod no capability that neither its function nor its network asks for"
    more = {name: found for name, rights in told.items() if (found := _unasked(rights))}
    if more:
        shown = [f"{name}: {', '.join(found[:_NAMED])}" for name, found in sorted(more.items())[:_NAMED]]
        return held(
            False, expected, f"others in {len(more)} of {len(told)} descriptions of pods ({'; '.join(shown)})"
        )
    if said.verdict is Verdict.NOT_MET or not _made_by_the_run(scope):
        return said
    deployments = {name.partition("/")[0] for name in told}
    if silent := silent_beside(scope, deployments, lambda one: any(_within(one, ()))):
        none = f"{len(silent)} deployments of pods tell no rights {silent[:_NAMED]}"
        return held(False, expected, none)
    granted = {
        key for rights in told.values() for key, one in rights["capabilities"].items() if one["granted"]
    }
    return held(
        True,
        expected,
        f"the pods of {len(deployments)} deployments were granted {', '.join(sorted(granted)) or 'none'}; "
        "all of these were asked for",
    )


def _pods(scope: Scope) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return the rights of each pod of the deployments of this scope's trials."""
    for name in sorted({trial.deployment_id for trial in scope.trials}):
        for where, rights in _within(scope.evidence.deployments.get(name), ()):
            yield "/".join((name, *where)), rights


def _within(node: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    if isinstance(node, Mapping):
        rights = node.get("rights")
        if isinstance(rights, Mapping) and isinstance(rights.get("capabilities"), Mapping):
            yield where, rights
        for key, value in node.items():
            yield from _within(value, (*where, str(key)))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _within(value, (*where, str(number)))


def _unasked(rights: Mapping[str, Any]) -> list[str]:
    return [
        name for name, one in rights["capabilities"].items() if one.get("granted") and not one.get("asked")
    ]


def _made_by_the_run(scope: Scope) -> bool:
    """Whether every node is one that the run made, and no port is a laboratory's."""
    testbed: Mapping[str, Any] = scope.run["testbed"]
    nodes = testbed.get("nodes")
    if testbed.get("lab_ports") or not isinstance(nodes, Mapping):
        return False
    return all(isinstance(node, Mapping) and node.get("kind") in MADE for node in nodes.values())
