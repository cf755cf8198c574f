"""RFC 6815, and the security sections of the other documents, as rules: the test network leads nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bmwg.methodology.record.facts import below
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.places import hosts_of
from bmwg.reports.checker.verdicts import (
    EVERY_LOAD,
    UNNAMED_LOAD,
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


@clause("RFC8172-5-01", loads=EVERY_LOAD)
def isolated(scope: Scope) -> Answer:
    """Whether the test network is isolated: the worst answer of the places of every kind of load."""
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


@clause("RFC6815-7-02", loads=EVERY_LOAD)
def no_special_capability(scope: Scope) -> Answer:
    """Whether the device has a capability only for benchmarks, a person says."""
    return _declared(scope, "special_capabilities", "capability that is there for benchmarks alone")


@clause("RFC6815-7-03", loads=EVERY_LOAD)
def same_security(scope: Scope) -> Answer:
    """Whether production has the same security, a person says."""
    return _declared(scope, "other_security", "difference in security between laboratory and production")


# rows of other documents that ask the same
rfc6815 = replace(isolated, requirement="RFC6815-7-01")
no_production = replace(isolated, requirement="RFC6815-5-02")  # what the run made is no production network
rfc8204 = replace(isolated, requirement="RFC8204-6-01")
containerized = replace(isolated, requirement="CINF08-7-01")
rfc9004 = replace(isolated, requirement="RFC9004-8-01", loads=UNNAMED_LOAD)
rfc8219 = replace(isolated, requirement="RFC8219-13", loads=UNNAMED_LOAD)
rfc9004_no_special_capability = replace(no_special_capability, requirement="RFC9004-8-02", loads=UNNAMED_LOAD)
rfc9004_same_security = replace(same_security, requirement="RFC9004-8-03", loads=UNNAMED_LOAD)
rfc8172_no_special_capability = replace(no_special_capability, requirement="RFC8172-5-04")
rfc8172_same_security = replace(same_security, requirement="RFC8172-5-05")
rfc8204_no_special_capability = replace(no_special_capability, requirement="RFC8204-6-02")
rfc8204_same_security = replace(same_security, requirement="RFC8204-6-03")
containerized_same_security = replace(same_security, requirement="CINF08-7-04")
