"""What a network hands over to a pod: an interface of the kernel, a vhost-user socket, an AF_XDP device, or a
PCI device by VFIO.

A function says which of them it drives (`PodFunction.drives`); a cell with another is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api.protocols import Attached, JsonValue, Missing, NetworkDriver, Node, PlacedNode, PodParts

if TYPE_CHECKING:  # agents need no reader of testbed files
    from bmwg.drivers.testbed.file import NetworkSpec

NETDEV, VHOST_USER, AF_XDP, VFIO = "netdev", "vhost-user", "af-xdp", "vfio"
COMBINED = "combined"  # of several kinds, an interface of the pod each
BY_DPDK = (VHOST_USER, VFIO, COMBINED)  # each port is set up by a program of DPDK, at its default MTU


class NetworkDefaults:
    """What a network is that has no programs of its own and takes any NIC."""

    own_router: ClassVar[bool] = False
    ipv4_alone: ClassVar[bool] = False
    enforces_policies: ClassVar[bool] = False
    on_one_node: ClassVar[str] = ""

    spec: NetworkSpec

    def named(self, driver: str) -> dict[str, JsonValue]:
        """Return what every option tells of itself: driver, name, model, how a node leads to it."""
        return {
            "driver": driver,
            "network": self.spec.name,
            "networking_model": self.spec.model,
            "uplink": self.spec.uplink,
        }

    def probe_uplink(self, node: Node, nic: str) -> Missing | None:
        """Nothing: that the NIC is there is enough."""
        return None

    def joined(self, pods: Sequence[tuple[PlacedNode, Attached]]) -> dict[str, JsonValue]:
        """Nothing is awaited: no daemon has to know the pods."""
        return {}


class NetdevHandover(NetworkDefaults):
    """What every network has in common that gives a pod an interface of the kernel and nothing else."""

    hands_over: ClassVar[str] = NETDEV

    @contextmanager
    def pod_parts(self, node: PlacedNode, pod_id: str) -> Iterator[PodParts]:
        """The pod needs nothing: its interface is put into its namespace."""
        yield PodParts()

    def settled(self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int) -> dict[str, JsonValue]:
        """Nothing is awaited: an interface of the kernel carries frames as soon as it is up."""
        return {}

    def uses(self, node: Node) -> dict[str, JsonValue]:
        """No process of the network's own: the kernel carries its frames."""
        return {}


def undriven(network: NetworkDriver, function: str, drives: frozenset[str]) -> Missing | None:
    """Return why a function (or a path's own ports) cannot use what a network hands over, or None."""
    if network.hands_over in drives:
        return None
    return Missing(
        what=f"{function} on network {network.spec.name}",
        reason=f"the network hands over {network.hands_over}; {function} drives {', '.join(sorted(drives))}",
        mend="another function (testpmd drives all of them), or another network option",
    )
