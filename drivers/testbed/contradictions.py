"""What the parts of a testbed file say against each other; each a problem with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.drivers import registry
from bmwg.drivers.api.instance import CRUN
from bmwg.drivers.testbed.file import (
    AUTO,
    CABLE,
    TESTER,
    VETH,
    VHOST_USER,
    Endpoint,
    NodeKind,
    Testbed,
)
from bmwg.drivers.testbed.guest import guest_problems
from bmwg.drivers.testbed.row import KEY, row_problems
from bmwg.drivers.testbed.tester_host import tester_host_problems
from bmwg.methodology.records import ENGINES
from bmwg.methodology.trial.cpu_lists import cpu_list
from bmwg.methodology.trial.pattern import LEAST_PORTS
from bmwg.schemas.validation import Problem, near_name

BRIDGE_PORT = "bridge_port"
_OF_SOCKET = "virtio_user"  # the port kind at the end of a vhost-user link
_WITHOUT_IO = {"embedded", "simulated"}  # drivers that need no word about their ports, and may have several
_PCI = "pci"
_OPENING = {"embedded", "trex", "moongen"}  # drivers that open NICs of this machine by their addresses
_KUBERNETES = "kubernetes"  # a runtime of pods
_ADDRESS_MARK = ":"  # no interface has one in its name
_IN_NAMESPACE = {AUTO, "xdp", "af_xdp", "af_packet"}  # port kinds that sit on an interface which a link makes


def contradictions(testbed: Testbed) -> Iterator[Problem]:
    """Yield what of nodes, links, ports, CPUs and row cannot be together (CPU sharing: RFC8172-3.4-02)."""
    yield from _node_problems(testbed)
    yield from tester_host_problems(testbed)
    yield from _link_problems(testbed)
    yield from _cable_problems(testbed)
    yield from _host_problems(testbed)
    yield from _port_problems(testbed)
    yield from _socket_problems(testbed)
    yield from _pci_problems(testbed)
    yield from _cpu_problems(testbed)
    yield from _management_problems(testbed)
    yield from row_problems(testbed.data)
    yield from guest_problems(testbed.data)


def _management_problems(testbed: Testbed) -> Iterator[Problem]:
    """The management of pods is by an option that needs no NIC: those are for test traffic."""
    able = [
        network.name
        for network in testbed.networks
        if network.driver == "cni" and network.uplink == BRIDGE_PORT
    ]
    name = testbed.pods.management
    if name and name not in able:
        yield Problem(
            location=("pods", "management"),
            expected=f"an option of this file with driver cni and uplink {BRIDGE_PORT} ({', '.join(able)})",
            found=repr(name),
            near=near_name(name, able),
        )


def _node_problems(testbed: Testbed) -> Iterator[Problem]:
    for node in testbed.nodes:
        if node.name == TESTER:
            yield Problem(
                location=("nodes", TESTER),
                expected="another name: `tester` stands for the tester's own ports in links",
                found=repr(TESTER),
            )
        if node.kind is NodeKind.QEMU:
            yield Problem(
                location=("nodes", node.name, "kind"),
                expected="namespace or ssh (qemu is reserved for a later version)",
                found="qemu",
            )
        if node.ssh is not None and node.kind is not NodeKind.SSH:
            yield Problem(
                location=("nodes", node.name, "ssh"), expected="only with kind: ssh", found=node.kind
            )


def _host_problems(testbed: Testbed) -> Iterator[Problem]:
    """What is on a host over SSH is joined by cables, and its pods are made by what can be had there."""
    hosts = {node.name for node in testbed.nodes if node.kind is NodeKind.SSH}
    for index, link in enumerate(testbed.links):
        there = sorted({link.a.node, link.b.node} & hosts)
        if there and link.kind == VETH:
            yield Problem(
                location=("links", index, "kind"),
                expected=f"cable: {there[0]} is a host of its own",
                found=link.kind,
            )
    users = testbed.pods.runtime == _KUBERNETES and "kubeconfig" in testbed.pods.options
    if hosts and KEY not in testbed.data and testbed.pods.runtime not in (CRUN, *ENGINES) and not users:
        yield Problem(
            location=("pods", "runtime"),
            expected=f"one that hosts over SSH can have: {', '.join((CRUN, *ENGINES))}, "
            f"or {_KUBERNETES} with a kubeconfig",
            found=testbed.pods.runtime,
        )


def _link_problems(testbed: Testbed) -> Iterator[Problem]:
    known = [TESTER, *(node.name for node in testbed.nodes)]
    used: dict[Endpoint, str] = {}
    for index, link in enumerate(testbed.links):
        for end, endpoint in (("a", link.a), ("b", link.b)):
            location = ("links", index, end)
            if endpoint.node not in known:
                yield Problem(
                    location=location,
                    expected=f"a node of this file ({', '.join(known)})",
                    found=f"the unknown node {endpoint.node!r}",
                    near=near_name(endpoint.node, known),
                )
            if endpoint in used:
                yield Problem(
                    location=location,
                    expected="an interface that no other link has",
                    found=f"{endpoint}, already {used[endpoint]}",
                )
            used.setdefault(endpoint, f"links[{index}].{end}")


def _cable_problems(testbed: Testbed) -> Iterator[Problem]:
    """What a cable joins here is borrowed, so a person must have said that it may be (RFC 6815).

    So are the ports of a tester on another host: it cannot be told that they are for it alone.
    """
    remote = {node.name for node in testbed.nodes if node.kind is NodeKind.SSH}
    for index, link in enumerate(testbed.links):
        for end, endpoint in (("a", link.a), ("b", link.b)):
            here = link.kind == CABLE and endpoint.node not in remote
            if here and endpoint.interface not in testbed.lab_ports:
                yield Problem(
                    location=("links", index, end),
                    expected=f"an interface of {_where(testbed)} that lab_ports names"
                    f" ({', '.join(testbed.lab_ports) or 'none declared'})",
                    found=repr(endpoint.interface),
                    near=near_name(endpoint.interface, testbed.lab_ports),
                )


def _where(testbed: Testbed) -> str:
    """Say whose interfaces `lab_ports` names."""
    return "the tester's host" if testbed.tester.host else "this machine"


def _port_problems(testbed: Testbed) -> Iterator[Problem]:
    tester = testbed.tester
    installed = tester.driver in registry.names(registry.TRAFFIC)  # another name is refused when it is loaded
    if installed and tester.io in (AUTO, "xdp") and tester.driver not in _WITHOUT_IO:
        yield Problem(
            location=("tester", "io"),
            expected=f"the port kind of driver {tester.driver} (docs/testers.md); only embedded has this one",
            found=tester.io,
        )
    if installed and tester.other_io and tester.driver not in _WITHOUT_IO:
        yield Problem(
            location=("tester", "io"),
            expected=f"one kind for both ports of driver {tester.driver}; only embedded has one for each",
            found=", ".join(tester.ios),
        )
    several = tester.driver in _WITHOUT_IO and not tester.other_io
    if installed and len(tester.ports) > LEAST_PORTS and not several:
        yield Problem(
            location=("tester", "ports"),
            expected=f"{LEAST_PORTS} ports of driver {tester.driver}; embedded has more, all of one io",
            found=str(len(tester.ports)),
        )
    if tester.driver == "embedded" and len(tester.ports) > LEAST_PORTS and tester.io == "xdp":
        yield Problem(
            location=("tester", "io"),
            expected="af_xdp, af_packet or pci for more than two ports: programs inside the kernel know two",
            found="xdp",
        )
    ends = [str(end) for link in testbed.links for end in (link.a, link.b)]
    mine = [end for end in ends if end.startswith(f"{TESTER}/")]
    for index, port in enumerate(testbed.tester.ports):
        if port in mine or port in testbed.lab_ports or testbed.tester.io not in _IN_NAMESPACE:
            continue
        yield Problem(
            location=("tester", "ports", index),
            expected=f"the tester's end of a link ({', '.join(mine) or 'there is none'}) or a lab port"
            f" ({', '.join(testbed.lab_ports) or 'none declared'})",
            found=repr(port),
            near=near_name(port, [*mine, *testbed.lab_ports]),
        )


def _socket_problems(testbed: Testbed) -> Iterator[Problem]:
    """A vhost-user link is between a tester's port of the kind for sockets and a vSwitch here.

    A port on an interface may stand beside one at a socket, on a pair that the run makes: the wire of such
    ports is made of one, and carries nothing of a NIC's.
    """
    tester = testbed.tester
    here = {node.name for node in testbed.nodes if node.kind is NodeKind.NAMESPACE}
    kinds: dict[str, str] = {}  # of the tester's ports: of the links that they are ends of
    for index, link in enumerate(testbed.links):
        kinds |= {str(end): link.kind for end in (link.a, link.b) if end.node == TESTER}
        if link.kind == VHOST_USER and not (
            (link.a.node == TESTER and link.b.node in here) or (link.b.node == TESTER and link.a.node in here)
        ):
            yield Problem(
                location=("links", index, "kind"),
                expected="vhost-user only between a port of the tester and a node of kind namespace",
                found=f"{link.a} - {link.b}",
            )
    if tester.driver not in _WITHOUT_IO and VHOST_USER in kinds.values():
        yield Problem(
            location=("tester", "driver"),
            expected="embedded, the driver that opens vhost-user sockets of a link",
            found=tester.driver,
        )
    if tester.driver != "embedded":
        return
    for index, (port, io) in enumerate(zip(tester.ports, tester.ios, strict=True)):
        kind = kinds.get(port)
        if io == _OF_SOCKET and kind != VHOST_USER:
            yield Problem(
                location=("tester", "ports", index),
                expected=f"with io: {io} the tester's end of a link of kind vhost-user",
                found=f"{port!r}, the end of {'no link' if kind is None else f'one of kind {kind}'}",
            )
        if kind == VHOST_USER and io != _OF_SOCKET:
            yield Problem(
                location=("tester", "io"),
                expected=f"{_OF_SOCKET} for {port}, which is at a vhost-user socket (a list has two)",
                found=io,
            )
        if kind == CABLE and VHOST_USER in kinds.values():
            yield Problem(
                location=("tester", "ports", index),
                expected="the end of a link of kind veth beside a port at a vhost-user socket: no wire to"
                " qualify the tester on joins a cable and a socket",
                found=f"{port!r}, the end of a cable",
            )


def _pci_problems(testbed: Testbed) -> Iterator[Problem]:
    """A PCI port is a NIC at the end of a cable, and a PCI address the end of nothing else."""
    tester = testbed.tester
    cables = [str(end) for link in testbed.links if link.kind == CABLE for end in (link.a, link.b)]
    mine = [end for end in cables if end.startswith(f"{TESTER}/")]
    for index, port in enumerate(tester.ports):
        if tester.driver in _OPENING and tester.io == _PCI and port not in mine:
            yield Problem(
                location=("tester", "ports", index),
                expected=f"with io: {_PCI} the tester's end of a link of kind cable"
                f" ({', '.join(mine) or 'there is none'})",
                found=repr(port),
                near=near_name(port, mine),
            )
    for index, link in enumerate(testbed.links):
        for end, endpoint in (("a", link.a), ("b", link.b)):
            taken = link.kind == CABLE and endpoint.node == TESTER and tester.io == _PCI
            if _ADDRESS_MARK in endpoint.interface and not taken:
                yield Problem(
                    location=("links", index, end),
                    expected=f"an interface; a PCI address is the tester's end of a cable with io: {_PCI}",
                    found=repr(endpoint.interface),
                )


def _cpu_problems(testbed: Testbed) -> Iterator[Problem]:
    try:
        cpu_list(testbed.data["pods"]["cpus"])
    except ValueError as error:
        yield Problem(location=("pods", "cpus"), expected="CPU ranges from low to high", found=str(error))
    if testbed.tester.host or not testbed.dut_cpus_here or testbed.dut.shares_tester_cpus:
        return  # another machine's CPUs, or sharing declared
    for location, cpus in ((("dut", "cpus"), testbed.dut.cpus), (("pods", "cpus"), testbed.pods.cpus)):
        shared = sorted(set(testbed.tester.cpus) & set(cpus))
        if shared:
            yield Problem(
                location=location,
                expected="no CPU of tester.cpus (RFC8172-3.4-02); on a machine with one CPU declare"
                " dut.shares_tester_cpus: true",
                found=f"the tester's CPU {', '.join(map(str, shared))}",
            )
