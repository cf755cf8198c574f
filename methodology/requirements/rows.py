"""The catalogue of requirements: what each document asks, by stable row id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import yaml

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.schemas.validation import near_hint, problems

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # our own files: only speed differs


class Level(StrEnum):
    """The keyword in the document's text; INFO where it has none, and then no verdict can be a failure."""

    MUST = "MUST"
    MUST_NOT = "MUST NOT"
    SHOULD = "SHOULD"
    SHOULD_NOT = "SHOULD NOT"
    MAY = "MAY"
    INFO = "INFO"


class Basis(StrEnum):
    """How the row is known; a row from memory carries no verdict until the text was read."""

    TEXT = "T"
    SECONDARY = "S"
    MEMORY = "M"


class VerdictBasis(StrEnum):
    """On what a verdict rests (design decision 14)."""

    MEASURED = "measured"  # trials, counters, time stamps and records of this run
    BY_CONSTRUCTION = "by_construction"  # the code can do no other, and a test of the code shows it
    DECLARED = "declared"  # a person said so


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One row: `requirement` in our words, `check` how a run shows it.

    `allowed` is on what a verdict that speaks for the run may rest. A row that no run can show names
    another basis than `measured` in its catalogue file, under `verdict_basis`.
    """

    id: str
    document: str
    section: str
    level: Level
    requirement: str
    check: str
    basis: Basis
    allowed: tuple[VerdictBasis, ...] = (VerdictBasis.MEASURED,)


@cache
def catalogue() -> Mapping[str, Requirement]:
    """Return all requirements by id, in the order of documents and rows.

    Raises ToolkitBug CAT-01 when a file of the catalogue is damaged, CAT-02 when an id stands twice.
    """
    rows: dict[str, Requirement] = {}
    folder = resources.files("bmwg.methodology.catalogue")
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".yaml"):
            continue
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)
        try:
            found = [_row(data["document"], row) for row in data["requirements"]]
        except (KeyError, TypeError, ValueError) as error:  # tests hold each file against its schema
            said = next(iter(problems(data, "catalogue")), error)
            raise ToolkitBug("CAT-01", f"{file.name}: {said}") from error
        for one in found:
            if one.id in rows:
                raise ToolkitBug("CAT-02", f"{file.name}: the id {one.id} stands twice")
            rows[one.id] = one
    return MappingProxyType(rows)


def _row(document: str, row: Mapping[str, Any]) -> Requirement:
    return Requirement(
        id=row["id"],
        document=document,
        section=row["section"],
        level=Level(row["level"]),
        requirement=row["requirement"],
        check=row["check"],
        basis=Basis(row["basis"]),
        allowed=tuple(VerdictBasis(one) for one in row.get("verdict_basis", ("measured",))),
    )


def requirement(requirement_id: str) -> Requirement:
    """Return one row. Raises ConfigError CAT-03 with a near id when there is none."""
    rows = catalogue()
    if requirement_id in rows:
        return rows[requirement_id]
    raise ConfigError(
        "CAT-03",
        f"requirement {requirement_id!r} is not in the catalogue",
        expected="the id of a catalogue row",
        found=requirement_id,
        hint=near_hint(requirement_id, rows),
    )
