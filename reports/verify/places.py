"""Where executions ran, and that none stands twice: an answer is of the path that its trials went over.

A deployment's description tells path, hosting, function, network option and chain as its drivers realized
them; the cell tells what was asked for. Results of real traffic that hold latency and gaps in ns are never
equal (docs/adr/0288).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.records import NOTHING, Cell
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.store.canonical import sha256_of

_CHAIN = "chain"  # an axis, and what is told of it


@rule("VER-55", "", "each trial ran on a deployment of its cell's path, hosting, function, network and chain")
def ran_where_asked(evidence: Evidence) -> Iterator[Shortfall]:
    """What drivers tell of a deployment is what the cells ask for whose trials ran there.

    What a description does not tell is not compared; `questions` names runs that describe nothing.
    """
    if evidence.run is None or evidence.platform is None:
        return
    cells = {one.cell.cell_id: one.cell for one in evidence.plan}
    cells |= {one.cell.cell_id: one.cell for one in evidence.outcomes}
    options = _options(evidence)
    for cell_id, deployment in dict.fromkeys((line.cell_id, line.deployment_id) for line in evidence.lines):
        described = evidence.platform["deployments"].get(deployment)
        if cell_id in cells and isinstance(described, Mapping):
            for what, expected, found in _differs(cells[cell_id], described, options):
                yield f"{cell_id}: {what} of {deployment}", expected, found


def _options(evidence: Evidence) -> frozenset[str]:
    """Return the network options of a run's testbeds by name, and the word for none."""
    found = {NOTHING}
    for load in evidence.loads:
        of_load = evidence.of_load(load).run
        networks = of_load["testbed"].get("networks") if of_load else None
        found |= set(networks) if isinstance(networks, Mapping) else set()
    return frozenset(found)


def _differs(cell: Cell, described: Mapping[str, Any], options: frozenset[str]) -> Iterator[Shortfall]:
    path = described.get("path")
    if isinstance(path, str) and path != cell.path:
        yield "path", cell.path, path
    hosting = _named(described.get("hosting"), "form")
    if hosting is not None and hosting not in (cell.hosting, f"{cell.hosting}_{cell.network}"):
        yield "hosting", cell.hosting, hosting
    function = _named(described.get("function"), "name")
    if function is not None and function != cell.function:
        yield "function", cell.function, function
    for name in _networks(described.get("network")):
        if name != cell.network and name in options:  # a driver may call what it made otherwise
            yield "network", cell.network, name
    chained = described.get(_CHAIN)
    members = chained.get("members") if isinstance(chained, Mapping) else None
    if isinstance(members, list):
        found = ">".join(str(one.get("name")) for one in members if isinstance(one, Mapping))
        if found != (expected := str(dict(cell.axes).get(_CHAIN, NOTHING))):
            yield _CHAIN, expected, found


def _named(told: Any, key: str) -> str | None:
    name = told.get(key) if isinstance(told, Mapping) else told
    return name if isinstance(name, str) else None


def _networks(told: Any) -> Iterator[str]:
    """Give the network options that a description names: of one node, or of each node on the path."""
    if not isinstance(told, Mapping):
        return
    for one in (told, *told.values()):
        if isinstance(one, Mapping) and isinstance(name := one.get("network"), str):
            yield name


@rule("VER-56", "", "no execution stands twice", exit_code=2)
def nothing_twice(evidence: Evidence) -> Iterator[Shortfall]:
    """No two results of real traffic with times in ns are equal. Faults hold nothing."""
    if evidence.run is None or evidence.run["simulated"]:
        return
    first: dict[object, int] = {}
    for seq, result in _results(evidence):
        earlier = first.setdefault(result, seq)
        if earlier != seq:
            yield f"trial {seq}", "a result of its own", f"the result of trial {earlier}, to the ns"


def _results(evidence: Evidence) -> Iterator[tuple[int, object]]:
    """Give what was counted and measured; a time around it that was changed makes no other result.

    Of frames only what holds times that chance draws: counts alone are alike wherever nothing is lost, and
    not each tester tells more than counts and a duration.
    """
    for trial in evidence.trials:
        streams = trial.trial.result.streams
        if not trial.fault and any(one.latency.sum_ns and one.largest_gap_ns for one in streams):
            yield trial.trial.seq, streams
    for one in evidence.executions:
        if not one.body.faults:
            yield one.seq, sha256_of(one.body.result)


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Ask of a run of real traffic that tells of no deployment what it was."""
    if evidence.run is None or evidence.run["simulated"] or evidence.platform is None or not evidence.lines:
        return ()
    told = ("path", "hosting")
    bare = [
        name
        for name in dict.fromkeys(line.deployment_id for line in evidence.lines)
        if not any(key in evidence.platform["deployments"].get(name, {}) for key in told)
    ]
    if not bare:
        return ()
    return (f"deployments: {len(bare)} tell neither path nor hosting: on what did their trials run?",)


RULES: tuple[Rule[Evidence], ...] = (ran_where_asked, nothing_twice)
