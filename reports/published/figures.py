"""The result tables of published documents as records: what a document prints, nothing measured here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bmwg.methodology.errors import ToolkitBug
from bmwg.schemas.validation import problems

NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Where a table stands."""

    title: str
    authors: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a table in its unit, with its 95 % half-width where the document prints one."""

    mean: float
    half_width_95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table. `figures` by (item, form): a form is a hosting or attachment, an item what was measured."""

    table_id: str
    document: str
    title: str
    unit: str
    load: str
    repeats: int | None
    items: tuple[str, ...]
    forms: tuple[str, ...]
    figures: Mapping[tuple[str, str], Figure]


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("figures.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    if found := problems(data, "published"):
        raise ToolkitBug("PUB-01", "figures.json does not keep to its schema", found=str(found[0]))
    return data


@cache
def documents() -> Mapping[str, Document]:
    """Return the documents by their short names."""
    return {name: Document(**entry) for name, entry in _data()["documents"].items()}


@cache
def tables() -> Mapping[str, Table]:
    """Return the tables by id. Raises ToolkitBug PUB-01 when the data is not sound."""
    return {entry["id"]: _table(entry) for entry in _data()["tables"]}


def _table(entry: Mapping[str, Any]) -> Table:
    rows, columns = tuple(row["name"] for row in entry["rows"]), tuple(entry["columns"])
    by_column = entry["forms"] == "columns"
    figures = {}
    for row in entry["rows"]:
        if len(row["cells"]) != len(columns) or entry["document"] not in _data()["documents"]:
            raise ToolkitBug("PUB-01", f"table {entry['id']}: row {row['name']} or its document does not fit")
        for column, cell in zip(columns, row["cells"], strict=True):
            if cell is not None:
                figures[(row["name"], column) if by_column else (column, row["name"])] = Figure(**cell)
    return Table(
        table_id=entry["id"],
        document=entry["document"],
        title=entry["title"],
        unit=entry["unit"],
        load=entry["load"],
        repeats=entry["repeats"],
        items=rows if by_column else columns,
        forms=columns if by_column else rows,
        figures=figures,
    )
