"""Replace what a public record would give away by salted commitments that still compare.

A commitment is SHA-256 over salt, kind and text. Equal texts of one kind give equal commitments under one
salt, so two
records that were redacted with it compare as before. The salt stays with the submitter, who can show later
what a commitment stands for.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.facts import declaration, facts, state

MIN_SALT_OCTETS = 16  # choice: beyond guessing
_MAC = re.compile(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b", re.IGNORECASE)
_IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?!\.)")
_IPV6 = re.compile(r"(?<![0-9a-f:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![0-9a-f:])", re.IGNORECASE)


def commitment(salt: bytes, kind: str, text: str) -> str:
    """What stands in a redacted record instead of `text`."""
    if len(salt) < MIN_SALT_OCTETS:
        raise ConfigError(
            "REC-07",
            "redaction: the salt is too short",
            expected=f"{MIN_SALT_OCTETS} octets",
            found=str(len(salt)),
        )
    digest = hmac.new(salt, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()
    return f"redacted-{kind}-{digest[:32]}"


def redact(record: Mapping[str, Any], salt: bytes) -> dict[str, Any]:
    """A copy in which every fact that the schema marks sensitive holds commitments.

    MAC addresses and the machine's own name are replaced wherever they stand, also in facts that are not
    marked. ConfigError REC-07 on a short salt or a record that is redacted already.
    """
    if "redaction" in record:
        raise ConfigError("REC-07", "redaction: the record is redacted already")
    result = copy.deepcopy(dict(record))
    name = result["fields"].get("host", {}).get("hostname", {}).get("value")
    for path, fact in facts(result["fields"]):
        known = declaration(path)
        kind = known.sensitive if known else None
        content: dict[str, Any] = dict(fact)
        key = state(fact)
        if kind in ("serial", "name") and key == "value":
            content[key] = commitment(salt, kind, str(fact[key]))
        else:
            content[key] = _everywhere(fact[key], salt, kind == "address", name)
        _replace(result["fields"], path, content)
    result["redaction"] = {"method": "sha256-salted"}
    return result


def _replace(tree: dict[str, Any], path: str, content: dict[str, Any]) -> None:
    *groups, name = path.split("/")
    for step in groups:
        tree = tree[step]
    tree[name] = content


def _everywhere(node: Any, salt: bytes, addresses: bool, name: str | None) -> Any:
    if isinstance(node, dict):
        return {key: _everywhere(value, salt, addresses, name) for key, value in node.items()}
    if isinstance(node, list):
        return [_everywhere(entry, salt, addresses, name) for entry in node]
    if not isinstance(node, str):
        return node
    text = _MAC.sub(lambda match: commitment(salt, "mac", match[0].lower()), node)
    if addresses:
        for pattern in (_IPV6, _IPV4):
            text = pattern.sub(lambda match: commitment(salt, "address", match[0].lower()), text)
    if name and len(name) > 3:
        text = re.sub(rf"\b{re.escape(name)}\b", lambda match: commitment(salt, "name", match[0]), text)
    return text
