"""Node functions on a bridge of the kernel, by rtnetlink: make it, read its settings, count its addresses.

The bound of the address table is an attribute that pyroute2 does not know: it is sent and read here.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

from pyroute2 import IPRoute

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import interfaces
from bmwg.drivers.ports.interfaces import rtnetlink
from bmwg.methodology.errors import TestbedError

_NETLINK_ROUTE, _NEWLINK, _GETLINK, _ERROR = 0, 16, 18, 2
_REQUEST_ACK = 0x01 | 0x04
_LINKINFO, _KIND, _DATA, _NESTED = 18, 1, 2, 0x8000
_LEARNED, _MOST_LEARNED = 48, 49  # IFLA_BR_FDB_N_LEARNED, IFLA_BR_FDB_MAX_LEARNED of Linux 6.7
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_TICKS = 100  # USER_HZ, in which the kernel tells a bridge's times


def make(*, bridge: str, nics: list[str], ageing_s: int, entries: int) -> None:
    """Node function: make a learning bridge of these NICs, up; `entries` 0: its table has no bound.

    Without STP, which would hold each port back for 30 s, and without multicast snooping, for which a bridge
    sends frames of its own.
    """
    with rtnetlink(f"make bridge {bridge}") as kernel:
        kernel.link(
            "add",
            ifname=bridge,
            kind="bridge",
            br_stp_state=0,
            br_mcast_snooping=0,
            br_ageing_time=ageing_s * _TICKS,
        )
        index = interfaces.index(kernel, bridge)
        if entries:
            _bound(index, entries)
        for nic in nics:
            kernel.link("set", index=interfaces.index(kernel, nic), master=index)
        kernel.link("set", index=index, state="up")


def settings(*, bridge: str) -> dict[str, JsonValue]:
    """Node function: return a bridge's settings as its kernel has them."""
    with rtnetlink(f"read bridge {bridge}") as kernel:
        index = interfaces.index(kernel, bridge)
        data = kernel.get_links(index)[0].get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA")
        told: dict[str, JsonValue] = {
            "ageing_s": int(data.get("IFLA_BR_AGEING_TIME")) // _TICKS,
            "stp": bool(data.get("IFLA_BR_STP_STATE")),
            "multicast_snooping": bool(data.get("IFLA_BR_MCAST_SNOOPING")),
        }
    bound = _data(index).get(_MOST_LEARNED)
    return told if bound is None else {**told, "table_entries": bound}


def learned(*, bridge: str) -> int:
    """Node function: return how many addresses a bridge has learned; TestbedError LINK-01 without it."""
    with rtnetlink(f"read bridge {bridge}") as kernel:
        index = interfaces.index(kernel, bridge)
        counted = _data(index).get(_LEARNED)
        return _in_table(kernel, index) if counted is None else counted


def _in_table(kernel: IPRoute, index: int) -> int:
    """Count the entries of a table that the kernel does not count: those that are no port's own address."""
    entries = kernel.fdb("dump")
    return sum(entry.get_attr("NDA_MASTER") == index and not entry["state"] & 0x80 for entry in entries)


def bounds_tables() -> bool:
    """Node function: return whether this kernel has bridges with a bound; one is made and deleted for it."""
    probe = "bmwg-swprobe"
    interfaces.delete(interface=probe)
    with rtnetlink(f"make bridge {probe}") as kernel:
        kernel.link("add", ifname=probe, kind="bridge")
        try:
            return _MOST_LEARNED in _data(interfaces.index(kernel, probe))
        finally:
            interfaces.delete(interface=probe)


def _attribute(kind: int, payload: bytes) -> bytes:
    whole = struct.pack("=HH", 4 + len(payload), kind) + payload
    return whole + bytes(-len(whole) % 4)


def _bound(index: int, entries: int) -> None:
    data = _attribute(_DATA | _NESTED, _attribute(_MOST_LEARNED, struct.pack("=I", entries)))
    info = _attribute(_LINKINFO | _NESTED, _attribute(_KIND, b"bridge\0") + data)
    kind, payload = _exchange(_NEWLINK, _LINK.pack(0, 0, index, 0, 0) + info)
    code = struct.unpack_from("=i", payload)[0] if kind == _ERROR else 0
    if code:
        raise TestbedError(
            "LINK-02", f"bound of {entries} entries for a bridge's table", found=os.strerror(-code)
        )


def _data(index: int) -> dict[int, int]:
    """Return the attributes of a bridge that are 32 bits long, by number."""
    kind, payload = _exchange(_GETLINK, _LINK.pack(0, 0, index, 0, 0))
    if kind != _NEWLINK:
        raise TestbedError("LINK-02", f"read interface number {index}", found=f"message {kind}")
    found: dict[int, int] = {}
    for number, value in _attributes(payload[_LINK.size :]):
        if number == _LINKINFO:
            for inner, data in _attributes(value):
                if inner == _DATA:
                    found |= {
                        name: struct.unpack("=I", octets)[0]
                        for name, octets in _attributes(data)
                        if len(octets) == 4
                    }
    return found


def _attributes(octets: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(octets):
        length, kind = struct.unpack_from("=HH", octets, at)
        if length < 4:
            return
        yield kind & 0x3FFF, octets[at + 4 : at + length]
        at += -(-length // 4) * 4


def _exchange(kind: int, body: bytes) -> tuple[int, bytes]:
    """Send one message and return the kind and the payload of the first answer."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
        kernel.settimeout(10.0)
        kernel.bind((0, 0))
        flags = _REQUEST_ACK if kind == _NEWLINK else 0x01
        kernel.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
        answer = kernel.recv(1 << 16)
    length, found, _, _, _ = _HEADER.unpack_from(answer)
    return found, answer[_HEADER.size : length]
