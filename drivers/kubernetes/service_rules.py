"""To which pods a node's kernel sends the connections of a Service, by kube-proxy's table of nftables."""

from __future__ import annotations

import re

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import bounded

_TABLE = "kube-proxy"
_CHAIN = re.compile(r"^\tchain (?P<name>\S+) \{\n(?P<rules>.*?)^\t\}", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"goto (endpoint-[^\s,}]+)")
_TRANSLATED = re.compile(r"dnat (?:ip )?to (?P<address>[\d.]+):(?P<port>\d+)")
WORDS: dict[str, JsonValue] = {
    "by": "kube-proxy, nftables",
    "picks": "a pod at random for each connection",
    "source": "clients outside of the cluster have the node's address at the pods",
}


def reached(*, cluster_ip: str, port: int) -> list[str]:
    """Node function: the addresses that a Service's TCP connections are sent to, sorted."""
    done = bounded.run(["nft", "--numeric", "list", "table", "ip", _TABLE], deadline_s=10.0)
    return read(done.stdout, cluster_ip=cluster_ip, port=port)


def read(text: str, *, cluster_ip: str, port: int) -> list[str]:
    """Follow a Service's entry to its chain, and from there to the translation of each of its endpoints."""
    entry = re.search(
        rf"(?<![\d.]){re.escape(cluster_ip)} \. (?:tcp|6) \. {port} : goto (?P<chain>[^\s,}}]+)", text
    )
    if entry is None:
        return []
    chains = {match["name"]: match["rules"] for match in _CHAIN.finditer(text)}
    found = set()
    for name in _TARGET.findall(chains.get(entry["chain"], "")):
        match = _TRANSLATED.search(chains.get(name, ""))
        if match and int(match["port"]) == port:
            found.add(match["address"])
    return sorted(found)
