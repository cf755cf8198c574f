"""The network of clients' pods on the clients' node: a bridge, and an interface of each pod on it."""

from __future__ import annotations

import ipaddress

from bmwg.drivers.api.calls import name_of
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import inside, links
from bmwg.drivers.ports import interfaces, routing

NETWORK = ipaddress.IPv4Network("198.18.48.0/24")  # rfc2544-C.2.2
GATEWAY = str(NETWORK[1])  # the node itself, and where clients find what the node runs for them
BRIDGE, INTERFACE = "clients0", "net0"


def join(*, pods: list[list[JsonValue]]) -> None:
    """Node function: give each pod (number, first process, address with prefix length) its interface."""
    for number, pid, address in pods:
        outer, process = f"client{number}", int(pid)
        links.make_pair(
            interface=outer,
            mac=links.mac_of("clients", outer),
            peer=INTERFACE,
            peer_mac=links.mac_of(f"client-{number}", INTERFACE),
            peer_pid=process,
            mtu_octets=1500,
        )
        routing.set_controller(interface=outer, controller=BRIDGE)
        links.raise_end(interface=outer)
        inside.run(pid=process, function=name_of(furnish), arguments={"address": str(address)})


def furnish(*, address: str) -> None:
    """Node function, run in a pod: give it its address, and the node as its way to everything else."""
    links.raise_end(interface=INTERFACE)
    interfaces.add_address(interface=INTERFACE, address=address)
    routing.add_route(destination="default", via=GATEWAY)
