"""The draft's rows on chains of functions as rules: what a deployment of a chain must have shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.methodology import chains
from bmwg.methodology.data_plane import counts_of
from bmwg.methodology.record.seals import is_hidden
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

_NAMED = 3  # deployments without it that a verdict names
Told = Mapping[str, Any]


def _deployments(scope: Scope) -> dict[str, tuple[tuple[str, ...], Told]]:
    """Return the chain that was asked for and the evidence, of each deployment of a chain in this scope."""
    cells = {planned.cell.cell_id: planned.cell for planned in scope.evidence.plan}
    told = (scope.evidence.platform or {}).get("deployments", {})
    found: dict[str, tuple[tuple[str, ...], Told]] = {}
    for trial in scope.trials:
        cell = cells.get(trial.cell_id)
        if cell is not None and cell.path == chains.CHAIN:
            evidence = told.get(trial.deployment_id)
            found[trial.deployment_id] = (
                chains.of(dict(cell.axes)),
                evidence if isinstance(evidence, Mapping) else {},
            )
    return found


def _each(scope: Scope, what: str, check: Callable[[str, tuple[str, ...], Told], bool]) -> Answer:
    mine = _deployments(scope)
    if not mine:
        return not_applicable("no deployment of a chain")
    lacking = sorted(name for name, (asked, told) in mine.items() if not check(name, asked, told))
    found = f"{len(lacking)} of {len(mine)} deployments without: {', '.join(lacking[:_NAMED]) or 'none'}"
    return held(not lacking, what, found)


def _members(told: Told) -> Sequence[Told]:
    chain = told.get(chains.AXIS)
    found = chain.get("members") if isinstance(chain, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


@clause("CINF08-5.2.6-02")
def composed(scope: Scope) -> Answer:
    """The record names the functions of each chain in order, each once, as many as were asked for."""

    def check(_: str, asked: tuple[str, ...], told: Told) -> bool:
        names = [str(one.get("name")) for one in _members(told)]
        if len(names) != len(asked):
            return False
        # runs up to f5a6afe2b85c hid the names in public, by which two could be told apart still
        return all(is_hidden(name) or name == one for name, one in zip(names, asked, strict=True))

    return _each(scope, "the functions of each chain in their order, none shared", check)


@clause("CINF08-5.2.6-03")
def scheduled(scope: Scope) -> Answer:
    """Activation time stands in the record, and each trial counts the CPU time of every function."""
    counted: dict[str, int] = {}
    for trial in scope.trials:
        pods = sum(part.startswith("pod") for part in counts_of(trial.trial.result))
        counted[trial.deployment_id] = min(pods, counted.get(trial.deployment_id, pods))

    def check(name: str, asked: tuple[str, ...], told: Told) -> bool:
        chain = told.get(chains.AXIS)
        activation_s = chain.get("activation_s") if isinstance(chain, Mapping) else None
        return isinstance(activation_s, (int, float)) and counted[name] == len(asked)

    return _each(scope, "activation time, and CPU time of each function in each trial", check)


@clause("CINF08-5.2.6-04")
def attached_by(scope: Scope) -> Answer:
    """The record names the network option of each chain, and every function is attached by it twice."""

    def check(_: str, asked: tuple[str, ...], told: Told) -> bool:
        network = told.get("network")
        option = network.get("network") if isinstance(network, Mapping) else None
        found = told.get("attachments")
        names = (
            [one.get("network") for one in found if isinstance(one, Mapping)]
            if isinstance(found, list)
            else []
        )
        return bool(option) and names == [option] * (2 * len(asked))

    return _each(scope, "one network option for each chain, two attachments of it for each function", check)


CPUS, MEMORY = "pods.cpus", "pods.memory"
_LEAST_POINTS = 2


@clause("CINF08-5.2.4-03")
def both_varied(scope: Scope) -> Answer:
    """A design that varies what pods get has at least two levels of CPUs and two of memory."""
    levels: dict[str, set[object]] = {CPUS: set(), MEMORY: set()}
    for planned in scope.evidence.plan:
        for name, value in planned.cell.axes:
            if name in levels:
                levels[name].add(value)
    if not any(levels.values()):
        return not_applicable("no design varies the CPUs or the memory of pods")
    found = ", ".join(f"{len(values)} of {name}" for name, values in levels.items())
    enough = all(len(values) >= _LEAST_POINTS for values in levels.values())
    return held(enough, "two levels of a pod's CPUs and two of its memory at least", found)


RULES: tuple[ClauseRule, ...] = (composed, scheduled, attached_by, both_varied)
