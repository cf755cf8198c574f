"""Seals on a run's header: what may be hidden later is bound by a commitment from the beginning.

The header's hash, and by it the chain of trials, is computed over the sealed form: each sealed text replaced
by a commitment to it. A run keeps the openings (`seals`: path to nonce) beside the texts; a redacted run has
the commitments in place of the texts and no openings, and the same hash.
"""

from __future__ import annotations

import copy
import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_PREFIX = "sealed-"
_COMMITMENT = re.compile(r"sealed-[0-9a-f]{64}")
_HIDDEN = re.compile(r"sealed-[0-9a-f]{64}|redacted-[a-z]+-[0-9a-f]{32}")
_ALWAYS = ("testbed_source", "testbed/name")
_TELLING = re.compile(r"[\w.-]+@[\w.-]+|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|/home/[\w.-]+", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![\w.:])[0-9a-f.:]*[.:][0-9a-f.:]*(?![\w.:])", re.IGNORECASE)
# the networks that the documents themselves name, and those that lead nowhere
_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in ("198.18.0.0/15", "2001:2::/48", "127.0.0.0/8", "::1/128", "::/128", "0.0.0.0/32", "ff00::/8")
)


PUBLIC_FIELDS = frozenset(  # words of the schemas and of public interfaces; whoever names a thing uses others
    {
        "a",
        "b",
        "benchmark",
        "cniVersion",
        "device_queue",
        "direction",
        "driver",
        "forwarding",
        "frame_format",
        "function",
        "hosting",
        "io",
        "kind",
        "mode",
        "model",
        "ports",
        "realization",
        "role",
        "runtime",
        "schema",
        "source_sha256",
        "type",
        "uplink",
        "version",
    }
)
_PLAIN = re.compile(r"[\w.,:+ ${}/-]{0,80}")
_NUMBERS = re.compile(r"[0-9][0-9,. -]*|[0-9]+(\.[0-9]+)?[kMGTi]*B?")  # CPU lists, sizes


def seal(header: Mapping[str, Any], nonce: Callable[[], str]) -> dict[str, str]:
    """The openings for a header and for what drivers tell of themselves: a nonce for each text to seal.

    Sealed is by field: every text of the testbed file and of a description of a driver, but for those of
    fields that hold a public word (a kind, a driver's name, a version), and of these, too, whatever holds a
    login, a home folder, a MAC address or an IP address outside the benchmarking networks. `nonce` gives a
    new random text of at least 16 octets each time.
    """
    named = {key: header[key] for key in ("testbed", "testbed_source", "drivers") if key in header}
    loads = header.get("loads", {})
    named["loads"] = {name: {"testbed": said["testbed"]} for name, said in loads.items()}
    return {path: nonce() for path, text in _texts(named) if not _public(path, text)}


def _public(path: str, text: str) -> bool:
    """Whether a text of the header may stand in a public bundle as it is."""
    return path not in _ALWAYS and public_text(path, text, PUBLIC_FIELDS)


def public_text(path: str, text: str, fields: frozenset[str]) -> bool:
    """Whether a text is a public word of one of `fields` (a name, or a name and the one above it) and tells
    nothing, or a number or an address that tells nothing in any field.
    """
    if telling(text) or not _PLAIN.fullmatch(text):
        return False
    last = [step for step in path.split("/") if not step.isdigit()][-2:]
    named = bool(last) and (last[-1] in fields or "/".join(last) in fields)
    return named or bool(_NUMBERS.fullmatch(text)) or _is_address(text)


def sealed(header: Mapping[str, Any], seals: Mapping[str, str]) -> dict[str, Any]:
    """The header with a commitment in place of each text that `seals` has an opening for.

    A path that the header does not have, or that holds no text, is left out: the hash then differs.
    """
    result: dict[str, Any] = copy.deepcopy(dict(header))
    for path, nonce in seals.items():
        *groups, last = path.split("/")
        node: Any = result
        for step in groups:
            node = _child(node, step)
        if isinstance(text := _child(node, last), str):
            node[int(last) if isinstance(node, list) else last] = commitment(nonce, text)
    return result


def commitment(nonce: str, text: str) -> str:
    """What stands for a sealed text. One that is a commitment already stays."""
    if _COMMITMENT.fullmatch(text):
        return text
    return _PREFIX + hashlib.sha256(f"{nonce}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def is_hidden(text: object) -> bool:
    """Whether a value is what stands for a hidden text, of the header or of the platform's file."""
    return isinstance(text, str) and bool(_HIDDEN.fullmatch(text))


def telling(text: str) -> bool:
    """Whether a text holds a login, somebody's home folder, a MAC address, or an IP address that is no
    benchmarking one.
    """
    return bool(_TELLING.search(text)) or any(private_address(match[0]) for match in _ADDRESS.finditer(text))


def private_address(text: str) -> bool:
    """Whether a text is an IP address (with or without prefix) outside the networks of the documents."""
    try:
        address = ipaddress.ip_interface(text).ip
    except ValueError:
        return False
    return not any(address.version == network.version and address in network for network in _PUBLIC)


def _is_address(text: str) -> bool:
    """Whether a text is an IP address and nothing else."""
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _texts(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if "/" not in str(key):
                yield from _texts(value, f"{path}/{key}" if path else str(key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _texts(value, f"{path}/{number}")
    elif isinstance(node, str):
        yield path, node


def _child(node: Any, step: str) -> Any:
    if isinstance(node, list):
        return node[int(step)] if step.isdigit() and int(step) < len(node) else None
    return node.get(step) if isinstance(node, dict) else None
