"""The form of a fact in a record, and the table of facts that the schema declares.

A fact is `{"value": ..., "how": {"kind", "from"}, "at"}`, `{"unknown": reason, ...}` or
`{"not_applicable": reason, ...}`. Groups hold facts or, by interface, device or workload, groups of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard

from bmwg.schemas import load

STATES = ("value", "unknown", "not_applicable")
EACH = "*"  # stands for the name of an interface, device or workload in a declared path


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One fact as the schema declares it. `path` joins the names by `/`; `answers` are catalogue row ids.

    `passing` are keys within its value that change by themselves, such as numbers that the kernel gives out.
    """

    path: str
    meaning: str
    unit: str | None
    volatile: bool
    passing: tuple[str, ...]
    sensitive: str | None
    answers: tuple[str, ...]
    supply: str


@cache
def declared() -> Mapping[str, Declared]:
    """All facts that a record may hold, by path, `*` for each name of a kind."""
    table: dict[str, Declared] = {}
    groups = load("record")["properties"]["fields"]["properties"]
    for group, schema in groups.items():
        each = schema["additionalProperties"] or {"properties": {}}
        for prefix, properties in ((group, schema["properties"]), (f"{group}/{EACH}", each["properties"])):
            for name, entry in properties.items():
                path = f"{prefix}/{name}"
                table[path] = Declared(
                    path=path,
                    meaning=entry["description"],
                    unit=entry.get("x-unit"),
                    volatile=entry.get("x-volatile", False),
                    passing=tuple(entry.get("x-volatile-keys", ())),
                    sensitive=entry.get("x-sensitive"),
                    answers=tuple(entry.get("x-answers", ())),
                    supply=entry.get("x-supply", "the collector's reason says what it lacked"),
                )
    return table


def declaration(path: str) -> Declared | None:
    """The declaration that a path of a record falls under; None when the schema has none."""
    parts = path.split("/")
    if len(parts) == 2:
        return declared().get(path)
    # a name may itself hold a slash only in paths that nobody declares
    return declared().get(f"{parts[0]}/{EACH}/{parts[-1]}") if len(parts) == 3 else None


def below(node: Any, *keys: str) -> Any:
    """Return what stands below these keys of nested data; None where nothing does."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def is_fact(node: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a node of a record is a fact rather than a group of them."""
    return isinstance(node, Mapping) and sum(state in node for state in STATES) == 1 and "how" in node


def state(fact: Mapping[str, Any]) -> str:
    """Which of the three answers a fact is."""
    return next(name for name in STATES if name in fact)


def facts(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All facts of a record's `fields` as (path, fact), by path."""
    for key in sorted(tree):
        node = tree[key]
        if is_fact(node):
            yield prefix + key, node
        elif isinstance(node, Mapping):
            yield from facts(node, f"{prefix}{key}/")
