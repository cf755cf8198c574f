"""A server in a virtual machine of its host, with our agent, its vNIC on a bridge with the host's NIC.

Its program runs in a cgroup inside with a pod's limits, on all of the machine's CPUs but the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bmwg.drivers.api import Crossed, JsonValue, Missing
from bmwg.drivers.hosting import interfaces, routing
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.paths import guest_hosts
from bmwg.drivers.paths.addresses import ENDPOINTS
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.guest_hosts import GuestHost
from bmwg.drivers.paths.native_place import HostPlace, guest_place
from bmwg.methodology.cells.vnics import VIRTIO

BRIDGE = "bmwg-kvbr"
NUMBER = 1  # of the path's second end


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestServer:
    """The machine with the place of its program. `crossed` are its tap and its vNIC, towards the program."""

    guest: GuestHost
    place: HostPlace
    machine: dict[str, JsonValue]

    @property
    def crossed(self) -> tuple[Crossed, ...]:
        """What goes in leaves the tap for the machine, and comes in at its vNIC."""
        guest = self.guest
        return (
            Crossed(at=f"{guest.host.name}/{guest.tap}", place=guest.host, interface=guest.tap, forward="tx"),
            Crossed(
                at=f"{guest.name}/{guest.interface}", place=guest, interface=guest.interface, forward="rx"
            ),
        )

    @property
    def hops(self) -> list[JsonValue]:
        """From the host's NIC inwards."""
        guest = self.guest
        return [
            {"at": guest.host.name, "what": f"bridge {BRIDGE}"},
            {"at": f"{guest.host.name}/{guest.tap}", "what": "tap of the guest"},
            {"at": f"{guest.name}/{guest.interface}", "what": f"the guest's vNIC ({VIRTIO})"},
        ]


def lacking(bed: Bed, node: NamespaceNode) -> Missing | None:
    """Return what the node lacks for such a machine."""
    return guest_hosts.lacking(bed, node, VIRTIO)


@contextmanager
def standing(bed: Bed, node: NamespaceNode, *, nic: str) -> Iterator[GuestServer]:
    """Boot the machine behind a bridge with the node's NIC; end it, and remove the bridge, on leaving.

    Raises TestbedError VM-01 to VM-05, DriverError HOST-01, and what entering the provider raises.
    """
    entry = bed.undo.before("interface", node.place, interface=BRIDGE)
    try:
        with guest_hosts.guest_host(bed, node, number=NUMBER, vnic=VIRTIO) as guest:
            node.call(routing.add_bridge, bridge=BRIDGE)
            for interface in (nic, guest.tap):
                node.call(routing.set_controller, interface=interface, controller=BRIDGE)
            for address in ENDPOINTS[NUMBER]:
                guest.call(interfaces.add_address, interface=guest.interface, address=address)
            place = guest_place(bed, guest, name="bmwg-server")
            yield GuestServer(guest=guest, place=place, machine=guest_hosts.described(bed, guest, VIRTIO))
    finally:
        node.call(routing.set_controller, interface=nic, controller="")
        node.call(interfaces.delete, interface=BRIDGE)
        bed.undo.done(entry)
