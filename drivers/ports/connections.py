"""Connections that a node's kernel remembers (conntrack), as far as test frames made them. Node functions.

A kernel that translates addresses gives a flow another source port where a connection it remembers would have
the same answers. So what one deployment's frames left there would change the next one's frames.
"""

from __future__ import annotations

from typing import Any

from pyroute2 import NFCTSocket
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple

_UDP = 17
_GONE = 2  # ENOENT: it ended meanwhile


def forget(*, addresses: list[str], port: int) -> int:
    """Node function: forget UDP connections to `port` of these addresses; returns how many there were.

    Both ways of a connection count: also one that reaches an address after its translation.
    """
    forgotten = 0
    with NFCTSocket() as kernel:
        for entry in list(kernel.dump()):
            asked, answered = (_tuple(entry, name) for name in ("CTA_TUPLE_ORIG", "CTA_TUPLE_REPLY"))
            if asked.proto != _UDP or asked.dport != port:
                continue
            if asked.daddr not in addresses and answered.saddr not in addresses:
                continue
            try:
                kernel.entry("del", tuple_orig=asked)
            except NetlinkError as error:
                if error.code != _GONE:
                    raise
            else:
                forgotten += 1
    return forgotten


def _tuple(entry: Any, name: str) -> Any:
    return NFCTAttrTuple.from_netlink(entry["nfgen_family"], entry.get_attr(name))
