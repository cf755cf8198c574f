"""What a run tells more than once, or always tells: one telling cannot be changed or left out alone.

A vendor who changes what pays leaves standing what he does not think of. A release measures by certain
versions; a tester watches its CPUs in each trial; a gap has a length and a count. Nothing here shows that a
trial took place (docs/adr/0298).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.answers import procedures
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.record.facts import below
from bmwg.methodology.record.seals import is_hidden
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.releases import releases

_READ = frozenset({"driver", "io", "kind"})  # fields that rules read; no redaction of ours hides them


@rule("VER-50", "", "a run was measured by the versions that its toolkit's release has", exit_code=2)
def versions_of_release(evidence: Evidence) -> Iterator[Shortfall]:
    """Version, format and procedures are those of the release whose commit an unchanged toolkit names."""
    run = evidence.run
    if run is None or run["toolkit"]["dirty"] is not False:
        return
    theirs = releases().get(run["toolkit"]["commit"])
    if theirs is None:
        return
    words = f"as of release {theirs.version}"
    if run["toolkit"]["version"] != theirs.version:
        yield "run.json: toolkit: version", f"{theirs.version}, by its commit", run["toolkit"]["version"]
    if run["schema"] != theirs.run:
        yield "run.json: schema", f"{theirs.run}, {words}", run["schema"]
    recorded = run.get("procedures", {})
    metrics = (recorded_as(outcome.metric) for outcome in evidence.outcomes)
    for name in dict.fromkeys((*procedures.OF_EVERY_RUN, *recorded, *metrics)):
        wanted = theirs.procedures.get(name, procedures.FIRST)
        if (found := recorded.get(name, "none")) != wanted:
            yield f"run.json: procedures: {name}", f"version {wanted}, {words}", str(found)


@rule("VER-52", "", "nothing is hidden that a rule reads", exit_code=2)
def read_plainly(evidence: Evidence) -> Iterator[Shortfall]:
    """Drivers, kinds and ports stand in words: redaction leaves them, so only somebody else hides them."""
    if evidence.run is None:
        return
    for part in ("testbed", "drivers", "medium"):
        yield from _hidden(evidence.run[part], f"run.json: {part}")
    if evidence.platform is not None:
        yield from _hidden(evidence.platform["deployments"], "platform.json: deployments")
        for place, record in _records(evidence.platform):
            yield from _hidden_ports(record, f"platform.json: {place}")


def _hidden(node: Any, where: str) -> Iterator[Shortfall]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            words = value if isinstance(value, list) else [value]
            if key in _READ and any(map(is_hidden, words)):
                yield f"{where}: {key}", "a word, which redaction leaves", "a commitment"
            else:
                yield from _hidden(value, f"{where}: {key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _hidden(value, f"{where}: {number}")


def _records(platform: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    base = platform["base"]
    yield from ((f"base: {name}", base[name]) for name in ("before", "after") if base[name])
    for deployment, nodes in platform.get("records", {}).items():
        yield from ((f"records: {deployment}: {name}", one) for name, one in nodes.items())


def _hidden_ports(record: Mapping[str, Any], where: str) -> Iterator[Shortfall]:
    for port, facts in (below(record, "fields", "nic") or {}).items():
        for name in ("kind", "speed_mbps"):
            if is_hidden(below(facts, name, "value")):
                yield f"{where}: nic: {port}: {name}", "what the port is", "a commitment"


RULES: tuple[Rule[Evidence], ...] = (versions_of_release, read_plainly)
