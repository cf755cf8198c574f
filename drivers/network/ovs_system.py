"""Ports of the kernel on an Open vSwitch of the run's own, and what joins two of its nodes; node functions.

The switch is that of `ovs_switch`, without DPDK: its `netdev` datapath reads interfaces by packet sockets. A
bridge learns addresses. Two nodes are joined by their NIC as a trunk of one VLAN, or by a tunnel over it.
"""

from __future__ import annotations

from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_switch, ovs_tools
from bmwg.drivers.ports import device_queue, interfaces
from bmwg.drivers.ports.routing import VXLAN_OVERHEAD_OCTETS
from bmwg.methodology.errors import TestbedError

TUNNEL, OUTER = "bmwg-ovx0", "bmwg-ovsp0"  # the tunnel, and the bridge of NIC and address

OVERHEAD_OCTETS = {  # over IPv4, of the frame within: outer Ethernet 14, IPv4 20, and what follows
    "vxlan": VXLAN_OVERHEAD_OCTETS,
    "gre": 42,  # rfc2784, rfc2890: GRE with a key 8, as NVGRE (rfc7637) has it
    "geneve": 50,  # rfc8926: UDP 8, GENEVE without options 8
}


def config(cpus: list[int]) -> dict[str, Any]:
    """Return what `ovs_switch.ensure` is told of a switch without DPDK: nothing of it polls."""
    return {"cpus": cpus, "pmd_cpus": [], "hugepages_2mi": 0, "dpdk": False}


def add(*, config: dict[str, Any], owner: str, bridge: str, port: str, tag: int) -> dict[str, JsonValue]:
    """Node function: give a bridge an interface of the kernel, an access port of VLAN `tag` (0: none).

    The switch is started if none stands. Raises TestbedError VSW-03, VSW-04, DriverError VSW-02.
    """
    stood = bool(ovs_switch.recorded())
    state = ovs_switch.ensure(config, owner)
    state["ports"][port] = {"bridge": bridge, "nic": ""}
    ovs_switch.record(state)
    _bridge(bridge)
    _port(bridge, port, *([f"tag={tag}"] if tag else []))
    return {"vswitch_start_s": 0.0 if stood else state["start_s"], "tag": tag or None}


def remove(*, owner: str, bridge: str, port: str) -> None:
    """Node function: take a port away, with the last one the switch, and delete the interface. Idempotent."""
    ovs_switch.remove(owner=owner, bridge=bridge, nic="", port=port)
    gone = [port] if ovs_switch.recorded() else [port, bridge, OUTER, ovs_tools.DATAPATH]
    for name in gone:  # taps may outlive a switch that has ended
        interfaces.delete(interface=name)


def trunk(*, bridge: str, nic: str, tag: int) -> dict[str, JsonValue]:
    """Node function: make the NIC a port of the bridge that carries one VLAN, tagged."""
    _port(bridge, nic, "vlan_mode=trunk", f"trunks={tag}")
    return {"nic": nic, "vlan": tag}


def tunnel(
    *, bridge: str, nic: str, technique: str, local: str, remote: str, vni: int, mtu_octets: int
) -> dict[str, JsonValue]:
    """Node function: join the bridge to that of the node at `remote` by a tunnel over the NIC.

    `local` is this node's address in prefix notation; the NIC's bridge has it, as the datapath looks it up.
    """
    _bridge(OUTER)
    _port(OUTER, nic)
    interfaces.set_mtu(interface=OUTER, mtu_octets=mtu_octets)
    interfaces.add_address(interface=OUTER, address=local)
    interfaces.up(interface=OUTER)
    options = [f"options:remote_ip={remote}", f"options:key={vni}"]
    _port(bridge, TUNNEL, interface=[f"type={technique}", *options])
    return {"nic": nic, "vni": vni, "technique": technique, "overhead_octets": OVERHEAD_OCTETS[technique]}


def apart(*, nic: str) -> None:
    """Node function: undo `trunk` and `tunnel`. Idempotent; nothing is left where the switch has ended."""
    if not ovs_switch.recorded():
        return
    words = ["--", "--if-exists", "del-port", TUNNEL, "--", "--if-exists", "del-br", OUTER]
    ovs_switch.configure(words=[*words, "--", "--if-exists", "del-port", nic])


def standing(*, bridge: str) -> dict[str, JsonValue]:
    """Node function: return the ports of a bridge as the switch's datapath has them."""
    return {"datapath": ovs_tools.ask("dpif/show").split("\n"), "bridge": bridge}


def finish(*, interface: str) -> dict[str, JsonValue]:
    """Node function, run in a pod: have its TCP frames cut and summed here; the switch would see neither."""
    return device_queue.finish_frames(interface=interface, here=True)


def _bridge(name: str) -> None:
    settings = ["datapath_type=netdev", "fail-mode=standalone"]
    ovs_switch.configure(words=["--", "--may-exist", "add-br", name, "--", "set", "bridge", name, *settings])


def _port(bridge: str, port: str, *settings: str, interface: list[str] | None = None) -> None:
    words = ["--", "--may-exist", "add-port", bridge, port, *settings]
    words += ["--", "set", "interface", port, *interface] if interface else []
    ovs_switch.configure(words=words)
    if said := ovs_tools.read("interface", port, "error"):
        raise TestbedError("VSW-03", f"the vSwitch refused port {port}", found=str(said))
