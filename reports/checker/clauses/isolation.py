"""RFC 6815, and the security sections of the other documents, as rules: the test network leads nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.places import hosts_of
from bmwg.reports.checker.verdicts import (
    EVERY_LOAD,
    Answer,
    Scope,
    Verdict,
    by_declaration,
    clause,
    held,
    not_assessed,
)

NONE = "none"  # what a submission says where there is nothing to tell
_OF_HOSTS = "roles"  # the key of a row of hosts
MADE = ("namespace", "qemu", "vm")  # kinds of nodes that a run makes itself


def _isolated(scope: Scope) -> Answer:
    """Whether the places of every kind of load are isolated: the worst answer of these."""
    answers = [_places(scope.evidence.of_load(load)) for load in scope.evidence.loads]
    worst = (Verdict.NOT_MET, Verdict.NOT_ASSESSED)
    return min(answers, key=lambda one: worst.index(one.verdict) if one.verdict in worst else len(worst))


def _places(evidence: Evidence) -> Answer:
    """Whether every port of the tester lies on a node that the run made; of a lab only a person can say."""
    testbed: Mapping[str, Any] = evidence.run["testbed"] if evidence.run else {}
    if _OF_HOSTS in testbed:
        return not_assessed("a row of hosts: no file shows where their cables lead")
    if not evidence.of_frames:
        return _between_places(testbed)
    ports = below(testbed, "tester", "ports")
    if not isinstance(ports, list) or not ports:
        return held(False, "tester ports on nodes that the run made", "no port in the testbed file")
    lab = testbed.get("lab_ports") or []
    if lab:
        return not_assessed(f"{len(lab)} lab ports: no file shows where their cables lead")
    outside = sorted(name for port in ports for name in _ends(testbed, port) if not _made(testbed, name))
    expected = "tester ports cabled to nodes that the run made, and no lab port"
    return held(not outside, expected, f"on other nodes: {outside or 'none'}; no lab port")


def _ends(testbed: Mapping[str, Any], port: object) -> set[str]:
    """Return the nodes that frames of a tester's port can reach by cables; without one, where it says it is.

    What enters a node may leave it by any cable. A cable between two ports of the tester ends nowhere.
    """
    name = str(port.get("port")) if isinstance(port, Mapping) else str(port)
    links = testbed.get("links")
    cables = [link for link in links if isinstance(link, Mapping)] if isinstance(links, list) else []
    ends = [str(one.get("b" if one.get("a") == name else "a")) for one in cables if name in _both(one)]
    nodes = testbed.get("nodes")
    own = name.partition("/")[0]
    found = {end.partition("/")[0] for end in ends} - {own}
    pairs = [tuple(str(end).partition("/")[0] for end in _both(cable)) for cable in cables]
    while more := {far for a, b in pairs for near, far in ((a, b), (b, a)) if near in found} - found - {own}:
        found |= more
    named = not ends or (isinstance(nodes, dict) and own in nodes)
    return found | ({own} if named else set())


def _both(link: Mapping[str, Any]) -> tuple[object, object]:
    return link.get("a"), link.get("b")


def _made(testbed: Mapping[str, Any], name: str) -> bool:
    return below(testbed, "nodes", name, "kind") in MADE


def _between_places(testbed: Mapping[str, Any]) -> Answer:
    """Whether client, proxy and server are places that the run made; it names hosts by where they are."""
    if hosts_over_ssh := hosts_of(testbed):
        return not_assessed(f"{len(hosts_over_ssh)} hosts: no file shows where their cables lead")
    nodes = testbed.get("nodes")
    names = nodes if isinstance(nodes, list) else sorted(nodes) if isinstance(nodes, dict) else []
    hosts = [name for name in names if isinstance(nodes, dict) and nodes[name].get("kind") not in MADE]
    expected = "client, proxy and server in places that the run made"
    return held(bool(names) and not hosts, expected, f"{len(names)} places, {len(hosts)} of them hosts")


def _declared(scope: Scope, name: str, what: str) -> Answer:
    """Whether a submission says `none` to what only a person can answer."""
    said = ((scope.evidence.submission or {}).get("laboratory") or {}).get(name)
    if not said:
        return not_assessed(f"submission.yaml says nothing of {what} (laboratory.{name})")
    return by_declaration(str(said).strip().lower() == NONE, f"no {what}", f"declared: {said}")


def _special(scope: Scope) -> Answer:
    return _declared(scope, "special_capabilities", "capability that is there for benchmarks alone")


def _security(scope: Scope) -> Answer:
    return _declared(scope, "other_security", "difference in security between laboratory and production")


@clause("RFC8172-5-01", loads=EVERY_LOAD)
def rfc8172(scope: Scope) -> Answer:
    """The test network is isolated."""
    return _isolated(scope)


@clause("RFC8204-6-01", loads=EVERY_LOAD)
def rfc8204(scope: Scope) -> Answer:
    """As RFC8172-5-01."""
    return _isolated(scope)


@clause("CINF08-7-01", loads=EVERY_LOAD)
def containerized(scope: Scope) -> Answer:
    """As RFC8172-5-01."""
    return _isolated(scope)


@clause("RFC9004-8-01")
def rfc9004(scope: Scope) -> Answer:
    """As RFC8172-5-01."""
    return _isolated(scope)


@clause("RFC8219-13")
def rfc8219(scope: Scope) -> Answer:
    """As RFC8172-5-01."""
    return _isolated(scope)


@clause("RFC6815-7-01", loads=EVERY_LOAD)
def rfc6815(scope: Scope) -> Answer:
    """As RFC8172-5-01."""
    return _isolated(scope)


@clause("RFC6815-5-02", loads=EVERY_LOAD)
def no_production(scope: Scope) -> Answer:
    """A network that the run made is no production network."""
    return _isolated(scope)


@clause("RFC6815-7-02", loads=EVERY_LOAD)
def no_special_capability(scope: Scope) -> Answer:
    """Whether the device has a capability only for benchmarks, a person says."""
    return _special(scope)


@clause("RFC6815-7-03", loads=EVERY_LOAD)
def same_security(scope: Scope) -> Answer:
    """Whether production has the same security, a person says."""
    return _security(scope)


@clause("RFC9004-8-02")
def rfc9004_no_special_capability(scope: Scope) -> Answer:
    """As RFC6815-7-02."""
    return _special(scope)


@clause("RFC9004-8-03")
def rfc9004_same_security(scope: Scope) -> Answer:
    """As RFC6815-7-03."""
    return _security(scope)
