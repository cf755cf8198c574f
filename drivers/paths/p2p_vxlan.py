"""P2P over two nodes by VXLAN (RFC 7348): a tunnel device is the port of each node's CNI bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.protocols import HostNode, JsonValue, Missing, PodPathDriver
from bmwg.drivers.paths import endpoints, uplinks
from bmwg.drivers.paths.addresses import UNDERLAY, host
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, too_large
from bmwg.drivers.paths.p2p_underlay import FORWARDING, UnderlayPath
from bmwg.drivers.paths.pair import Join, Nodes, Pods
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.ports.routing import VXLAN_OVERHEAD_OCTETS
from bmwg.methodology.cells.paths import PathKind

TUNNEL = "bmwg-vx0"
VNI = 2544  # choice: any number of 24 bits
MTU_OCTETS = LINK_MTU_OCTETS - VXLAN_OVERHEAD_OCTETS
TOLD: Mapping[str, JsonValue] = {
    "kind": "vxlan",
    "vni": VNI,
    "overhead_octets": VXLAN_OVERHEAD_OCTETS,
    "mtu_octets": MTU_OCTETS,
    "underlay_mtu_octets": LINK_MTU_OCTETS,
}


class VxlanPath(UnderlayPath):
    """Two nodes whose underlay carries IPv4; the pods' segment is tunnelled over it."""

    kind: ClassVar[PathKind] = replace(
        UnderlayPath.kind,
        name="p2p-vxlan",
        scenario="pod to pod on two nodes, by VXLAN",
        between_nodes="overlay: VXLAN",
    )

    def probe_frames(self) -> Missing | None:
        """Return what is missing: room for the frame in the tunnel, a bridging option on both nodes."""
        because = f" ({LINK_MTU_OCTETS} of the underlay less {VXLAN_OVERHEAD_OCTETS} of VXLAN)"
        missing = too_large(self._cell, mtu_octets=MTU_OCTETS, because=because)
        return missing or self.probe_pods()

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Make the tunnel, a port of each node's bridge; the pods' MTU becomes the tunnel's."""
        under = self._bed.underlay()
        tunnelled(stack, nodes, tuple(end.interface for end in under), pods)
        return Join(
            told={"tunnel": dict(TOLD)},
            hops=[
                {"at": nodes[0].name, "what": f"bridge {endpoints.BRIDGE}"},
                {"at": f"{nodes[0].name}/{TUNNEL}", "what": "VXLAN device, bridge port"},
                {"at": str(under[0]), "what": "underlay NIC, routed"},
                {"at": str(under[1]), "what": "underlay NIC, routed"},
                {"at": f"{nodes[1].name}/{TUNNEL}", "what": "VXLAN device, bridge port"},
                {"at": nodes[1].name, "what": f"bridge {endpoints.BRIDGE}"},
            ],
            forwarding=FORWARDING,
            way=[
                (nodes[0], TUNNEL, "tx"),
                (nodes[0], under[0].interface, "tx"),
                (nodes[1], under[1].interface, "rx"),
                (nodes[1], TUNNEL, "rx"),
            ],
        )


def tunnelled(stack: ExitStack, nodes: Nodes, nics: Sequence[str], pods: Pods) -> None:
    """Have a tunnel over one NIC of each node be a port of its bridge; the pods' MTU becomes the tunnel's."""
    for number, (node, nic) in enumerate(zip(nodes, nics, strict=True)):
        stack.enter_context(_tunnel(node, nic, number))
        stack.enter_context(uplinks.bridged(node, interfaces=(TUNNEL,), bridge=endpoints.BRIDGE))
    for end in pods:
        end.pod.inside(interfaces.set_mtu, interface=endpoints.INTERFACE, mtu_octets=MTU_OCTETS)


@contextmanager
def _tunnel(node: HostNode, nic: str, number: int) -> Iterator[None]:
    mine = UNDERLAY.router_ipv4 if number == 0 else UNDERLAY.far_ipv4
    other = UNDERLAY.far_ipv4 if number == 0 else UNDERLAY.router_ipv4
    try:
        node.call(interfaces.add_address, interface=nic, address=mine)
        node.call(
            routing.add_vxlan,
            interface=TUNNEL,
            vni=VNI,
            local=host(mine),
            remote=host(other),
            underlay=nic,
            mtu_octets=MTU_OCTETS,
        )
        yield
    finally:
        node.call(interfaces.delete, interface=TUNNEL)
        node.call(interfaces.remove_address, interface=nic, address=mine)


_: type[PodPathDriver] = VxlanPath
