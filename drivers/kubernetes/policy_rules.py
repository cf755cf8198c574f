"""NetworkPolicies as nftables rules of one node: a pure function of pods and policies.

A pod that any policy selects for a direction takes (or sends) there what one of them allows, and nothing
else, whatever of its addresses is meant: those of its further networks as well. Replies to what was allowed
pass. What of the API is not understood is refused, never ignored.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TABLE = "bmwg-policies"
END = "bmwg.ietf.org/end"  # label of the pods of a path: which of them policies are for
INGRESS, EGRESS = "Ingress", "Egress"
_HOOKS = {EGRESS: ("saddr", "daddr", -5), INGRESS: ("daddr", "saddr", 0)}
_SPEC = {"podSelector", "policyTypes", "ingress", "egress"}
_PROTOCOLS = {"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """A pod as policies see it: its labels, its node, and its addresses on all of its networks."""

    name: str
    node: str
    labels: Mapping[str, str]
    addresses: tuple[str, ...]


def script(pods: Sequence[PodView], policies: Mapping[str, Mapping[str, Any]], node: str) -> str:
    """Return what nft is told, in one transaction: the table anew, or none where no policy selects a pod.

    `policies` are specs by name. Raises ValueError for what is not understood.
    """
    chains: list[str] = []
    entries: dict[tuple[str, int], list[str]] = {}
    for direction in (EGRESS, INGRESS):
        applied = {name: spec for name, spec in sorted(policies.items()) if direction in _types(name, spec)}
        chain_of = {name: f"{direction}-policy-{number}" for number, name in enumerate(applied)}
        used: set[str] = set()
        for number, pod in enumerate(view for view in pods if view.node == node and view.addresses):
            mine = [name for name, spec in applied.items() if _selects(name, spec["podSelector"], pod)]
            if not mine:
                continue
            used |= set(mine)
            chain = f"{direction}-pod-{number}"
            jumps = [f"jump {chain_of[name]}" for name in mine]
            chains += [f"chain {chain} {{", *(f"  {jump}" for jump in jumps), "  drop", "}"]
            for address in pod.addresses:
                version = ipaddress.ip_address(address).version
                entries.setdefault((direction, version), []).append(f"{address} : jump {chain}")
        rules: list[str] = []
        for name, spec in applied.items():
            if name in used:
                told = list(_accepts(name, spec, direction, pods))
                rules += [f"chain {chain_of[name]} {{", *(f"  {one}" for one in told), "}"]
        chains = [*rules, *chains]
    head = [f"table inet {TABLE}", f"delete table inet {TABLE}"]
    if not entries:
        return "\n".join([*head, ""])
    body = [*chains]
    for (way, family), elements in entries.items():
        kind = "ipv4_addr" if family == 4 else "ipv6_addr"
        said = f"type {kind} : verdict; elements = {{ {', '.join(elements)} }};"
        body.append(f"map {way}{family} {{ {said} }}")
    for direction in dict.fromkeys(one for one, _ in entries):
        own, _, priority = _HOOKS[direction]
        body += [
            f"chain {direction} {{",
            f"  type filter hook forward priority {priority}; policy accept;",
            "  ct direction reply ct state established,related accept",
        ]
        for version, word in ((4, "ip"), (6, "ip6")):
            if (direction, version) in entries:
                body.append(f"  {word} {own} vmap @{direction}{version}")
        body.append("}")
    return "\n".join([*head, f"table inet {TABLE} {{", *body, "}", ""])


def _types(name: str, spec: Mapping[str, Any]) -> Sequence[str]:
    if unknown := sorted(set(spec) - _SPEC):
        raise ValueError(f"policy {name}: {', '.join(unknown)}")
    found: Sequence[str] = spec.get("policyTypes") or [INGRESS, *([EGRESS] if "egress" in spec else [])]
    return found


def _selects(name: str, selector: Mapping[str, Any], pod: PodView) -> bool:
    if unknown := sorted(set(selector) - {"matchLabels"}):
        raise ValueError(f"policy {name}: a selector by {', '.join(unknown)}")
    wanted = selector.get("matchLabels") or {}
    return all(pod.labels.get(key) == value for key, value in wanted.items())


def _accepts(name: str, spec: Mapping[str, Any], direction: str, pods: Sequence[PodView]) -> Iterator[str]:
    """Yield a rule for each rule of the policy that allows something, and each IP version of its peers."""
    _, other, _ = _HOOKS[direction]
    for rule in spec.get(direction.lower()) or ():
        peers = rule.get("from" if direction == INGRESS else "to")
        ports = [_port(name, one) for one in rule.get("ports") or ()] or [""]
        for port in ports:
            if not peers:
                yield f"{port} accept".strip()
                continue
            for version, family in ((4, "ip"), (6, "ip6")):
                for positive, negative in _blocks(name, peers, pods, version):
                    yield " ".join(
                        part
                        for part in (
                            f"{family} {other} {{ {', '.join(positive)} }}",
                            f"{family} {other} != {{ {', '.join(negative)} }}" if negative else "",
                            port,
                            "accept",
                        )
                        if part
                    )


def _blocks(
    name: str, peers: Iterable[Mapping[str, Any]], pods: Sequence[PodView], version: int
) -> Iterator[tuple[list[str], list[str]]]:
    for peer in peers:
        if set(peer) == {"ipBlock"}:
            block = peer["ipBlock"]
            if ipaddress.ip_network(block["cidr"]).version == version:
                yield [block["cidr"]], list(block.get("except") or ())
        elif set(peer) == {"podSelector"}:
            found = [
                address
                for pod in pods
                if _selects(name, peer["podSelector"], pod)
                for address in pod.addresses
                if ipaddress.ip_address(address).version == version
            ]
            if found:
                yield found, []
        else:
            raise ValueError(f"policy {name}: a peer by {', '.join(sorted(peer))}")


def _port(name: str, port: Mapping[str, Any]) -> str:
    protocol = _PROTOCOLS[str(port.get("protocol", "TCP"))]
    if "port" not in port:
        return f"meta l4proto {protocol}"
    if not isinstance(port["port"], int):
        raise ValueError(f"policy {name}: a port by its name")
    last = f"-{port['endPort']}" if "endPort" in port else ""
    return f"{protocol} dport {port['port']}{last}"
