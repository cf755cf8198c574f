"""What a description of a deployment shows in public, field by field: public words, and no name of a place.

A driver tells what it deployed in fields of its own, from a testbed file that names servers, users and paths.
Shown are the fields listed here, numbers, benchmarking addresses and names that the toolkit gives itself.
Every other text is hidden, whatever it looks like: a field that nobody thought of tells nothing.
"""

from __future__ import annotations

import re

from bmwg.methodology.record.seals import PUBLIC_FIELDS, public_text, telling

_FIELDS = PUBLIC_FIELDS | {
    "accelerator",
    "architecture",
    "at",
    "cni_version",
    "conflist_sha256",
    "form",
    "network",
    "networking_model",
    "nic_driver",
    "node",
    "package",
    "path",
    "plugin",
    "policy",
    "reached_by",
    "root",
    "runs_in",
    "runtime",
    "sha256",
    "state",
    "status",
    "supported_versions",
    "what",
}
_WITHIN = frozenset({"executions/command", "function/name", "program/name"})  # a field of a field
_MEMBERS = frozenset(  # functions of chains, as the cell names them
    {
        ("chain", "members", "name"),
        ("chains", "members", "name"),
        ("chains", "services", "functions"),
        ("chains", "shared"),
    }
)
_OUR_NAMES = re.compile(r"lo|(nic|net|wire|p)\d{1,3}|veth[0-9a-f]{8}|bmwg-br\d{1,3}")
_PLACE = re.compile(
    r"(^|[^\w.-])(/\w|~)|://|\\"
)  # a path from a root or a home folder, an address with a scheme


_FLOW = re.compile(
    r"(in_port=\d+|ip,in_port=\d+,nw_dst=198\.1[89]\.[\d.]+/\d+|ipv6,in_port=\d+,ipv6_dst=2001:2:[\da-f:]+/\d+)"
    r" actions=output:\d+"
)
# What rules read: flows by numbers of ports and networks of benchmarks, the name that a switch gives itself,
# lines of filters and of a routing daemon's configuration, whose addresses are those of benchmarks alone.
_SENTENCES = {
    "command": re.compile(r"nft -f -"),
    "rule_set": re.compile(
        r" *(table inet \w+ \{|chain forward \{|\}|type filter hook forward priority 0; policy accept;"
        r"|(ip6? saddr [0-9a-f.:]+ ip6? daddr [0-9a-f.:]+ )?counter (accept|drop)( comment \"[a-z ]+\")?)"
    ),
    "ripd.conf": re.compile(r" *(router rip|version \d|network [\d./]+|timers basic \d+ \d+ \d+)"),
    "flows": _FLOW,
    "steered": _FLOW,
    "supported_versions": re.compile(r"[a-z-]+ \(Open vSwitch\) [\d.]+"),
}


def is_public(steps: tuple[str, ...], text: str) -> bool:
    """Whether a text of a deployment's description may stand in a public copy; `steps` lead to it."""
    fields = [step for step in steps if not step.isdigit()]
    if _OUR_NAMES.fullmatch(text):
        return True
    if _PLACE.search(text):
        return False
    if fields and fields[-1] in _SENTENCES and _SENTENCES[fields[-1]].fullmatch(text):
        return not telling(text)
    if tuple(fields) in _MEMBERS:
        return not telling(text)
    return public_text("/".join(fields[-2:]), text, _FIELDS | _WITHIN)
