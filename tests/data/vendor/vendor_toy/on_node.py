"""What the vendor's drivers do on a node; the toolkit calls it there by name."""

from __future__ import annotations

from bmwg.drivers.network.datapath import attachment_view
from bmwg.drivers.nodes.inside import run
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.ports.interfaces import rtnetlink


def make_bridge(*, bridge: str, ports: list[str]) -> None:
    """Node function: make a silent bridge that is up, and these interfaces its ports."""
    with rtnetlink(f"make bridge {bridge}") as kernel:
        if not kernel.link_lookup(ifname=bridge):
            kernel.link("add", ifname=bridge, kind="bridge")
    routing.quiet_bridge(bridge=bridge)
    interfaces.up(interface=bridge)
    for port in ports:
        routing.set_controller(interface=port, controller=bridge)


def release(*, ports: list[str]) -> None:
    """Node function: take these interfaces out of their bridge."""
    for port in ports:
        routing.set_controller(interface=port, controller="")


def add(*, bridge: str, host: str, pid: int, interface: str, addresses: list[str]) -> dict[str, object]:
    """Node function: join the network namespace of `pid` to a bridge; return how the veth pair stands."""
    make_bridge(bridge=bridge, ports=[])
    with rtnetlink(f"make veth pair {host}") as kernel:
        peer = {"ifname": interface, "net_ns_pid": pid}
        kernel.link("add", ifname=host, kind="veth", peer=peer)
    routing.set_controller(interface=host, controller=bridge)
    interfaces.up(interface=host)
    inner = "bmwg.drivers.ports.interfaces"
    run(pid=pid, function=f"{inner}:up", arguments={"interface": interface})
    for address in addresses:
        run(pid=pid, function=f"{inner}:add_address", arguments={"interface": interface, "address": address})
    return attachment_view(netns=f"/proc/{pid}/ns/net", interface=interface)
