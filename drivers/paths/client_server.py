"""A native client on one host, a server in a hosting form on another, a link between them (document 004).

A pod, by crun, Docker or podman, is reached by the bridge that its CNI option makes, a guest and a unikernel
by one of ours. The client is a process of the first node in every form, so that only the server's form
differs. Tests of frames have no cells on it: both its ends are programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api import (
    BetweenPods,
    Crossed,
    Deployment,
    Evidence,
    JsonValue,
    Missing,
    PodEnd,
    PodPathDriver,
    PodRuntime,
)
from bmwg.drivers.hosting import interfaces
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.paths import agentless, endpoints, guest_server, uplinks
from bmwg.drivers.paths.addresses import ENDPOINTS, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse
from bmwg.drivers.paths.native_place import HostPlace, native_place
from bmwg.drivers.paths.p2p_underlay import option_missing
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import BAREMETAL, ENGINES, GUEST, NOTHING, POD, UNIKERNEL, Cell

_FUNCTION: dict[str, JsonValue] = {
    "name": "none",
    "runs_in": "programs at both ends use their kernels' sockets",
    "endpoint": "endpoint: the server's program uses its interface",
}


class ClientServerPath:
    """Two nodes joined by a link; the client is native, the server native or in a pod."""

    kind: ClassVar[PathKind] = PathKind(
        name="client-server",
        hostings=(BAREMETAL, POD, *ENGINES, GUEST, UNIKERNEL),
        functions=(NOTHING,),
        networked=True,
        scenario="a native client and a server in a hosting form, on two nodes",
        between_nodes="L2 underlay",
        apart=True,
        ends_in_pods=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return that frames are not for this path."""
        return Missing(
            what=f"frames on path {self.kind.name}",
            reason="both of its ends are programs, and nothing forwards",
            mend="another path: this one is of testcases/sockets",
        )

    def probe_pods(self) -> Missing | None:
        """Return what is missing: the hosting form, or the network option of a pod."""
        if self._cell.hosting not in self.kind.hostings:
            return Missing(
                what=f"hosting form {self._cell.hosting} for a server of transport tests",
                reason=f"no driver makes it here: {', '.join(self.kind.hostings)} are the forms",
                mend="docs/sockets.md, what is not here",
            )
        if self._cell.hosting == BAREMETAL:
            return None
        host = self._bed.node(self._bed.underlay()[1].node)
        if self._cell.hosting == UNIKERNEL:
            return agentless.missing(self._bed, host)
        if self._cell.hosting == GUEST:
            return guest_server.lacking(self._bed, host)
        if self._cell.hosting in ENGINES and self._cell.network == NOTHING:
            return Missing(
                what=f"hosting form {self._cell.hosting} without a network",
                reason="its pods are in a network option, as all pods are",
                mend=f"`engines: [{self._cell.hosting}]` in the profile, and not among `hostings`",
            )
        lack = self._runtime.probe(host) if self._cell.hosting in ENGINES else None
        return lack or option_missing(self._cell, self._bed)

    def unanswered(self, workload: str) -> Missing | None:
        """Return why the server answers no load of this workload: its image decides that for a unikernel."""
        told = agentless.settings_of(self._bed) if self._cell.hosting == UNIKERNEL else None
        if told is None or workload in told.serves:
            return None
        return Missing(
            what=f"{workload} in the unikernel",
            reason=f"the testbed file says that it serves {', '.join(told.serves)}",
            mend="an image that starts its server, and its name in `unikernel.serves`",
        )

    @property
    def _runtime(self) -> PodRuntime:
        """What makes the server's pod."""
        engine = self._cell.hosting in ENGINES
        return self._bed.engine(self._cell.hosting) if engine else self._bed.runtime

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Refuse: see `probe`."""
        refuse(self.probe())
        yield from ()

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """Give the client's link its address, and make the server's place; undo both on leaving."""
        refuse(self.probe_pods())
        bed = self._bed
        mine, other = bed.underlay()
        asking, answering = bed.node(mine.node), bed.node(other.node)
        wire = (
            Crossed(at=f"{mine.node}/{mine.interface}", place=asking, interface=mine.interface, forward="tx"),
            Crossed(
                at=f"{other.node}/{other.interface}", place=answering, interface=other.interface, forward="rx"
            ),
        )
        with ExitStack() as stack:
            stack.enter_context(_addressed(asking, mine.interface, 0))
            cpus = bed.testbed.tester.cpus  # those of the form are the pods'
            place = stack.enter_context(native_place(bed, asking, number=0, cpus=cpus))
            client, native = _end(place, mine.interface, 0), {"client": place.limits}
            if self._cell.hosting == GUEST:
                made = stack.enter_context(guest_server.standing(bed, answering, nic=other.interface))
                server, further, native["server"] = _end_in(made), made.crossed, made.place.limits
                told: Evidence = {
                    "network": NOTHING,
                    "host": answering.name,
                    "machines": {made.guest.name: made.machine},
                    "hops": made.hops,
                    "forwarding": "the kernel of the server's host, and QEMU",
                }
            elif self._cell.hosting == UNIKERNEL:
                server, further, told = stack.enter_context(self._machine(answering, other.interface, asking))
            elif self._cell.hosting != BAREMETAL:
                server, further, told = stack.enter_context(self._pod(answering, other.interface))
            else:
                stack.enter_context(_addressed(answering, other.interface, 1))
                place = stack.enter_context(
                    native_place(bed, answering, number=1, cpus=bed.testbed.pods.cpus)
                )
                server, further = _end(place, other.interface, 1), ()
                native["server"] = place.limits
                told = {"network": NOTHING, "hops": [], "forwarding": "nothing forwards"}
            hops = [
                {"at": str(mine), "what": "the client's interface"},
                {"at": str(other), "what": "the server's host"},
            ]
            yield BetweenPods(
                ends=(client, server),
                crossed=(*wire, *further),
                evidence={
                    **told,
                    "path": self.kind.name,
                    "hosting": self._cell.hosting,
                    "function": _FUNCTION,
                    "chain": "none: two programs speak to each other",
                    "flow_definition": "transport connections and datagrams between the two hosts' addresses",
                    "hops": [*hops, *told["hops"]],
                    "cpus": {"client": client.cpus, "server": server.cpus or bed.testbed.pods.cpuset},
                    "native_programs": native,
                },
            )

    @contextmanager
    def _pod(self, node: NamespaceNode, nic: str) -> Iterator[tuple[PodEnd, tuple[Crossed, ...], Evidence]]:
        network, runtime = self._bed.network(self._cell.network), self._runtime
        uplink = network.spec.uplink
        with ExitStack() as stack:
            stack.enter_context(uplinks.cleared(node, uplink, nic=None, bridge=endpoints.BRIDGE))
            made = stack.enter_context(
                endpoints.endpoint(
                    self._bed,
                    network,
                    node,
                    number=1,
                    nic=None,
                    speaker=endpoints.KERNEL,
                    runtime=runtime,
                )
            )
            stack.enter_context(uplinks.bridged(node, interfaces=(nic,), bridge=endpoints.BRIDGE))
            told: Evidence = {
                "network": {node.name: self._bed.described(network.spec.name, node.name)},
                "endpoints": [made.evidence(self._bed)],
                "pod_runtime": dict(runtime.describe()),
                "hops": [{"at": node.name, "what": f"bridge {endpoints.BRIDGE}"}, *reversed(made.hops())],
                "forwarding": "the kernel of the server's host",
            }
            address = host(made.attached.attachment.addresses[0])
            end = PodEnd(pod=made.pod, interface=endpoints.INTERFACE, address=address)
            yield end, endpoints.crossed_by(made, outwards=False), told

    @contextmanager
    def _machine(
        self, node: NamespaceNode, nic: str, asking: NamespaceNode
    ) -> Iterator[tuple[PodEnd, tuple[Crossed, ...], Evidence]]:
        with agentless.standing(self._bed, node, nic=nic, asking=asking) as (place, machine):
            tap = agentless.TAP
            told: Evidence = {
                "network": NOTHING,
                "machine": machine,
                "hops": [
                    {"at": node.name, "what": f"bridge {agentless.BRIDGE}"},
                    {"at": f"{node.name}/{tap}", "what": "tap of the machine, virtio-net in it"},
                ],
                "forwarding": "the kernel of the server's host",
            }
            end = PodEnd(
                pod=place,
                interface=tap,
                address=agentless.ADDRESS,
                cpus=str(self._bed.testbed.pods.cpuset),
            )
            yield end, (Crossed(at=f"{node.name}/{tap}", place=node, interface=tap, forward="tx"),), told


def _end(place: HostPlace, interface: str, number: int) -> PodEnd:
    return PodEnd(
        pod=place,
        interface=interface,
        address=host(ENDPOINTS[number][0]),
        cpus=str(place.limits["cpuset_cpus"]),
        cgroup=place.cgroup,
    )


def _end_in(made: guest_server.GuestServer) -> PodEnd:
    return PodEnd(
        pod=made.place,
        interface=made.guest.interface,
        address=host(ENDPOINTS[guest_server.NUMBER][0]),
        cpus=made.guest.pod_cpus,
        cgroup=made.place.cgroup,
    )


@contextmanager
def _addressed(node: NamespaceNode, interface: str, number: int) -> Iterator[None]:
    for address in ENDPOINTS[number]:
        node.call(interfaces.add_address, interface=interface, address=address)
    try:
        yield
    finally:
        for address in ENDPOINTS[number]:
            node.call(interfaces.remove_address, interface=interface, address=address)


_: type[PodPathDriver] = ClientServerPath
