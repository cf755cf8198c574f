"""Where executions ran, and that none stands twice: an answer is of the path that its trials went over.

A deployment's description tells path, hosting, function, network option and axes as its drivers realized
them; the cell tells what was asked for. Results of real traffic that hold latency and gaps in ns are never
equal (docs/adr/0288).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.cells import neighbours, parallel, vnics
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import NOTHING, Cell, TrialResult
from bmwg.reports.checker.evidence import Evidence, cells_of
from bmwg.reports.checker.findings import Rule, Shortfall, listed, rule
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.verify.copies import near_copies

_CHAIN = "chain"  # an axis, and what is told of it
_AROUND = "wall_ns"  # time around a result of other loads than frames
_PAUSE_NS = 10_000  # choice: shorter ones are what a clock tells in few steps


@rule("VER-55", "", "each trial ran on a deployment of its cell's path, hosting, function, network and axes")
def ran_where_asked(evidence: Evidence) -> Iterator[Shortfall]:
    """What drivers tell of a deployment is what the cells ask for whose trials ran there.

    What a description does not tell is not compared; `questions` names runs that describe nothing.
    """
    if evidence.run is None or evidence.platform is None:
        return
    cells = cells_of(evidence)
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
        names = [str(member.get("name")) for member in members if isinstance(member, Mapping)]
        expected = str(dict(cell.axes).get(_CHAIN, NOTHING))
        if ">".join(names) != expected:
            yield _CHAIN, expected, ">".join(names)
    yield from _beside(cell, described.get(parallel.AXIS))
    yield from _of_axes(cell, described)


def _of_axes(cell: Cell, described: Mapping[str, Any]) -> Iterator[Shortfall]:
    """Hold the kind of a guest's NIC against what stood."""
    asked, machines = dict(cell.axes).get(vnics.AXIS), described.get("machines")
    for machine in machines.values() if isinstance(machines, Mapping) else ():
        vnic = below(machine, "vnic", "kind")
        if asked is not None and isinstance(vnic, str) and vnic != asked:
            yield vnics.AXIS, str(asked), vnic


def _beside(cell: Cell, told: Any) -> Iterator[Shortfall]:
    """Hold the chains that stood beside each other against those that the cell asks for."""
    services = told.get("services") if isinstance(told, Mapping) else None
    if isinstance(services, list):
        found = tuple(
            tuple(map(str, service.get("functions", ())))
            for service in services
            if isinstance(service, Mapping)
        )
        if found != parallel.of(cell):
            yield parallel.AXIS, str(dict(cell.axes).get(parallel.AXIS, NOTHING)), str(found)


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


@rule("VER-58", "", "an execution beside a neighbour holds that one's work, and no other does")
def beside_what_is_named(evidence: Evidence) -> Iterator[Shortfall]:
    """Each execution, and each trial of frames, of a cell with a neighbour tells what that did."""
    cells = cells_of(evidence)
    for execution in evidence.executions:
        if execution.cell_id not in cells or execution.body.faults:
            continue
        name = neighbours.of(cells[execution.cell_id])
        host = execution.body.host
        told = sorted(one for one in host if one in neighbours.COUNTS or one.startswith(neighbours.NAMED))
        named = f"{neighbours.NAMED}{name}"
        wanted = [] if name == neighbours.ALONE else sorted((*neighbours.COUNTS, named))
        if told != wanted:
            yield (
                f"trial {execution.seq}: neighbour {name}",
                ", ".join(wanted) or "none",
                ", ".join(told) or "none",
            )

    for trial in evidence.trials:
        if trial.cell_id not in cells or trial.fault:
            continue
        name = neighbours.of(cells[trial.cell_id])
        told = sorted(set(neighbours.FRAMES_COUNTS) & dict(trial.trial.result.auxiliary).keys())
        wanted = [] if name == neighbours.ALONE else sorted(neighbours.FRAMES_COUNTS)
        if told != wanted:
            where = f"trial {trial.trial.seq}: neighbour {name}"
            yield where, ", ".join(wanted) or "none", ", ".join(told) or "none"


@rule("VER-56", "", "no execution stands twice", exit_code=2)
def nothing_twice(evidence: Evidence) -> Iterator[Shortfall]:
    """No two results of real traffic with times in ns are equal. Faults hold nothing."""
    if evidence.run is None or evidence.run["simulated"]:
        return
    first: dict[object, int] = {}
    for seq, results in _results(evidence):
        earlier = {first.setdefault(result, seq) for result in results} - {seq}
        if earlier:
            yield f"trial {seq}", "a result of its own", f"what trial {min(earlier)} has, to the ns"


def _results(evidence: Evidence) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Give what was counted and measured, in parts of which none is ever equal to another trial's.

    Of frames what chance draws counts: latencies, which of their rare values there were, and lengths of
    pauses in ns. Counts alone are alike wherever nothing is lost, and not each tester tells more than counts
    and a duration. Of other loads it is all that a result holds.
    """
    for trial in evidence.trials:
        if not trial.fault:
            told = [delay for delay in trial.delays if delay.telling]
            yield (
                trial.trial.seq,
                (
                    *((one.frames, one.fingerprint, one.fullest) for one in told),
                    *(delays.rare for delays in told if delays.rare),
                    *_pauses(trial.trial.result),
                ),
            )
    for execution in evidence.executions:
        if not execution.body.faults:
            yield execution.seq, (sha256_of(execution.body.result),)


def _pauses(result: TrialResult) -> Iterator[tuple[int, int, int]]:
    """Give the lengths in ns that a stream's tester measured, where there was a pause to measure."""
    for stream in result.streams:
        told = (stream.largest_gap_ns, stream.largest_lateness_ns, stream.effective_duration_ns)
        if min(told) > _PAUSE_NS:
            yield told


def _but_for_time(evidence: Evidence) -> Iterator[str]:
    """Name executions of other loads that are equal but for the time around them."""
    first: dict[str, int] = {}
    found = []
    for execution in evidence.executions:
        if not execution.body.faults and _AROUND in execution.body.result:
            result = {name: value for name, value in execution.body.result.items() if name != _AROUND}
            earlier = first.setdefault(sha256_of(result), execution.seq)
            found += [f"{execution.seq} ({earlier})"] if earlier != execution.seq else []
    if found:
        yield (
            f"copies: trial {listed(found)} is that in brackets but for the time "
            "around it: was it made from that?"
        )


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Ask on what a run of real traffic ran where it tells nothing, and of trials that are too alike."""
    if evidence.run is None or evidence.run["simulated"] or evidence.platform is None or not evidence.lines:
        return ()
    return (
        *_bare(evidence, evidence.platform["deployments"]),
        *near_copies(evidence),
        *_but_for_time(evidence),
    )


def _bare(evidence: Evidence, deployments: Mapping[str, Any]) -> Iterator[str]:
    told = ("path", "hosting")
    bare = [
        name
        for name in dict.fromkeys(line.deployment_id for line in evidence.lines)
        if not any(key in deployments.get(name, {}) for key in told)
    ]
    if bare:
        yield f"deployments: {len(bare)} tell neither path nor hosting: on what did their trials run?"


RULES: tuple[Rule[Evidence], ...] = (ran_where_asked, nothing_twice, beside_what_is_named)
