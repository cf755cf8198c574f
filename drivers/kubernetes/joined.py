"""Joins the pods of a cluster's nodes: configures the daemon on each node, and waits until frames pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bmwg.drivers.api.protocols import JsonValue, NetworkDriver, Node, PlacedNode
from bmwg.drivers.kubernetes import cilium, flannel
from bmwg.drivers.kubernetes.cilium import Cilium
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.flannel import Flannel
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.network.cilium import CiliumNetwork
from bmwg.drivers.network.flannel import FlannelNetwork
from bmwg.drivers.paths.addresses import INNER, host
from bmwg.methodology.errors import ConfigError

Joining = FlannelNetwork | CiliumNetwork


def flannel_of(network: Joining | None, number: int) -> Flannel | None:
    """Return what flanneld of a node is told: the pods' subnet of one side of a path over two nodes."""
    if not isinstance(network, FlannelNetwork):
        return None
    subnet = INNER[number].subnets[0]
    return flannel.of_node(number, backend=network.backend, interface=network.interface, subnet=subnet)


def cilium_of(network: Joining | None, number: int, store: str) -> Cilium | None:
    """Return what the agent of a node is told: its pods are those of one side; `store` is an address."""
    if not isinstance(network, CiliumNetwork):
        return None
    router = host(INNER[number].router_ipv4)
    pods = INNER[number].subnets[0]
    return cilium.of_node(number, interface=network.interface, pods=pods, router=router, store=store)


def underlay(layout: Layout) -> dict[str, JsonValue] | None:
    """Return interface and address by which a node's daemon reaches those of the others; None without one."""
    told = layout.flannel or layout.cilium
    return None if told is None else {"interface": told.interface, "address": told.address}


def routes(layouts: Mapping[str, Layout], name: str) -> list[dict[str, JsonValue]]:
    """Return a node's routes to the pods of the others, where its daemon leaves them to the network."""
    return [
        {"destination": one.cilium.pods, "via": host(one.cilium.address)}
        for key, one in layouts.items()
        if one.cilium is not None and key != name
    ]


def begin(api: Cluster, layouts: Mapping[str, Layout]) -> None:
    """Give each node its part of flannel's network."""
    for name, layout in layouts.items():
        if layout.flannel is not None:
            subnet = layout.flannel.subnet
            api.merge(f"/api/v1/nodes/{name}", {"spec": {"podCIDR": subnet, "podCIDRs": [subnet]}})


def awaited(node: PlacedNode, name: str, layouts: Mapping[str, Layout]) -> str:
    """Return what is still awaited of the daemon of a node, in words; empty when its way stands."""
    told = layouts[name]
    if told.flannel is not None:
        others = [one.flannel.subnet for key, one in layouts.items() if one.flannel and key != name]
        found = node.call(flannel.ready, subnet=told.flannel.subnet, others=others)
        return f"flanneld with {found}" if found else ""
    if told.cilium is not None:
        found = node.call_within(20.0, cilium.ready)
        return f"Cilium with {found}" if found else ""
    return ""


def joining_of(networks: Sequence[NetworkDriver], node: Node) -> Joining | None:
    """Return the option whose daemon is to join the nodes; None where there is none, or no program of it.

    Raises ConfigError KUBE-12 for two: they would give the same nodes' pods two ways.
    """
    found = [network for network in networks if isinstance(network, FlannelNetwork | CiliumNetwork)]
    if len(found) > 1:
        raise ConfigError(
            "KUBE-12",
            "networks of the testbed file",
            expected="at most one option with driver: flannel or driver: cilium in a cluster",
            found=", ".join(one.spec.name for one in found),
            hint="a testbed file for each",
        )
    if not found:
        return None
    missing = cilium.missing if isinstance(found[0], CiliumNetwork) else flannel.missing
    return None if node.call(missing) else found[0]
