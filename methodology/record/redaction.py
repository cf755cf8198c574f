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
from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.bound import commitments, escaped, places, sealed_form
from bmwg.methodology.record.facts import declaration, facts, state
from bmwg.methodology.record.named import is_public
from bmwg.methodology.record.seals import private_address, sealed

_REPEATED = 5  # characters of a text from which on a sentence that holds it is held to repeat it
_NAMING = frozenset({"user", "login", "host", "server", "location", "ssh", "site", "contact"})
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
    digest = hmac.new(salt, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return f"redacted-{kind}-{digest[:32]}"


def redact(record: Mapping[str, Any], salt: bytes, name: str | None = None) -> dict[str, Any]:
    """A copy in which every fact that the schema marks sensitive holds commitments.

    MAC addresses and the machine's own name (`name` where the record does not hold it) are replaced wherever
    they stand, also in facts that are not marked. Addresses of the benchmarking networks stay: they tell
    nothing. ConfigError REC-07 on a short salt or a record that is redacted already.
    """
    if "redaction" in record:
        raise ConfigError("REC-07", "redaction: the record is redacted already")
    result = copy.deepcopy(dict(record))
    name = result["fields"].get("host", {}).get("hostname", {}).get("value", name)
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


def redact_platform(
    platform: Mapping[str, Any], salt: bytes, host: str | None = None, names: Sequence[str] = ()
) -> dict[str, Any]:
    """A copy of a run's `platform.json` for the public: every record, and what else it says, redacted.

    `host` is the machine's name where no record of the document holds it, `names` what the testbed file names
    and sentences may repeat (`sealed_texts`). Of deployments every text is hidden that is not public by its
    field. Where the run sealed its texts, the copy has the commitments to them, and a run that sealed fewer
    (it is from before) shows what it did not seal. ConfigError REC-07 as `redact` raises it;
    REC-09 when a text would be hidden that the run did not seal: the copy could not be verified.
    """
    result = copy.deepcopy(dict(platform))
    name = host_name(platform) or host
    result["base"] = {
        key: redact(record, salt, name)
        if record and "fields" in record
        else _everywhere(record, salt, True, name)
        for key, record in platform["base"].items()
    }
    result["records"] = {
        deployment: {
            place: redact(record, salt, name) if "fields" in record else record
            for place, record in places.items()
        }
        for deployment, places in platform.get("records", {}).items()
    }
    for key in ("deployments", "doctor", "drift"):
        if key in platform:
            result[key] = _everywhere(platform[key], salt, True, name)
    if "records" not in platform:
        del result["records"]
    hiding = _Hiding(salt, set(platform["seals"]["places"]) if "seals" in platform else None, names)
    for key in ("base", "deployments", "doctor", "drift", "records"):
        if key in platform:
            result[key] = hiding.hidden(platform[key], result[key], (key,))
    if "seals" in result:
        del result["seals"]
        result["commitments"] = commitments(platform)
        if sealed_form(result) != sealed_form(platform):
            raise ConfigError(
                "REC-09",
                "redaction: this version hides texts that the run has not sealed",
                expected="the version that measured",
                found="another",
                hint="make the bundle with the toolkit version that run.json names",
            )
    return result


class _Hiding:
    """Hides what a field or the testbed file names: where the run sealed it, or all of it (`sealed` None)."""

    def __init__(self, salt: bytes, sealed: set[str] | None, names: Sequence[str]) -> None:
        self._salt = salt
        self._sealed = sealed
        self._names = names

    def _may_hide(self, steps: tuple[str, ...]) -> bool:
        return self._sealed is None or "/" + "/".join(map(escaped, steps)) in self._sealed

    def hidden(self, node: Any, redacted: Any, steps: tuple[str, ...]) -> Any:
        """Return `redacted`, what patterns have left of `node`, with the named texts hidden as well."""
        if isinstance(node, dict) and isinstance(redacted, dict):
            shown = {
                key: self.hidden(node.get(key), value, (*steps, str(key))) for key, value in redacted.items()
            }
            if steps[-1] == "how" and node.get("kind") == "declared" and self._may_hide((*steps, "from")):
                shown["from"] = commitment(self._salt, "named", str(node.get("from")))  # a person, and a path
            return shown
        if isinstance(node, list) and isinstance(redacted, list):
            return [
                self.hidden(one, other, (*steps, str(number)))
                for number, (one, other) in enumerate(zip(node, redacted, strict=True))
            ]
        if not isinstance(node, str) or not isinstance(redacted, str) or not node:
            return redacted
        if not self._may_hide(steps):
            return redacted
        if steps[0] == "deployments" and not is_public(steps[2:], node):
            return commitment(self._salt, "named", node)
        shown = _without(redacted, self._names, self._salt)
        if steps[0] == "deployments" and self._sealed is not None and shown == node:
            return commitment(self._salt, "named", node)  # the version that measured hid it
        return shown


def telling(part: Mapping[str, Any], host: str | None, names: Sequence[str] = ()) -> list[str]:
    """Where a part of `platform.json` (in its place, the rest left out) holds what redaction would hide."""
    whole = {"base": {}, **part}
    return list(places(whole, redact_platform(whole, bytes(MIN_SALT_OCTETS), host, names)))


def redact_run(run: Mapping[str, Any], platform: Mapping[str, Any], salt: bytes) -> dict[str, Any]:
    """A copy of a run's `run.json` for the public; the hash of its header stays what it was.

    The header's sealed texts become commitments, and their openings go. Reasons, mends, interruptions and
    what drivers tell of themselves lose addresses and the machine's name (`platform` says it).
    """
    result = sealed(run, run.get("seals", {}))
    result.pop("seals", None)
    name = host_name(platform)
    named = sealed_texts(run)
    for key in ("interruption", "interruptions"):
        if key in result:
            result[key] = _without(_everywhere(result[key], salt, True, name), named, salt)
    result["outcomes"] = [
        {
            key: _without(_everywhere(value, salt, True, name), named, salt)
            if key in ("reason", "mend")
            else value
            for key, value in outcome.items()
        }
        for outcome in result["outcomes"]
    ]
    return result


def sealed_texts(run: Mapping[str, Any]) -> list[str]:
    """Return the texts that a run sealed and a sentence may repeat, longest first; ordinary words only where
    their field names a person or a place.
    """
    found: set[str] = set()
    for path in run.get("seals", {}):
        node: Any = run
        for step in path.split("/"):
            node = node[int(step)] if isinstance(node, list) else node.get(step) if node else None
        if not isinstance(node, str) or len(node) < _REPEATED:
            continue
        if path.rsplit("/", 1)[-1] in _NAMING or not node.replace(" ", "").isalpha():
            found.add(node)
    return sorted(found, key=lambda text: (-len(text), text))


def _without(node: Any, texts: Sequence[str], salt: bytes) -> Any:
    """Return a sentence, or what holds sentences, with commitments in the place of these texts.

    An ordinary word is hidden where it stands alone; any other text also within a longer name or path.
    """
    if isinstance(node, dict):
        return {key: _without(value, texts, salt) for key, value in node.items()}
    if isinstance(node, list):
        return [_without(entry, texts, salt) for entry in node]
    if isinstance(node, str):
        for text in texts:
            if text in node:
                hidden, name = commitment(salt, "named", text), re.escape(text)
                if text.replace(" ", "").isalpha():
                    name = rf"(?<![^\W\d_]){name}(?![^\W\d_])"
                node = re.sub(name, hidden, node)
    return node


def host_name(platform: Mapping[str, Any]) -> str | None:
    """The machine's own name, as the record before or after the run has it."""
    for record in platform["base"].values():
        if record and (name := record.get("fields", {}).get("host", {}).get("hostname", {}).get("value")):
            return str(name)
    return None


def _replace(tree: dict[str, Any], path: str, content: dict[str, Any]) -> None:
    *groups, name = path.split("/")
    for step in groups:
        tree = tree[step]
    tree[name] = content


def _address(salt: bytes, text: str) -> str:
    return commitment(salt, "address", text.lower()) if private_address(text) else text


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
            text = pattern.sub(lambda match: _address(salt, match[0]), text)
    if name and len(name) > 3:
        text = re.sub(rf"\b{re.escape(name)}\b", lambda match: commitment(salt, "name", match[0]), text)
    return text
