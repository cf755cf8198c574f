"""Interfaces, plugins and what stands between them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bmwg.drivers.platform_record.doctor.scene import Scene
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import entries
from bmwg.drivers.testbed.file import AUTO
from bmwg.drivers.testbed.port_kind import EMBEDDED, XDP, port_kind
from bmwg.drivers.traffic.embedded import xdp
from bmwg.drivers.traffic.embedded.build import binary_path
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record.findings import Finding, Weight


def bridge_mtu(scene: Scene) -> Iterator[Finding]:
    """DOC-20: a port of a bridge carries less than another."""
    ports: dict[str, dict[str, int]] = {}
    for name, facts in scene.interfaces():
        if facts.get("master") and "mtu_octets" in facts:
            ports.setdefault(facts["master"], {})[name] = facts["mtu_octets"]
    for bridge, sizes in sorted(ports.items()):
        if len(set(sizes.values())) > 1:
            said = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items()))
            yield Finding(
                finding_id="DOC-20",
                weight=Weight.DISTORTS,
                what=f"ports of {bridge} have different MTUs: {said}",
                breaks="frames above the smallest are dropped without a word: loss that no load explains",
                mend=f"ip link set <port> mtu {max(sizes.values())} on each, or measure smaller frames",
            )


def spoof_check(scene: Scene) -> Iterator[Finding]:
    """DOC-21: virtual functions drop frames with source addresses that are not theirs."""
    for name, facts in scene.interfaces():
        if any(facts.get("spoof_check") or ()):
            yield Finding(
                finding_id="DOC-21",
                weight=Weight.DISTORTS,
                what=f"spoof check is on for virtual functions of {name}",
                breaks="forwarded frames carry another source MAC and are dropped by the NIC",
                mend=f"ip link set {name} vf <n> spoofchk off trust on",
            )


def lab_ports(scene: Scene) -> Iterator[Finding]:
    """DOC-22: a declared lab port carries the machine's own traffic."""
    routes = scene.value("datapath/routes")
    if scene.testbed is None or not isinstance(routes, list):
        return
    for port in scene.testbed.lab_ports:
        if any(route["interface"] == port and route["destination"] == "default" for route in routes):
            yield Finding(
                finding_id="DOC-22",
                weight=Weight.BLOCKS,
                what=f"lab port {port} has a default route",
                breaks="test traffic would leave the lab (RFC 6815); the run refuses it",
                mend="name a port that carries nothing else, or remove the route",
            )


def plugins(scene: Scene) -> Iterator[Finding]:
    """DOC-23: a network option names a plugin that is not in its folder."""
    for network in scene.testbed.networks if scene.testbed else ():
        if network.driver != "cni" or not network.conflist or not network.plugin_dir:
            continue
        present = set(entries(scene.source, os.path.expanduser(network.plugin_dir)))
        asked = set()
        for plugin in network.conflist.get("plugins", ()):
            asked |= {plugin.get("type"), (plugin.get("ipam") or {}).get("type")} - {None}
        if gone := {str(name) for name in asked} - present:
            yield Finding(
                finding_id="DOC-23",
                weight=Weight.BLOCKS,
                what=f"network {network.name}: no plugin {', '.join(sorted(gone))} in {network.plugin_dir}",
                breaks="its cells are not assessed",
                mend="apt-get install containernetworking-plugins, or correct `plugin_dir`",
            )


def packet_filter(scene: Scene) -> Iterator[Finding]:
    """DOC-24: bridged frames pass the packet filter."""
    settings = scene.value("kernel/settings") or {}
    on = [name for name, value in settings.items() if "bridge-nf-call" in name and value != "0"]
    if on:
        yield Finding(
            finding_id="DOC-24",
            weight=Weight.DISTORTS,
            what=f"{', '.join(sorted(on))} is on",
            breaks="each bridged frame passes the IP packet filter and connection tracking: the "
            "bridge looks slow",
            mend="sysctl net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0",
        )


def pause(scene: Scene) -> Iterator[Finding]:
    """DOC-25: a port may throttle its sender."""
    for name, facts in scene.interfaces():
        said = facts.get("pause") or {}
        if said.get("rx") or said.get("tx"):
            yield Finding(
                finding_id="DOC-25",
                weight=Weight.DISTORTS,
                what=f"flow control is on at {name}",
                breaks="an overloaded DUT slows the tester instead of losing frames: throughput looks "
                "like loss-free line rate",
                mend=f"ethtool -A {name} autoneg off rx off tx off",
            )


def iommu(scene: Scene) -> Iterator[Finding]:
    """DOC-26: PCI ports are named and no IOMMU is active."""
    ports = [port for port in (scene.testbed.lab_ports if scene.testbed else ()) if ":" in port]
    if ports and not scene.value("virtualization/iommu"):
        yield Finding(
            finding_id="DOC-26",
            weight=Weight.BLOCKS,
            what=f"lab port {', '.join(ports)} is a PCI address and no IOMMU is active",
            breaks="vfio-pci cannot bind the device; virtual functions cannot be given to a guest",
            mend="enable VT-d or AMD-Vi in the firmware and boot with intel_iommu=on iommu=pt",
        )


def programs(scene: Scene) -> Iterator[Finding]:
    """DOC-27: the kernel has not what the tester's ports inside it need."""
    testbed = scene.testbed
    if testbed is None or testbed.tester.driver != EMBEDDED or testbed.tester.io not in (AUTO, XDP):
        return
    if not isinstance(scene.source, LocalSource):
        return  # another machine's files: this kernel is not the one that is asked about
    try:
        if not binary_path().exists():
            return  # nothing is built by looking
    except TestbedError:
        return  # what the tester's build lacks is told by set-up
    asked = testbed.tester.io == XDP
    kind, missing = port_kind(testbed), xdp.lacking()
    if kind.used == XDP and missing is None:
        return
    yield Finding(
        finding_id="DOC-27",
        weight=Weight.BLOCKS if asked else Weight.NOTE,
        what=f"no tester ports inside the kernel (io: xdp): {missing.reason if missing else kind.reason}",
        breaks="the run refuses its ports" if asked else f"the tester takes {kind.used}, which carries less",
        mend=missing.mend if missing else "dut.device_queue: threaded in the testbed file",
    )


CHECKS = (bridge_mtu, spoof_check, lab_ports, plugins, packet_filter, pause, iommu, programs)
