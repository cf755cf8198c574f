"""Makes a node or a pod the router between two interfaces, and undoes it; both IP versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.paths.addresses import INNER, OUTER, host
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import interfaces, routing, sysctl

SIDES = 2  # of a chain: a NIC and a table each
FIRST_TABLE = 100  # choice: policy routing tables from 100 on
RULE_PRIORITY = 100  # choice: before the main table


def neighbour_arguments(interface: str, addresses: Iterable[str], mac: str) -> list[dict[str, JsonValue]]:
    """Return fixed neighbour entries, so that the kernel never asks and needs no link-local address."""
    return [{"interface": interface, "address": host(address), "mac": mac} for address in addresses]


@contextmanager
def forwarding(node: Node) -> Iterator[None]:
    """Switch the node's IPv4 and IPv6 forwarding on; restore the former settings on leaving."""
    before = node.call(routing.set_forwarding, enabled=True)
    try:
        yield
    finally:
        node.call(sysctl.write_many, settings=before)


@contextmanager
def router_addresses(node: Node, side: Side) -> Iterator[None]:
    """Give the node's NIC the router's addresses of its side, with the tester as a fixed neighbour."""
    segment = OUTER[side.number]
    try:
        for address in segment.router:
            node.call(interfaces.add_address, interface=side.nic, address=address)
        node.call(routing.disable_reverse_path_filter, interface=side.nic)
        for arguments in neighbour_arguments(side.nic, segment.far, side.tester_mac):
            node.call(routing.set_neighbour, **arguments)
        yield
    finally:
        for address in segment.router:
            node.call(interfaces.remove_address, interface=side.nic, address=address)


def to_tester(side: Side) -> Hop:
    """Return the node's way to the networks behind the tester's port of a side: out by its NIC."""
    segment = OUTER[side.number]
    via = (host(segment.far_ipv4), host(segment.far_ipv6))
    return Hop(side=side.number, via=via, interface=side.nic)


def into_pod(side: Side, host_interface: str) -> Hop:
    """Return the node's way for what enters by the NIC of a side: into the pod, by its own table.

    Behind that pod are the networks of the other side.
    """
    inner = INNER[side.number]
    return Hop(
        side=1 - side.number,
        via=(host(inner.far_ipv4), host(inner.far_ipv6)),
        interface=host_interface,
        table=FIRST_TABLE + side.number,
        on_link=True,
    )


@contextmanager
def steered_to_pod(node: Node, side: Side, host_interface: str) -> Iterator[None]:
    """Send what enters by the side's NIC to the pod behind `host_interface`, whatever the main table says."""
    with steered(
        node,
        incoming=side.nic,
        to=OUTER[1 - side.number].subnets,
        via=INNER[side.number].far,
        outgoing=host_interface,
        number=side.number,
    ):
        yield


@contextmanager
def steered(
    node: Node,
    *,
    incoming: str,
    to: tuple[str, str],
    via: tuple[str, str],
    outgoing: str,
    number: int,
) -> Iterator[None]:
    """Send what enters by one interface for these subnets by another one, whatever the main table says.

    `via` are the next hops' addresses; `number` tells rules and tables of one node apart, the first `SIDES`
    are those of its NICs.
    """
    table = table_of(number)
    node.call(routing.disable_reverse_path_filter, interface=outgoing)
    for destination, hop in zip(to, via, strict=True):
        node.call(
            routing.add_route,
            destination=destination,
            via=host(hop),
            interface=outgoing,
            table=table,
            on_link=True,
        )  # the routes of that table go with the interface that they leave by
    with ruled(node, incoming=incoming, number=number):
        yield


def table_of(number: int) -> int:
    """Return the routing table of what `steered` and `ruled` have this number for."""
    return FIRST_TABLE + number


@contextmanager
def ruled(node: Node, *, incoming: str, number: int) -> Iterator[None]:
    """Route what enters by an interface by the table of this number, whatever the main table says."""
    rule: dict[str, JsonValue] = {
        "incoming": incoming,
        "table": table_of(number),
        "priority": RULE_PRIORITY + number,
    }
    try:
        for ipv6 in (False, True):
            node.call(routing.add_rule, ipv6=ipv6, **rule)
        yield
    finally:
        for ipv6 in (False, True):
            node.call(routing.remove_rule, ipv6=ipv6, **rule)
