"""The forms in which the answering program of a path runs behind its host's NIC, and how each is reached.

On the host, in a pod by the bridge that its CNI option makes, in a guest and as a unikernel by one of ours,
or in a guest and as a unikernel by ports of the host that QEMU redirects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import Crossed, Evidence, HostNode, Pod, PodEnd, PodRuntime
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import endpoints, uplinks
from bmwg.drivers.paths.addresses import ENDPOINTS, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.places import agentless, guest_hosts
from bmwg.drivers.places.native import guest_place, native_place
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.workload import netperf
from bmwg.methodology.cells.vnics import VIRTIO
from bmwg.methodology.record import booted
from bmwg.methodology.records import BAREMETAL, ENGINES, GUEST, REDIRECTED, UNIKERNEL, Cell

GUEST_BRIDGE = "bmwg-kvbr"
_PORTS = (*agentless.PORTS.values(), netperf.DATA_PORT)  # of all programs that answer
_USER = f"{agentless.USER_ADDRESS}/24"  # of a guest in QEMU's user-mode network
_ENDED = "redirected ports: QEMU's user-mode network ends connections"
_BY_QEMU = "QEMU, which has connections of its own with both ends"
_NUMBER = 1  # of the path's second end


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where the form is made: behind `nic` of a node; `asking` is the node of the other end."""

    cell: Cell
    bed: Bed
    node: BedNode
    nic: str
    asking: BedNode


# The program's end, the interfaces from the host's NIC to it, what the record says of the form. Where that
# names no network and no CPUs there is none, and the CPUs are those of pods.
Server = tuple[PodEnd, tuple[Crossed, ...], Evidence]


def serving(at: Host) -> AbstractContextManager[Server]:
    """Have the form of the cell stand while this is entered. Raises what making it raises."""
    return _FORMS.get(at.cell.hosting, _pod)(at)


def runtime(cell: Cell, bed: Bed) -> PodRuntime:
    """What makes the server's pod."""
    return bed.engine(cell.hosting) if cell.hosting in ENGINES else bed.runtime


@contextmanager
def _native(at: Host) -> Iterator[Server]:
    with (
        addressed(at.node, at.nic, _NUMBER),
        native_place(at.bed, at.node, number=_NUMBER, cpus=at.bed.testbed.pods.cpus) as place,
    ):
        yield (
            PodEnd(pod=place, interface=at.nic, address=host(ENDPOINTS[_NUMBER][0])),
            (),
            {
                "cpus": {"server": place.cpus},
                booted.KEY: booted.NATIVE.as_builtins(),
                "hops": [],
                "forwarding": "nothing forwards",
                "native_programs": {"server": place.limits},
            },
        )


@contextmanager
def _guest(at: Host) -> Iterator[Server]:
    """Boot a guest with our agent, its vNIC on a bridge with the host's NIC; its program has a pod's limits.

    Raises TestbedError VM-01 to VM-05, DriverError HOST-01, and what entering the provider raises.
    """
    bed, node = at.bed, at.node
    with (
        uplinks.own_bridge(node, bed.undo, bridge=GUEST_BRIDGE, nic=at.nic),
        guest_hosts.guest_host(bed, node, number=_NUMBER, vnic=VIRTIO) as guest,
    ):
        node.call(routing.set_controller, interface=guest.tap, controller=GUEST_BRIDGE)
        for address in ENDPOINTS[_NUMBER]:
            guest.call(interfaces.add_address, interface=guest.interface, address=address)
        place = guest_place(bed, guest, name="bmwg-server")
        tap, vnic = f"{node.name}/{guest.tap}", f"{guest.name}/{guest.interface}"
        yield (
            PodEnd(pod=place, interface=guest.interface, address=host(ENDPOINTS[_NUMBER][0])),
            (
                Crossed(at=tap, place=node, interface=guest.tap, forward="tx"),
                Crossed(at=vnic, place=guest, interface=guest.interface, forward="rx"),
            ),
            {
                "cpus": {"server": guest.pod_cpus},
                "host": node.name,
                "machines": {guest.name: guest_hosts.described(bed, guest, VIRTIO)},
                "hops": [
                    {"at": node.name, "what": f"bridge {GUEST_BRIDGE}"},
                    {"at": tap, "what": "tap of the guest"},
                    {"at": vnic, "what": f"the guest's vNIC ({VIRTIO})"},
                ],
                "forwarding": "the kernel of the server's host, and QEMU",
                "native_programs": {"server": place.limits},
            },
        )


@contextmanager
def _redirected(at: Host) -> Iterator[Server]:
    """Boot a guest behind QEMU's user-mode network: ports of its host's address are redirected to it.

    It has that address beside its own, so that its program listens where clients ask. There is no tap.
    Raises as `_guest` does.
    """
    bed, node = at.bed, at.node
    address, client = host(ENDPOINTS[_NUMBER][0]), host(ENDPOINTS[1 - _NUMBER][0])
    ways = Redirected(address=address, ports=_PORTS)
    with (
        addressed(node, at.nic, _NUMBER),
        guest_hosts.guest_host(bed, node, number=_NUMBER, vnic=VIRTIO, redirected=ways) as guest,
    ):
        for one in (_USER, f"{address}/32"):
            guest.call(interfaces.add_address, interface=guest.interface, address=one)
        guest.call(
            routing.add_route,
            destination=f"{client}/32",
            via=agentless.USER_GATEWAY,
            interface=guest.interface,
        )
        place = guest_place(bed, guest, name="bmwg-server")
        vnic = f"{guest.name}/{guest.interface}"
        yield (
            PodEnd(pod=place, interface=guest.interface, address=address),
            (Crossed(at=vnic, place=guest, interface=guest.interface, forward="rx"),),
            {
                "cpus": {"server": guest.pod_cpus},
                "host": node.name,
                "machines": {guest.name: guest_hosts.described(bed, guest, VIRTIO)},
                "hops": [
                    {"at": node.name, "what": _ENDED},
                    {"at": vnic, "what": f"the guest's vNIC ({VIRTIO})"},
                ],
                "forwarding": _BY_QEMU,
                "native_programs": {"server": place.limits},
            },
        )


def _unikernel(at: Host) -> AbstractContextManager[Server]:
    told = agentless.settings_of(at.bed)
    assert told is not None  # the path's probe was asked
    return _redirected_unikernel(at) if told.redirected else _bridged_unikernel(at)


@contextmanager
def _redirected_unikernel(at: Host) -> Iterator[Server]:
    """Boot the machine behind ports of its host's address: it has no tap, and nobody can count in it."""
    node = at.node
    standing = agentless.standing(at.bed, node, nic=at.nic, asking=at.asking, ports=_PORTS)
    with addressed(node, at.nic, _NUMBER), standing as (place, machine):
        yield (
            PodEnd(pod=place, interface=at.nic, address=agentless.ADDRESS),
            (),
            {
                "machine": machine,
                "hops": [
                    {"at": node.name, "what": f"{_ENDED}; no counter of the machine's own can be read"},
                ],
                "forwarding": _BY_QEMU,
            },
        )


@contextmanager
def _bridged_unikernel(at: Host) -> Iterator[Server]:
    with agentless.standing(at.bed, at.node, nic=at.nic, asking=at.asking, ports=()) as (place, machine):
        tap = agentless.TAP
        where = f"{at.node.name}/{tap}"
        yield (
            PodEnd(pod=place, interface=tap, address=agentless.ADDRESS),
            (Crossed(at=where, place=at.node, interface=tap, forward="tx"),),
            {
                "machine": machine,
                "hops": [
                    {"at": at.node.name, "what": f"bridge {agentless.BRIDGE}"},
                    {"at": where, "what": "tap of the machine, virtio-net in it"},
                ],
                "forwarding": "the kernel of the server's host",
            },
        )


@contextmanager
def _pod(at: Host) -> Iterator[Server]:
    bed, node = at.bed, at.node
    network, made_by = bed.network(at.cell.network), runtime(at.cell, bed)
    with (
        uplinks.cleared(node, network.spec.uplink, nic=None, bridge=endpoints.BRIDGE),
        endpoints.endpoint(
            bed, network, node, number=_NUMBER, nic=None, speaker=endpoints.KERNEL, runtime=made_by
        ) as made,
        uplinks.bridged(node, interfaces=(at.nic,), bridge=endpoints.BRIDGE),
    ):
        address = host(made.attached.attachment.addresses[0])
        yield (
            PodEnd(pod=made.pod, interface=endpoints.INTERFACE, address=address),
            endpoints.crossed_by(made, outwards=False),
            {
                "network": {node.name: bed.described(network.spec.name, node.name)},
                "endpoints": [made.evidence(bed)],
                "pod_runtime": dict(made_by.describe()),
                **_started(made.pod),
                "hops": [{"at": node.name, "what": f"bridge {endpoints.BRIDGE}"}, *reversed(made.hops())],
                "forwarding": "the kernel of the server's host",
            },
        )


def _started(pod: Pod) -> Evidence:
    """Return how long the pod took to run, as its runtime tells it; nothing of one that does not."""
    steps_ns = pod.start_steps_ns
    if not {"pod_asked", "container_running"} <= steps_ns.keys():
        return {}
    took_s = (steps_ns["container_running"] - steps_ns["pod_asked"]) / 1e9
    return {"start_s": round(took_s, 3), "start_ends": "its container runs, with its network attached"}


@contextmanager
def addressed(node: HostNode, interface: str, number: int) -> Iterator[None]:
    """Give an interface of a node the addresses of an end of the path; take them off on leaving."""
    with ExitStack() as stack:
        for address in ENDPOINTS[number]:
            stack.callback(node.call, interfaces.remove_address, interface=interface, address=address)
            node.call(interfaces.add_address, interface=interface, address=address)
        yield


_FORMS: dict[str, Callable[[Host], AbstractContextManager[Server]]] = {
    BAREMETAL: _native,
    GUEST: _guest,
    REDIRECTED: _redirected,
    UNIKERNEL: _unikernel,
}
