"""Holds a document against one of our schemas and says, for each problem, where, expected and found.

Pure: no file but the schemas themselves, no network (a `$ref` resolves within this package only).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from bmwg.schemas import load

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from referencing import Resource

_CANDIDATES = 5  # of names that are spelt alike, to choose among by slips
MAX_PROBLEMS = 50  # choice: more than a person mends in one round
_Error = Any  # jsonschema's ValidationError, whose stubs call every field maybe unset
_SHOWN = 80  # characters of a found value

_TYPE_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing (null)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a document.

    `location` is the way from the root (keys and list positions from 0), `path` the same as text;
    `near` is the known name that a misspelt one probably meant.
    """

    location: tuple[str | int, ...]
    expected: str
    found: str
    near: str | None = None

    @property
    def path(self) -> str:
        """`links[0].a`; `(document)` for the root."""
        return path_text(self.location)

    def __str__(self) -> str:
        near = f" (did you mean {self.near!r}?)" if self.near else ""
        return f"{self.path}: expected {self.expected}, found {self.found}{near}"


def path_text(location: Iterable[str | int]) -> str:
    """Write a location as `links[0].a`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else step)
    return text or "(document)"


def shown(value: object) -> str:
    """Write a found value with its type, cut to one readable line."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _SHOWN else text[: _SHOWN - 4] + '..."'
    if isinstance(value, dict):
        return f"a mapping of {len(value)} keys" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    return f"a value of type {type(value).__name__}"


def near_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is spelt most like `name`, or None."""
    matches = get_close_matches(str(name), list(known), n=_CANDIDATES, cutoff=0.6)
    return min(matches, key=lambda one: _slips(str(name), one), default=None)


def near_hint(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint of an error about a name that is not known: the near one, else something else."""
    near = near_name(name, known)
    return f"did you mean {near!r}?" if near else otherwise


def _slips(written: str, meant: str) -> int:
    """Count the letters that were changed, left out, added, or swapped with the next one."""
    rows = [list(range(len(meant) + 1))]
    for i, letter in enumerate(written, 1):
        row = [i]
        for j, wanted in enumerate(meant, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != wanted)))
            if i > 1 and j > 1 and (letter, written[i - 2]) == (meant[j - 2], wanted):
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def problems(instance: object, name: str) -> list[Problem]:
    """Return what is wrong with `instance` after schema `name`, sorted by place; empty when nothing is.

    At most MAX_PROBLEMS. Raises LookupError for an unknown schema.
    """
    return _problems(instance, _named(name))


def problems_of(instance: object, schema: Mapping[str, Any]) -> list[Problem]:
    """Return the same after a schema that does not come with the toolkit."""
    return _problems(instance, _validator(schema))


def _problems(instance: object, validator: Draft202012Validator) -> list[Problem]:
    found: dict[Problem, None] = {}
    errors = sorted(validator.iter_errors(instance), key=lambda error: _order(error.absolute_path))
    for error in errors:
        for problem in _translate(error):
            found.setdefault(problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return list(found)[:MAX_PROBLEMS]


@cache
def _named(name: str) -> Draft202012Validator:
    return _validator(load(name))


def _validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    # imported here: a document that keeps to its schema is mostly known by the compiled form, which is faster
    from jsonschema import Draft202012Validator
    from referencing import Registry

    registry: Registry[Any] = Registry(retrieve=_retrieve)  # type: ignore[call-arg]
    return Draft202012Validator(
        dict(schema), registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def _retrieve(uri: str) -> Resource[Any]:
    from referencing import Resource
    from referencing.exceptions import NoSuchResource

    try:
        return Resource.from_contents(load(uri.rsplit("/", 1)[-1].removesuffix(".schema.json")))
    except LookupError as error:
        raise NoSuchResource(uri) from error


def _order(path: Iterable[str | int]) -> list[tuple[int, int, str]]:
    return [(0, step, "") if isinstance(step, int) else (1, 0, step) for step in path]


def _translate(error: _Error) -> Iterator[Problem]:
    location = tuple(error.absolute_path)
    handler = _HANDLERS.get(str(error.validator))
    schema = error.schema if isinstance(error.schema, dict) else {}
    if handler is not None:
        yield from handler(error, location, schema)
    elif "propertyNames" in error.absolute_schema_path:
        yield Problem(
            location=(*location, str(error.instance)),
            expected=f"a name that is {schema.get('description', error.message)}",
            found=shown(error.instance),
        )
    elif error.validator in ("anyOf", "oneOf") and error.context:
        yield from _closest_alternative(error, location, schema)
    else:
        yield Problem(location=location, expected=_expected(error, schema), found=_found(error))


def _additional(error: _Error, location: tuple[str | int, ...], schema: dict[str, Any]) -> Iterator[Problem]:
    known = list(schema.get("properties", {}))
    allowed = ", ".join(known) if known else "no keys"
    patterns = list(schema.get("patternProperties", {}))
    for key in error.instance:
        if key in known or any(re.search(pattern, key) for pattern in patterns):
            continue
        yield Problem(
            location=(*location, key),
            expected=f"one of the keys {allowed}" if known else allowed,
            found=f"unknown key {key!r}",
            near=near_name(key, known),
        )


def _required(error: _Error, location: tuple[str | int, ...], _schema: dict[str, Any]) -> Iterator[Problem]:
    for key in error.validator_value:
        if key not in error.instance:
            extra = [name for name in error.instance if name not in error.validator_value]
            yield Problem(
                location=location,
                expected=f"the key {key!r}",
                found=f"keys {', '.join(map(str, error.instance))}" if error.instance else "none",
                near=near_name(key, extra),
            )


def _enumerated(error: _Error, location: tuple[str | int, ...], schema: dict[str, Any]) -> Iterator[Problem]:
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    words = [value if isinstance(value, str) else json.dumps(value) for value in values]
    expected = words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    yield Problem(
        location=location,
        expected=expected,
        found=shown(error.instance),
        near=near_name(error.instance, words) if isinstance(error.instance, str) else None,
    )


def _closest_alternative(
    error: _Error, location: tuple[str | int, ...], schema: dict[str, Any]
) -> Iterator[Problem]:
    if "description" in schema:
        yield Problem(location=location, expected=schema["description"], found=shown(error.instance))
        return
    branches: dict[object, list[_Error]] = {}
    for inner in error.context or []:
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    best = min(branches.values(), key=lambda inners: (any(not i.relative_path for i in inners), len(inners)))
    for inner in best:
        yield from _translate(inner)


def _expected(error: _Error, schema: dict[str, Any]) -> str:
    wanted = error.validator_value
    described = schema.get("description")
    match error.validator:
        case "type":
            names = [wanted] if isinstance(wanted, str) else list(wanted)
            words = " or ".join(_TYPE_WORDS.get(name, name) for name in names)
            return f"{words}: {described}" if described else words
        case "pattern" | "format":
            return str(described or f"text in the form {wanted}")
        case "minimum":
            top = schema.get("maximum")
            return f"{wanted}..{top}" if top is not None else f"at least {wanted}"
        case "maximum":
            low = schema.get("minimum")
            return f"{low}..{wanted}" if low is not None else f"at most {wanted}"
        case "exclusiveMinimum":
            return f"above {wanted}"
        case "exclusiveMaximum":
            return f"below {wanted}"
        case "minItems" | "minProperties" | "minLength":
            return f"at least {wanted} {_COUNTED[error.validator]}"
        case "maxItems" | "maxProperties" | "maxLength":
            return f"at most {wanted} {_COUNTED[error.validator]}"
        case "uniqueItems":
            return "no entry twice"
        case _:
            return str(described or error.message)


_COUNTED = {
    "minItems": "entries",
    "maxItems": "entries",
    "minProperties": "keys",
    "maxProperties": "keys",
    "minLength": "characters",
    "maxLength": "characters",
}


def _found(error: _Error) -> str:
    if error.validator == "uniqueItems":
        seen: list[object] = []
        for entry in error.instance:
            if entry in seen:
                return f"{shown(entry)} twice"
            seen.append(entry)
    return shown(error.instance)


_HANDLERS = {
    "additionalProperties": _additional,
    "required": _required,
    "enum": _enumerated,
    "const": _enumerated,
}
