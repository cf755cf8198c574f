"""How a run's platform.json is bound to its trials although its telling texts may be hidden later.

What is hashed is the sealed form: each text that redaction would touch is replaced by a commitment to it.
The run keeps one key and the places (`seals`); the public copy has the commitments by place (`commitments`)
and no key. Both have one sealed form. Places are JSON pointers (RFC 6901): names in the file hold slashes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any

_HIDDEN = "redacted-"  # in whatever stands in the place of a hidden text
_OURS = ("seals", "commitments")
_REDACTION = "redaction"  # what a redacted record says of itself


def places(document: Any, redacted: Any, at: str = "") -> Iterator[str]:
    """Yield where two documents differ, as deep as their shapes are the same."""
    if isinstance(document, Mapping) and isinstance(redacted, Mapping):
        for key in document:
            yield from places(document[key], redacted.get(key), f"{at}/{escaped(str(key))}")
    elif isinstance(document, list) and isinstance(redacted, list) and len(document) == len(redacted):
        for number, pair in enumerate(zip(document, redacted, strict=True)):
            yield from places(*pair, f"{at}/{number}")
    elif document != redacted:
        yield at


def commitments(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the commitment at each sealed place: made with the document's key, or as a copy holds it."""
    if "seals" not in document:
        return dict(document.get("commitments", {}))
    key = bytes.fromhex(document["seals"]["key"])
    found = {}
    for place in document["seals"]["places"]:
        try:
            found[place] = _commitment(key, place, _at(document, place))
        except LookupError:
            continue  # the text was taken out: what is hashed then differs
    return found


def sealed_form(document: Mapping[str, Any], part: str = "") -> Any:
    """Return a document, or the part of it at a place, with its commitments in the place of its texts.

    LookupError when the part, or a place that has a commitment, is not there.
    """
    shown = {key: value for key, value in document.items() if key not in _OURS}
    form = _copied(_at(shown, part))
    prefix = f"{part}/"
    for place, commitment in commitments(document).items():
        if place.startswith(prefix):
            form = _put(form, place[len(part) :], commitment)
    return _without_redaction(form)


def shown_plainly(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places of a public copy that have a commitment and show a text that nobody hid."""
    for place in document.get("commitments", {}):
        try:
            shown = _at(document, place)
        except LookupError:
            yield place
            continue
        if _HIDDEN not in json.dumps(shown):
            yield place


def _commitment(key: bytes, place: str, text: Any) -> str:
    # a nonce of its own for each place: showing one text shows no other
    nonce = hmac.new(key, place.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    said = json.dumps(text, sort_keys=True, separators=(",", ":"))
    return "sealed-" + hashlib.sha256(f"{nonce}\0{said}".encode("ascii")).hexdigest()


def _copied(node: Any) -> Any:
    """Copy what JSON can hold: mappings and lists anew, the rest is never changed."""
    if isinstance(node, dict):
        return {key: _copied(value) for key, value in node.items()}
    return [_copied(entry) for entry in node] if isinstance(node, list) else node


def _without_redaction(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_redaction(value)
            for key, value in node.items()
            if not (key == _REDACTION and "fields" in node)
        }
    return [_without_redaction(entry) for entry in node] if isinstance(node, list) else node


def escaped(name: str) -> str:
    """Return a name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _steps(place: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in place.split("/")[1:]]


def _at(document: Any, place: str) -> Any:
    node = document
    for step in _steps(place):
        if isinstance(node, list):
            node = node[_number(step, len(node))]
        elif isinstance(node, Mapping):
            node = node[step]
        else:
            raise LookupError(place)
    return node


def _put(form: Any, place: str, commitment: str) -> Any:
    *groups, last = _steps(place)
    node = form
    for step in groups:
        node = node[_number(step, len(node))] if isinstance(node, list) else _child(node, step)
    if isinstance(node, list):
        node[_number(last, len(node))] = commitment
    elif isinstance(node, dict) and last in node:
        node[last] = commitment
    else:
        raise LookupError(place)
    return form


def _child(node: Any, step: str) -> Any:
    if not isinstance(node, dict):
        raise LookupError(step)
    return node[step]


def _number(step: str, length: int) -> int:
    if not step.isdecimal() or int(step) >= length:
        raise LookupError(step)
    return int(step)
