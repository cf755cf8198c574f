"""Node functions on network interfaces of the calling process' network namespace, by rtnetlink.

Ids: LINK-01 no such interface, LINK-02 the kernel refused.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import sysctl
from bmwg.methodology.errors import TestbedError

LINK_HEADER_OCTETS = 14 + 4  # Ethernet header and FCS, which an interface's MTU does not count
_IFF_PROMISC = 0x100
# linux/if_packet.h, which the socket module has no names for
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1
_MEMBERSHIP = struct.Struct("=iHH8s")


@contextlib.contextmanager
def rtnetlink(act: str) -> Iterator[IPRoute]:
    """Open rtnetlink in the present network namespace; a refusal becomes TestbedError LINK-02."""
    try:
        with IPRoute() as kernel:
            yield kernel
    except NetlinkError as error:
        raise TestbedError(
            "LINK-02", act, found=f"{errno.errorcode.get(error.code, error.code)} {os.strerror(error.code)}"
        ) from error


def index(kernel: IPRoute, interface: str) -> int:
    """Look up the interface's number; TestbedError LINK-01 names the near ones."""
    found = kernel.link_lookup(ifname=interface)
    if found:
        return int(found[0])
    names = [link.get_attr("IFLA_IFNAME") for link in kernel.get_links()]
    near = difflib.get_close_matches(interface, names, 3) or names[:8]
    raise TestbedError("LINK-01", f"interface {interface}", found=f"none; here are: {', '.join(near)}")


def up(*, interface: str) -> None:
    """Node function: set the interface up."""
    with rtnetlink(f"set {interface} up") as kernel:
        kernel.link("set", index=index(kernel, interface), state="up")


def down(*, interface: str) -> None:
    """Node function: set the interface down (a device queue of `device_queue.isolate` is lost by that)."""
    with rtnetlink(f"set {interface} down") as kernel:
        kernel.link("set", index=index(kernel, interface), state="down")


def set_mac(*, interface: str, mac: str) -> None:
    """Node function: set the MAC of the interface."""
    with rtnetlink(f"set MAC of {interface}") as kernel:
        kernel.link("set", index=index(kernel, interface), address=mac)


def rename(*, interface: str, name: str) -> None:
    """Node function: give the interface, which is down, another name."""
    with rtnetlink(f"rename {interface} to {name}") as kernel:
        kernel.link("set", index=index(kernel, interface), ifname=name)


def set_mtu(*, interface: str, mtu_octets: int) -> None:
    """Node function: set the MTU in octets (frame without Ethernet header and FCS)."""
    with rtnetlink(f"set MTU of {interface} to {mtu_octets}") as kernel:
        kernel.link("set", index=index(kernel, interface), mtu=mtu_octets)


def mtu_octets(*, interface: str) -> int:
    """Node function: return the MTU in octets (frame without Ethernet header and FCS)."""
    with rtnetlink(f"read MTU of {interface}") as kernel:
        (link,) = kernel.get_links(index(kernel, interface))
        return int(link.get_attr("IFLA_MTU"))


def release(*, interface: str, mtu_octets: int = 0) -> None:
    """Node function: take away what a program in user space leaves behind when it is killed: its XDP program
    and promiscuous mode, and its MTU where another one is named. Idempotent; an interface that is gone is
    accepted.
    """
    with rtnetlink(f"release {interface}") as kernel:
        if found := kernel.link_lookup(ifname=interface):
            if mtu_octets:
                kernel.link("set", index=found[0], mtu=mtu_octets)
            kernel.link("set", index=found[0], flags=0, change=_IFF_PROMISC)
            kernel.link("set", index=found[0], xdp_fd=-1)


def promiscuous(*, interface: str) -> socket.socket:
    """Have the interface take frames for any MAC until the returned socket is closed, or its process ends.

    The socket itself receives nothing. An interface that was promiscuous before stays so.
    """
    holder = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        member = _MEMBERSHIP.pack(socket.if_nametoindex(interface), _PACKET_MR_PROMISC, 0, b"")
        holder.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, member)
    except BaseException:
        holder.close()
        raise
    return holder


def add_address(*, interface: str, address: str) -> None:
    """Node function: add an address in prefix notation (v4 or v6); one that is there already is accepted.

    IPv6 is switched on for the interface when its first IPv6 address comes, without DAD.
    """
    ip, _, prefix = address.partition("/")
    if ":" in ip:
        sysctl.quiet_ipv6(interface=interface)
        sysctl.write(key=f"net/ipv6/conf/{interface}/disable_ipv6", value="0")
    with rtnetlink(f"add {address} to {interface}") as kernel:
        extra = {"flags": 0x02} if ":" in ip else {}  # IFA_F_NODAD
        kernel.addr("replace", index=index(kernel, interface), address=ip, prefixlen=int(prefix), **extra)


def remove_address(*, interface: str, address: str) -> None:
    """Node function: remove an address; idempotent."""
    ip, _, prefix = address.partition("/")
    with rtnetlink(f"remove {address} from {interface}") as kernel:
        number = index(kernel, interface)
        try:
            kernel.addr("del", index=number, address=ip, prefixlen=int(prefix))
        except NetlinkError as error:
            if error.code != errno.EADDRNOTAVAIL:
                raise


def make_tap(*, interface: str) -> None:
    """Node function: make a tap interface that stays without a program that holds it."""
    with rtnetlink(f"make tap {interface}") as kernel:
        kernel.link("add", ifname=interface, kind="tuntap", mode="tap")


def delete(*, interface: str) -> bool:
    """Node function: delete the interface; `False` when there was none. Idempotent."""
    with rtnetlink(f"delete {interface}") as kernel:
        found = kernel.link_lookup(ifname=interface)
        if not found:
            return False
        try:
            kernel.link("del", index=found[0])
        except NetlinkError as error:
            if error.code != errno.ENODEV:
                raise
        return True


def move(*, interface: str, pid: int, name: str | None = None) -> None:
    """Node function: move the interface into the network namespace of the process `pid` on this node."""
    with rtnetlink(f"move {interface} to the namespace of process {pid}") as kernel:
        extra = {"ifname": name} if name else {}
        kernel.link("set", index=index(kernel, interface), net_ns_pid=pid, **extra)


def listing() -> list[dict[str, JsonValue]]:
    """Node function: all interfaces: name, kind, MAC, MTU (octets), up, controller, addresses."""
    with rtnetlink("list interfaces") as kernel:
        links = list(kernel.get_links())
        addresses = list(kernel.get_addr())
    names = {link["index"]: link.get_attr("IFLA_IFNAME") for link in links}
    return [
        {
            "name": link.get_attr("IFLA_IFNAME"),
            "kind": (link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or ""),
            "mac": link.get_attr("IFLA_ADDRESS") or "",
            "mtu_octets": link.get_attr("IFLA_MTU"),
            "up": bool(link["flags"] & 1),
            "controller": names.get(link.get_attr("IFLA_MASTER"), ""),
            "addresses": [
                f"{item.get_attr('IFA_LOCAL') or item.get_attr('IFA_ADDRESS')}/{item['prefixlen']}"
                for item in addresses
                if item["index"] == link["index"]
            ],
        }
        for link in links
    ]


def counters(*, interface: str) -> dict[str, int]:
    """Node function: the kernel's statistics of the interface (frames and octets, the kernel's names)."""
    with rtnetlink(f"read counters of {interface}") as kernel:
        link = next(iter(kernel.get_links(index(kernel, interface))))
    return {name: int(value) for name, value in sorted(link.get_attr("IFLA_STATS64").items())}


def driver(*, interface: str) -> str:
    """Node function: the kernel driver behind the interface, empty for a virtual one."""
    link = Path(f"/sys/class/net/{interface}/device/driver")
    return link.resolve().name if link.exists() else ""
