"""The draft's rows on chains of functions as rules: what a deployment of a chain must have shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.answers.data_plane import counts_of
from bmwg.methodology.cells import chains, parallel
from bmwg.methodology.record.facts import below
from bmwg.methodology.record.seals import is_hidden
from bmwg.methodology.records import Cell
from bmwg.reports.checker.deployed import every
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deployed:
    """A deployment of chains: its cell, the functions that were asked for, what the drivers told."""

    name: str
    cell: Cell
    asked: tuple[str, ...]
    told: Told
    chained: Told


def _deployments(scope: Scope) -> dict[str, _Deployed]:
    """Return the deployments of a chain, or of chains beside each other, in this scope."""
    cells = {planned.cell.cell_id: planned.cell for planned in scope.evidence.plan}
    told = scope.evidence.deployments
    found: dict[str, _Deployed] = {}
    for trial in scope.trials:
        cell = cells.get(trial.cell_id)
        if cell is None or cell.path not in (chains.CHAIN, parallel.PATH):
            continue
        evidence = told.get(trial.deployment_id)
        evidence = evidence if isinstance(evidence, Mapping) else {}
        beside = parallel.of(cell)
        chained = evidence.get(parallel.AXIS if beside else chains.AXIS)
        found[trial.deployment_id] = _Deployed(
            name=trial.deployment_id,
            cell=cell,
            asked=parallel.functions(beside) if beside else chains.of(dict(cell.axes)),
            told=evidence,
            chained=chained if isinstance(chained, Mapping) else {},
        )
    return found


def _each(scope: Scope, what: str, check: Callable[[_Deployed], bool]) -> Answer:
    return every(_deployments(scope), "no deployment of a chain", what, check)


def _mappings(found: object) -> list[Told]:
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


@clause("CINF08-5.2.6-02")
def composed(scope: Scope) -> Answer:
    """The record names each function once, each chain's in order, and those that chains share."""

    def check(one: _Deployed) -> bool:
        names = [str(member.get("name")) for member in _mappings(one.chained.get("members"))]
        if len(names) != len(one.asked):
            return False
        if beside := parallel.of(one.cell):
            told = [tuple(service.get("functions", ())) for service in _services(one)]
            if told != list(beside) or one.chained.get("shared") != list(parallel.shared(beside)):
                return False
        # runs up to f5a6afe2b85c hid the names in public, by which two could be told apart still
        return all(is_hidden(name) or name == asked for name, asked in zip(names, one.asked, strict=True))

    return _each(scope, "the functions of each chain in their order, and those that chains share", check)


def _services(one: _Deployed) -> list[Told]:
    return _mappings(one.chained.get("services"))


@clause("CINF08-5.2.6-03")
def scheduled(scope: Scope) -> Answer:
    """Activation time stands in the record, and each trial counts the CPU time of every function."""
    counted: dict[str, int] = {}
    mine = _deployments(scope)
    for trial in (one for one in scope.trials if one.deployment_id in mine):
        pods = sum(part.startswith("pod") for part in counts_of(trial.trial.result))
        counted[trial.deployment_id] = min(pods, counted.get(trial.deployment_id, pods))

    def check(one: _Deployed) -> bool:
        activation_s = one.chained.get("activation_s")
        return isinstance(activation_s, (int, float)) and counted[one.name] == len(one.asked)

    return _each(scope, "activation time, and CPU time of each function in each trial", check)


@clause("CINF08-5.2.6-04")
def attached_by(scope: Scope) -> Answer:
    """The record names the chain's network option, that of its cell, and it attaches every function twice."""

    def check(one: _Deployed) -> bool:
        option = below(one.told, "network", "network")
        names = [attachment.get("network") for attachment in _mappings(one.told.get("attachments"))]
        return option == one.cell.network and names == [option] * (2 * len(one.asked))

    return _each(scope, "one network option for each chain, two attachments of it for each function", check)


@clause("CINF08-5.2.6-05")
def served_at_once(scope: Scope) -> Answer:
    """Several services stood on the node, and each valid trial offered and counted frames of every one."""
    mine = {name: one for name, one in _deployments(scope).items() if parallel.of(one.cell)}
    uncounted = {
        trial.deployment_id
        for trial in scope.trials
        if trial.deployment_id in mine and trial.trial.valid and not _all_counted(trial, mine)
    }

    def check(one: _Deployed) -> bool:
        return len(_services(one)) == len(parallel.of(one.cell)) and one.name not in uncounted

    what = "each service in the record, and its frames counted in each trial"
    return every(mine, "one service at a time", what, check)


def _all_counted(trial: Trial, mine: Mapping[str, _Deployed]) -> bool:
    services = len(parallel.of(mine[trial.deployment_id].cell))
    streams = trial.trial.result.streams
    return bool(streams) and all(
        len(stream.sent_by_network) == len(stream.received_by_network) == services
        and min(stream.sent_by_network) > 0
        for stream in streams
    )


CPUS, MEMORY = "pods.cpus", "pods.memory"
_LEAST_POINTS = 2


@clause("CINF08-5.2.4-03")
def both_varied(scope: Scope) -> Answer:
    """A design that varies what pods get tried at least two levels of CPUs and two of memory."""
    levels: dict[str, set[object]] = {CPUS: set(), MEMORY: set()}
    tried = {trial.cell_id for trial in scope.evidence.trials if trial.trial.valid}
    designed = False
    for planned in scope.evidence.plan:
        for name, value in planned.cell.axes:
            if name in levels:
                designed = True
                levels[name] |= {value} if planned.cell.cell_id in tried else set()
    if not designed:
        return not_applicable("no design varies the CPUs or the memory of pods")
    found = ", ".join(f"{len(values)} of {name}" for name, values in levels.items())
    enough = all(len(values) >= _LEAST_POINTS for values in levels.values())
    return held(enough, "two levels of a pod's CPUs and two of its memory at least", found)
