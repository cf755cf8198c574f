"""From a TesterPort to what the embedded tester plugs in: device arguments, limits, and what is refused.

Test traffic cannot leave (design decision 9): a port is refused before any frame is sent when its interface
carries a default route, has an address outside the benchmarking ranges, or lies in the initial namespace
undeclared.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pyroute2 import IPRoute

from bmwg.drivers.api.protocols import TesterPort, TrafficLimits
from bmwg.drivers.nodes.netns import in_initial_namespace, within
from bmwg.drivers.ports import nic_rings
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import FCS_OCTETS, FrameFormat
from bmwg.methodology.trial.capabilities import Capability
from bmwg.methodology.trial.pattern import LEAST_PORTS
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS, MIN_SENT_OCTETS

XDP = "xdp"  # programs inside the kernel: no device of DPDK (src/xdp.h)
AF_XDP = "af_xdp"
AF_PACKET = "af_packet"
NETDEV_KINDS = (XDP, AF_XDP, AF_PACKET)  # `device` is an interface name
VHOST = "vhost"  # the switch's end of a vhost-user socket, which it makes: the other half of a wire
VIRTIO_USER = "virtio_user"
SOCKET_KINDS = (VIRTIO_USER, "virtio_user_server", VHOST)  # `device` is a vhost-user socket
MOST_SOCKET_OCTETS = 107  # sun_path without the final zero
PCI = "pci"  # `device` is the address of a device that a user-space driver has
RING = "ring"  # rings inside the tester; `device` says what happens on the way (src/rings.h)
PLAIN = "plain"  # there: nothing
IO_KINDS = (*NETDEV_KINDS, *SOCKET_KINDS, "memif", "memif_server", "pcap", PCI, RING)
MEMORY_MIB = 160  # of DPDK, for one lane: buffers of two ports, rings, its own
BENCHMARK_NETWORKS = (
    ipaddress.ip_network("198.18.0.0/15"),  # rfc2544 appendix C.2.2
    ipaddress.ip_network("2001:2::/48"),  # rfc5180-8
)
ETHERNET_OCTETS = 14
DEFAULT_MTU = 1500  # of a port with no interface behind it
TAG_OCTETS = 4
SIGNATURE_OCTETS = 14
XDP_FRAME_OCTETS = 3412  # FCS included: a page less what the kernel keeps there (src/xdp_layout.h)
HEADER_OCTETS = {FrameFormat.ETHERNET: 0, FrameFormat.IPV4_UDP: 28, FrameFormat.IPV6_UDP: 48}

SMALL_FRAME_OCTETS = 132  # af_packet ring slots of 256 octets hold a frame of this size and its header


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Size of a packet socket's ring: one slot holds one frame; slots fill a block without rest."""

    slot_octets: int
    slots: int
    block_octets: int


RINGS = (
    (SMALL_FRAME_OCTETS, Ring(slot_octets=256, slots=65536, block_octets=4096)),
    (1900, Ring(slot_octets=2048, slots=8192, block_octets=4096)),
    (9300, Ring(slot_octets=12288, slots=1024, block_octets=12288)),
)


def ring_for(frame_octets: int) -> Ring:
    """The packet socket ring that holds frames of this size (FCS included)."""
    return next(ring for limit, ring in RINGS if frame_octets <= limit)


def min_frame_octets(frame_format: FrameFormat, tagged: bool) -> int:
    """Smallest frame, FCS included, with headers and the signature of 14 octets; it may be undersized."""
    headers = ETHERNET_OCTETS + (TAG_OCTETS if tagged else 0) + HEADER_OCTETS[frame_format]
    return headers + SIGNATURE_OCTETS + FCS_OCTETS


def device_arguments(port: TesterPort, instance: int, ring: Ring, lanes: int = 1) -> str:
    """The DPDK device string of a port. `instance` makes its name unique over the tester's life.

    A port has a queue for each lane. One of kind xdp has no device of DPDK.
    """
    if port.io == XDP:
        return ""
    if port.io == AF_XDP:
        # busy_budget=0: the kernel's busy polling would put the DUT's work on our CPU.
        return f"net_af_xdp{instance},iface={port.device},start_queue=0,queue_count=1,busy_budget=0"
    if port.io == AF_PACKET:
        return (
            f"net_af_packet{instance},iface={port.device},blocksz={ring.block_octets},framesz={ring.slot_octets},"
            f"framecnt={ring.slots},qpairs={lanes},qdisc_bypass=1"
        )
    mac = f",mac={port.mac}" if port.mac else ""
    if port.io in (VIRTIO_USER, "virtio_user_server"):
        server = 1 if port.io.endswith("server") else 0
        queues = f",queues={lanes}" if lanes > 1 else ""
        return f"virtio_user{instance},path={port.device},server={server},queue_size=1024{queues}{mac}"
    if port.io == VHOST:
        return f"net_vhost{instance},iface={port.device},queues={lanes}"
    if port.io in ("memif", "memif_server"):
        role = "server" if port.io.endswith("server") else "client"
        return f"net_memif{instance},role={role},socket={port.device},socket-abstract=no{mac}"
    if port.io == "pcap":
        return f"net_pcap{instance},{port.device}"
    if port.io == RING:
        return f"ring:{'' if port.device == PLAIN else port.device}"
    return port.device  # pci


def check_ports(ports: tuple[TesterPort, ...], lab_ports: Collection[str]) -> None:
    """Refuse ports by their descriptions: as `check_port`, and ConfigError TST-24 for a name or MAC twice."""
    for port in ports:
        check_port(port, lab_ports)
    names = [port.name for port in ports]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        # the counters of one would stand for those of the other
        raise ConfigError(
            "TST-24", "tester ports", expected="names that differ", found=f"{', '.join(twice)} twice"
        )
    _check_macs(ports)


def _check_macs(ports: tuple[TesterPort, ...]) -> None:
    """Refuse two ports of one MAC where a switch would have to tell them apart by it: ConfigError TST-24.

    Ports with a router between them may have it: each link has addresses of its own.
    """
    by_mac: dict[str, list[str]] = {}
    for port in ports:
        if port.mac:
            by_mac.setdefault(port.mac.lower(), []).append(port.name)
    alike = {mac: names for mac, names in by_mac.items() if len(names) > 1}
    to_itself = any(port.mac and port.mac == port.peer_mac for port in ports)
    if alike and (len(ports) > LEAST_PORTS or to_itself):
        mac, names = next(iter(alike.items()))
        raise ConfigError(
            "TST-24",
            "tester ports around a switch; no traffic was sent",
            expected="MAC addresses that differ, for a switch forwards by them",
            found=f"{mac} at {' and '.join(names)}",
            hint="give one of these interfaces another address (ip link set NAME address MAC)",
        )


def check_port(port: TesterPort, lab_ports: Collection[str]) -> None:
    """Refuse a port by its description alone: ConfigError TST-20 (io), TestbedError TST-06 (address)."""
    if port.io not in IO_KINDS:
        near = difflib.get_close_matches(port.io, IO_KINDS, n=1)
        raise ConfigError(
            "TST-20",
            f"tester port {port.name}: io",
            expected=f"one of {', '.join(IO_KINDS)}",
            found=repr(port.io),
            hint=f"did you mean {near[0]}?" if near else "",
        )
    if not port.device or (re.search(r"[,\s]", port.device) and port.io != "pcap"):
        raise ConfigError(
            "TST-21",
            f"tester port {port.name}: device",
            expected="a name without comma or blank",
            found=repr(port.device),
        )
    if port.io in SOCKET_KINDS and len(port.device.encode()) > MOST_SOCKET_OCTETS:
        raise ConfigError(
            "TST-21",
            f"tester port {port.name}: device",
            expected=f"a socket's path of at most {MOST_SOCKET_OCTETS} octets",
            found=f"{len(port.device.encode())} octets: {port.device}",
        )
    for address in (port.ipv4, port.ipv6):
        if address is not None:
            _check_benchmark_address(port, address)
    if port.io == PCI and {port.device, port.name}.isdisjoint(lab_ports):
        raise _undeclared(port, f"PCI device {port.device}")


def _undeclared(port: TesterPort, what: str) -> TestbedError:
    return TestbedError(
        "TST-07",
        f"tester port {port.name}: {what}; no traffic was sent",
        expected="an interface in a namespace of the run, or one that lab_ports names",
        found=f"{port.device}, not in lab_ports",
        hint=f"add {port.device} to lab_ports of the testbed file if test traffic may use it",
    )


def _check_benchmark_address(port: TesterPort, text: str) -> None:
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError as error:
        raise ConfigError(
            "TST-22",
            f"tester port {port.name}: address",
            expected="an address in prefix notation",
            found=repr(text),
        ) from error
    if not _is_benchmark(interface.ip):
        raise _foreign_address(port, text, "is the port's own")


def _is_benchmark(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return ip.is_link_local or any(ip.version == net.version and ip in net for net in BENCHMARK_NETWORKS)


def _foreign_address(port: TesterPort, text: str, how: str) -> TestbedError:
    return TestbedError(
        "TST-06",
        f"tester port {port.name}: {text} {how}; no traffic was sent",
        expected="198.18.0.0/15, 2001:2::/48 or link-local addresses only (RFC 2544 appendix C, RFC 5180)",
        found=text,
        hint="test traffic stays on interfaces that carry nothing else (RFC 6815)",
    )


def check_interface(port: TesterPort, lab_ports: Collection[str]) -> int:
    """Look at the interface of a netdev port and refuse it by name; return its MTU (octets).

    TestbedError: TST-04 missing interface or namespace, TST-05 default route, TST-06 foreign address,
    TST-07 initial namespace undeclared, TST-08 down, QUEUE-04 several queues
    (af_xdp).
    """
    try:
        initial = in_initial_namespace(port.netns)
    except OSError as error:
        raise _missing(port, f"network namespace {port.netns}", []) from error
    if initial and port.device not in lab_ports:
        raise _undeclared(port, f"interface {port.device} is in the initial network namespace")
    return within(port.netns, lambda: _check_here(port))


def pads_nothing(port: TesterPort) -> bool:
    """Whether a frame below 64 octets leaves a port as it is: over a veth pair, which just hands it over.

    The driver of a NIC fills it up to 64 octets, so that another frame would leave than the one asked for.
    """
    return port.io in (AF_PACKET, AF_XDP) and within(port.netns, lambda: _kind_here(port.device)) == "veth"


def _kind_here(interface: str) -> str | None:
    with IPRoute() as route:
        links = route.get_links(ifname=interface)
        kind = links[0].get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") if links else None
    return None if kind is None else str(kind)


def _check_here(port: TesterPort) -> int:
    with IPRoute() as route:
        links = {link.get("ifname"): link for link in route.get_links()}
        if port.device not in links:
            raise _missing(port, f"interface {port.device}", [str(name) for name in links])
        link = links[port.device]
        index = link["index"]
        for family in (2, 10):
            for entry in route.get_routes(family=family):
                if entry["dst_len"] == 0 and entry.get("oif") == index and entry["type"] == 1:
                    raise TestbedError(
                        "TST-05",
                        f"tester port {port.name}: {port.device} has a default route; no traffic was sent",
                        expected="an interface that leads nowhere else",
                        found=f"default route through {port.device}",
                        hint="give the tester an interface of its own",
                    )
        for entry in route.get_addr(index=index):
            text = str(entry.get("address"))
            if not _is_benchmark(ipaddress.ip_address(text)):
                raise _foreign_address(port, text, f"is an address of {port.device}")
        if not link["flags"] & 1:
            raise TestbedError(
                "TST-08",
                f"tester port {port.name}: interface {port.device}; no traffic was sent",
                expected="up",
                found="down",
                hint=f"ip link set {port.device} up (in its namespace)",
            )
        mtu = int(link.get("mtu"))
    if port.io == AF_XDP:
        nic_rings.require_one_queue(interface=port.device, where=f"tester port {port.name}")
    return mtu


def _missing(port: TesterPort, what: str, present: list[str]) -> TestbedError:
    near = difflib.get_close_matches(port.device, present, n=1)
    return TestbedError(
        "TST-04",
        f"tester port {port.name}: {what}; no traffic was sent",
        expected="to exist",
        found=f"only {', '.join(sorted(present))}" if present else "none of this name",
        hint=f"did you mean {near[0]}?" if near else "",
    )


def request_for(
    port: TesterPort,
    instance: int,
    *,
    mtu: int,
    frame_octets: int,
    pool_frames: int,
    lanes: int = 1,
    descriptors: int = 2048,
) -> dict[str, Any]:
    """What the tester's `attach` needs to know of one port. `mtu` (octets) is the most asked of it."""

    def plain(text: str | None) -> str | None:
        return str(ipaddress.ip_interface(text).ip) if text else None

    return {
        "name": port.name,
        "xdp": port.io == XDP,
        "device_counts": port.io in (*SOCKET_KINDS, PCI),
        "devargs": device_arguments(port, instance, ring_for(frame_octets), lanes),
        "netns": port.netns,
        "interface": port.device if port.io in NETDEV_KINDS else None,
        "ipv4": plain(port.ipv4),
        "ipv6": plain(port.ipv6),
        "gateway_ipv4": None if port.peer_mac else port.gateway_ipv4,
        "gateway_ipv6": None if port.peer_mac else port.gateway_ipv6,
        "peer_mac": port.peer_mac,
        "mtu": mtu,
        # The packet socket's PMD wants buffers of a whole slot.
        "room": ring_for(frame_octets).slot_octets if port.io == AF_PACKET else 0,
        "vlan": port.vlan_id or 0,
        "pool_frames": pool_frames,
        "descriptors": descriptors,
    }


def limits_of(
    ports: tuple[TesterPort, ...], mtus: list[int], capabilities: frozenset[Capability]
) -> TrafficLimits:
    """What all ports carry: the smallest MTU (of interface and device), with Ethernet header and FCS."""
    most = min(min(mtus) + ETHERNET_OCTETS + FCS_OCTETS, MAX_FRAME_OCTETS)
    if ports[0].io == XDP:
        most = min(most, XDP_FRAME_OCTETS)
    return TrafficLimits(
        min_frame_octets=MIN_SENT_OCTETS if Capability.UNDERSIZE in capabilities else MIN_FRAME_OCTETS,
        max_frame_octets=most,
        capabilities=capabilities,
    )
