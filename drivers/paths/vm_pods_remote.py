"""Pods in virtual machines of two nodes: BMP2VMP and VMP2VMP remote, plainly or by VXLAN between pods' nodes.

A guest's tap and its node's NIC towards the other node are ports of one bridge, so that the guest is on the
segment between the nodes. By VXLAN the tunnel ends where the pods' bridges are: in the guest, and for a pod
on the host at the host. Everything else is as between two pods of one node (`vm_pods`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import Evidence, HostNode, JsonValue, Missing, PodPathDriver
from bmwg.drivers.paths import uplinks
from bmwg.drivers.paths.p2p_vxlan import TOLD, TUNNEL, tunnelled
from bmwg.drivers.paths.pair import Join, Nodes, Pods, over_underlay
from bmwg.drivers.paths.vm_pods import SEGMENT, VmPodsPath, bridging
from bmwg.drivers.places.guest_hosts import GuestHost
from bmwg.methodology.cells.paths import PathKind, between_pods

_PLAIN, _VXLAN = "L2 underlay", "overlay: VXLAN"


class _Remote(VmPodsPath):
    """What these paths have in common: the last `guests` of two nodes over an underlay have a guest each."""

    tunnel: ClassVar[bool] = False

    def hosts(self) -> tuple[HostNode, ...]:
        """Return the host of each guest."""
        return over_underlay(self._bed)[-self.guests :]

    def hostless(self) -> HostNode:
        """Return the first pod's node, where that is no guest."""
        return over_underlay(self._bed)[0]

    def no_uplink(self, uplink: str) -> Missing | None:
        """Return why pods' networks with this uplink are none of this path."""
        if self.tunnel and uplink != uplinks.BRIDGE_PORT:
            return Missing(
                what=f"network {self._cell.network} by VXLAN between nodes",
                reason=f"its uplink is {uplink}; the tunnel is a port of the pods' bridge",
                mend="a network option with `uplink: bridge_port`",
            )
        return super().no_uplink(uplink)

    def segment(self, stack: ExitStack, guests: Sequence[GuestHost]) -> None:
        """Join each guest's tap to its node's NIC towards the other node."""
        for guest in guests:
            stack.enter_context(bridging(guest.host, guest.tap, self._nic(guest.host)))

    def _nic(self, node: HostNode) -> str:
        """Return a node's NIC towards the other one."""
        return next(end.interface for end in self._bed.underlay() if end.node == node.name)

    def port(self, nodes: Nodes, number: int) -> str:
        """Return the interface by which the node of that number reaches the other one."""
        node = nodes[number]
        return node.interface if isinstance(node, GuestHost) else self._nic(node)

    def joined(self, stack: ExitStack, nodes: Nodes, ports: Sequence[str], pods: Pods) -> None:
        """Make each node's port, or a tunnel over it, one of its pods' bridge."""
        if self.tunnel:
            tunnelled(stack, nodes, ports, pods)
        else:
            super().joined(stack, nodes, ports, pods)

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Return what lies between the pods: `nodes` and `pods` have made all of it."""
        found = super().join(stack, nodes, pods)
        if not self.tunnel:
            return found
        first, last = nodes
        told: Evidence = {**found.told, "tunnel": dict(TOLD)}
        way = [(first, TUNNEL, "tx"), *found.way, (last, TUNNEL, "rx")]
        return Join(told=told, hops=found.hops, forwarding=found.forwarding, way=way)

    def way(self, guests: Sequence[GuestHost]) -> list[tuple[HostNode, str, str]]:
        """Return the interfaces between the two pods' attachments, and which counter goes forward."""
        last = guests[-1]
        into = [
            (last.host, self._nic(last.host), "rx"),
            (last.host, last.tap, "tx"),
            (last, last.interface, "rx"),
        ]
        if len(guests) == 1:
            node = self.hostless()
            return [(node, self._nic(node), "tx"), *into]
        first = guests[0]
        out = [(first, first.interface, "tx"), (first.host, first.tap, "rx")]
        return [*out, (first.host, self._nic(first.host), "tx"), *into]

    def hops(self, guests: Sequence[GuestHost]) -> list[JsonValue]:
        """Return what lies between the pods' attachments, in order."""
        if len(guests) == 1:
            node = self.hostless()
            out: list[JsonValue] = [
                *self._switched(node),
                {"at": f"{node.name}/{self._nic(node)}", "what": "underlay NIC"},
            ]
        else:
            out = self._of_guest(guests[0])
        return [*out, *reversed(self._of_guest(guests[-1]))]

    def _of_guest(self, guest: GuestHost) -> list[JsonValue]:
        """Return the hops from a pod in a guest out to the link between the nodes."""
        host = guest.host
        return [
            *self._switched(guest),
            {"at": f"{guest.name}/{guest.interface}", "what": f"the guest's vNIC ({self._vnic})"},
            {"at": f"{host.name}/{guest.tap}", "what": "tap of the guest"},
            {"at": host.name, "what": f"bridge {SEGMENT}"},
            {"at": f"{host.name}/{self._nic(host)}", "what": "underlay NIC, bridge port"},
        ]

    def _switched(self, node: HostNode) -> list[JsonValue]:
        tunnel = [{"at": f"{node.name}/{TUNNEL}", "what": "VXLAN device, bridge port"}] if self.tunnel else []
        return [{"at": node.name, "what": self.switching()}, *tunnel]


_ONE = "pod on a host to pod in a virtual machine of another host"
_TWO = "pod to pod in virtual machines of two hosts"


class RemoteHostToGuestPath(_Remote):
    """One pod on a node, the other in a guest of the other node."""

    kind: ClassVar[PathKind] = between_pods("bmp2vmp-remote", f"BMP2VMP: {_ONE}", _PLAIN)
    guests: ClassVar[int] = 1


class RemoteGuestToGuestPath(_Remote):
    """A pod in a guest of each of two nodes."""

    kind: ClassVar[PathKind] = between_pods("vmp2vmp-remote", f"VMP2VMP: {_TWO}", _PLAIN)
    guests: ClassVar[int] = 2


class TunnelHostToGuestPath(RemoteHostToGuestPath):
    """The same as the first, by a tunnel from the node to the guest."""

    kind: ClassVar[PathKind] = between_pods("bmp2vmp-vxlan", f"BMP2VMP: {_ONE}, by VXLAN", _VXLAN)
    tunnel: ClassVar[bool] = True


class TunnelGuestToGuestPath(RemoteGuestToGuestPath):
    """The same as the second, by a tunnel from guest to guest."""

    kind: ClassVar[PathKind] = between_pods("vmp2vmp-vxlan", f"VMP2VMP: {_TWO}, by VXLAN", _VXLAN)
    tunnel: ClassVar[bool] = True


_: type[PodPathDriver] = RemoteHostToGuestPath
__: type[PodPathDriver] = RemoteGuestToGuestPath
