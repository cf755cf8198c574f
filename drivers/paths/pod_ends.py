"""The ends of a pod that forwards: room for frames, the queue towards the tester, the tester's port."""

from __future__ import annotations

from dataclasses import replace

from bmwg.drivers.api.protocols import Attached, JsonValue, NetworkDriver, Pod, TesterPort
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.network.sriov import LINK_KIND
from bmwg.drivers.paths import queues, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import interfaces
from bmwg.drivers.watch.data_plane import OF_FUNCTION
from bmwg.methodology.records import Cell


def widen(bed: Bed, network: NetworkDriver, pod: Pod, attached: Attached) -> None:
    """Have the attachment carry what the links do; plugins make it for ordinary frames."""
    if bed.mtu_octets == LINK_MTU_OCTETS:
        return
    if network.hands_over != NETDEV:
        return  # no interface of the kernel; the network itself sees to its frames' room
    wide: dict[str, JsonValue] = {"mtu_octets": bed.mtu_octets}
    if attached.host_interface is not None:
        pod.node.call(interfaces.set_mtu, interface=attached.host_interface, **wide)
    pod.inside(interfaces.set_mtu, interface=attached.attachment.interface, **wide)


def queue(bed: Bed, network: NetworkDriver, pod: Pod, side: Side, attached: Attached) -> dict[str, JsonValue]:
    """Isolate the veth end that faces the tester, wherever the plugins have put it; return evidence.

    A virtual function has a queue of the NIC's own, and nothing is isolated.
    """
    if attached.link_kind == LINK_KIND:
        by = "polled by the pod's program" if attached.device else "in the interrupts of the virtual function"
        return {
            "at": f"{pod.pod_id}/{attached.attachment.interface}",
            "device_queue": OF_FUNCTION,
            "forwarding": by,
        }
    if network.spec.uplink == uplinks.MASTER and attached.host_interface is None and attached.took_nic:
        return queues.isolate(bed, pod, attached.attachment.interface, side.number)
    return queues.isolate(bed, pod.node, side.nic, side.number)


def port(
    bed: Bed, cell: Cell, network: NetworkDriver, side: Side, attached: Attached, *, answers: bool
) -> TesterPort:
    """Return the tester's port of a side; `answers` is whether the pod's function answers neighbours."""
    routed = routed_port(bed, side)
    if answers or network.spec.uplink == uplinks.ROUTED:
        # the router's interface has the tag, so its address is asked for with the tag, too
        return replace(routed, vlan_id=cell.vlan_id)
    bare = replace(routed, gateway_ipv4=None, gateway_ipv6=None, networks_ipv4=None, networks_ipv6=None)
    return replace(bare, peer_mac=attached.mac)
