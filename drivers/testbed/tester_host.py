"""What a testbed file says of the host that the tester is on, where that is not the runner."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.drivers.testbed.file import SIMULATED, NodeKind, Testbed
from bmwg.drivers.testbed.row import KEY
from bmwg.schemas.validation import Problem, near_name

_MEDIUM = "medium"
_AT = ("tester", "host")


def tester_host_problems(testbed: Testbed) -> Iterator[Problem]:
    """Yield what the tester's host cannot be: it has the tester alone, and all else is on other hosts."""
    name = testbed.data["tester"].get("host")
    if name is None:
        return
    nodes = testbed.data["nodes"]
    by_ssh = [one for one, node in nodes.items() if node["kind"] == NodeKind.SSH]
    if name not in by_ssh:
        yield Problem(
            location=_AT,
            expected=f"a node of this file of kind ssh ({', '.join(by_ssh) or 'there is none'})",
            found=f"a node of kind {nodes[name]['kind']}" if name in nodes else f"the unknown node {name!r}",
            near=near_name(name, by_ssh),
        )
        return
    if testbed.tester.driver == SIMULATED:
        yield Problem(location=_AT, expected=f"no host: driver {SIMULATED} sends nothing", found=repr(name))
    for index, link in enumerate(testbed.links):
        for end, endpoint in (("a", link.a), ("b", link.b)):
            if endpoint.node == name:
                yield Problem(
                    location=("links", index, end),
                    expected=f"tester/{endpoint.interface}: on the host of the tester all ports are its own",
                    found=str(endpoint),
                )
    for said, node in testbed.data.get(KEY, {}).items():
        if node == name:
            yield Problem(location=(KEY, said), expected="another host than the tester's", found=repr(name))
    for node_spec in testbed.nodes:
        if node_spec.kind is not NodeKind.SSH:
            yield Problem(
                location=("nodes", node_spec.name, "kind"),
                expected="ssh: with tester.host the runner only steers (its own login is root@localhost)",
                found=node_spec.kind,
            )
        elif node_spec.ssh == nodes[name]["ssh"]:
            yield Problem(
                location=_AT,
                expected="a host that no other node is on",
                found=f"that of node {node_spec.name}",
            )
    if _MEDIUM not in testbed.data:
        yield Problem(
            location=(_MEDIUM,),
            expected="the medium between tester and device: the runner has no port of which to read its rate",
            found="none",
        )
