"""The table of nftables by which a kernel's forwarding filters or translates. Node functions.

One table a network namespace, loaded in one transaction, removed as a whole. What it did is counted by
counters of its own, which are read over netlink: `nft` would read all rules for them.
Ids: FUNC-02 nft refused, FUNC-03 no nft, FUNC-04 the table lacks its counters, FUNC-06 one is there already.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from pyroute2 import NFCTSocket
from pyroute2.netlink import nla
from pyroute2.netlink.nfnetlink import NFNL_SUBSYS_NFTABLES, nfgen_msg
from pyroute2.netlink.nfnetlink.nftsocket import (
    NFT_MSG_GETOBJ,
    NFT_MSG_GETTABLE,
    NFT_MSG_NEWOBJ,
    NFTSocket,
)

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.answers.data_plane_functions import EVICTED, REFUSED
from bmwg.methodology.errors import DriverError, TestbedError

TABLE = "bmwg_function"
LOAD_S = 240.0  # choice: 100,000 rules take some seconds; on a busy machine several times as long
_FAMILIES = {1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}  # linux/netfilter.h
_MEND = "apt-get install nftables"
_SAID_LINES = 64  # choice: of a longer rule set the record has beginning, end and hash
_SETTINGS = Path("/proc/sys/net/netfilter")
_TOLD = ("nf_conntrack_max", "nf_conntrack_buckets", "nf_conntrack_udp_timeout", "nf_conntrack_checksum")


class _Object(nfgen_msg):  # type: ignore[misc]  # the library has no types
    """A stateful object of nftables, as far as counters are concerned."""

    prefix = "NFTA_OBJ_"
    nla_map = (
        ("NFTA_OBJ_UNSPEC", "none"),
        ("NFTA_OBJ_TABLE", "asciiz"),
        ("NFTA_OBJ_NAME", "asciiz"),
        ("NFTA_OBJ_TYPE", "be32"),
        ("NFTA_OBJ_DATA", "counter"),
    )

    class counter(nla):  # type: ignore[misc]  # noqa: N801  (pyroute2 finds it by this name)
        """What a counter has counted."""

        nla_map = (
            ("NFTA_COUNTER_UNSPEC", "none"),
            ("NFTA_COUNTER_BYTES", "be64"),
            ("NFTA_COUNTER_PACKETS", "be64"),
        )


def missing() -> dict[str, str] | None:
    """Node function: what this machine lacks for such a table, or None."""
    if shutil.which("nft") is None:
        return {"what": "nft", "reason": "no `nft` in PATH", "mend": _MEND}
    return None


def load(lines: Iterable[str]) -> dict[str, JsonValue]:
    """Load a rule set into this network namespace; returns it as evidence.

    Raises DriverError FUNC-02 with the words of nft, FUNC-06 where a table is there, to which rules would be
    added, and TestbedError FUNC-03. Nothing is loaded then.
    """
    if _there():
        raise DriverError("FUNC-06", f"table {TABLE}", expected="none before it is loaded", found="one")
    said = [*lines]
    text = "\n".join(said) + "\n"
    _nft("-f", "-", given=text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if len(said) > _SAID_LINES:
        half = _SAID_LINES // 2
        said = [*said[:half], f"# {len(said) - 2 * half} lines more", *said[-half:]]
    return {"table": TABLE, "rule_set": said, "sha256": digest}


def change(lines: Iterable[str]) -> None:
    """Change the table of this network namespace by one transaction: all of it, or nothing.

    Raises DriverError FUNC-02 with the words of nft, and TestbedError FUNC-03.
    """
    _nft("-f", "-", given="\n".join(lines) + "\n")


def remove() -> bool:
    """Node function: remove the table of this network namespace; `False` when there was none. Idempotent."""
    families = [one["family"] for one in listed() if one["name"] == TABLE]
    for family in families:
        _nft("delete", "table", family, TABLE)
    return bool(families)


def listed() -> list[dict[str, str]]:
    """Node function: family and name of each table here. `nft` would read all rules for them as well."""
    with NFTSocket(nfgen_family=0) as kernel:
        return [
            {"family": _FAMILIES[one["nfgen_family"]], "name": one.get_attr("NFTA_TABLE_NAME")}
            for one in kernel.request_get(nfgen_msg(), NFT_MSG_GETTABLE)
        ]


def _there() -> bool:
    return any(one["name"] == TABLE for one in listed())


def octets() -> dict[str, int]:
    """Node function: octets of layer 3 by the name of each counter."""
    return {name: octets for name, (_, octets) in _counters().items()}


def counts(*, tracked: bool = False) -> dict[str, int]:
    """Node function: frames by the name of each counter, and what the table of connections lost.

    `tracked`: connections are tracked here. Raises DriverError FUNC-04 where there is no counter.
    """
    found = {name: frames for name, (frames, _) in _counters().items()}
    if not found:
        raise DriverError("FUNC-04", f"table {TABLE}", expected="its counters", found="none")
    if tracked:
        with NFCTSocket() as kernel:
            for one in kernel.stat():
                for name, of in ((REFUSED, ("DROP", "INSERT_FAILED")), (EVICTED, ("EARLY_DROP",))):
                    lost = sum(one.get_attr(f"CTA_STATS_{what}") or 0 for what in of)
                    found[name] = found.get(name, 0) + lost
    return found


def _counters() -> dict[str, tuple[int, int]]:
    """Return packets and octets by the name of each counter."""
    wanted = _Object()
    wanted["attrs"] = [("NFTA_OBJ_TABLE", TABLE)]
    with NFTSocket(nfgen_family=0) as kernel:
        kernel.asyncore.register_policy({NFT_MSG_NEWOBJ | (NFNL_SUBSYS_NFTABLES << 8): _Object})
        return {
            one.get_attr("NFTA_OBJ_NAME"): (
                one.get_attr("NFTA_OBJ_DATA").get_attr("NFTA_COUNTER_PACKETS"),
                one.get_attr("NFTA_OBJ_DATA").get_attr("NFTA_COUNTER_BYTES"),
            )
            for one in kernel.request_get(wanted, NFT_MSG_GETOBJ)
        }


def connections() -> dict[str, JsonValue]:
    """Node function: the size and the settings of the table of connections, as the kernel here has them."""
    found: dict[str, JsonValue] = {}
    for name in _TOLD:
        with contextlib.suppress(OSError):
            found[name] = int((_SETTINGS / name).read_text())
    return found


def _nft(*arguments: str, given: str = "") -> str:
    try:
        done = subprocess.run(
            ["nft", *arguments], input=given, capture_output=True, text=True, timeout=LOAD_S, check=False
        )
    except FileNotFoundError as error:
        raise TestbedError(
            "FUNC-03", "a function by nftables", found="no `nft` in PATH", hint=_MEND
        ) from error
    except subprocess.TimeoutExpired as error:
        raise DriverError("FUNC-02", "nft", expected=f"an end within {LOAD_S:g} s", found="none") from error
    if done.returncode != 0:
        raise DriverError(
            "FUNC-02",
            f"nft {' '.join(arguments)}",
            expected="exit status 0",
            found=f"{done.returncode}: {done.stderr.strip()[:500]}",
        )
    return done.stdout
