"""What each form boots or unpacks, in octets by what was counted, beside the time that it takes to start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.record.booted import KEY, WORDS, Booted, Counted
from bmwg.reports.render.blocks import Block, table
from bmwg.reports.render.text import NONE, whole

CAPTION = "Size and time to start (octets that are booted or unpacked; sizes of two columns are not alike)"
_UNTOLD = "not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One form: what is told of it, where that stands in the record, and its start in words.

    `ends` says when the start ends, for forms do not end it alike.
    """

    form: str
    told: Mapping[str, Any] | None
    start: str
    ends: str


def lines(rows: Sequence[Row], head: str, start: str) -> list[Block]:
    """Return the table, a column for each way of counting; empty where nothing is told of any form.

    `head` is the head of the forms, `start` that of their starts.
    """
    sizes = [_read(row.told) for row in rows]
    if not any(sizes):
        return []
    counted = [one for one in Counted if any(_total(size, one) is not None for size in sizes)]
    shown = [
        [row.form, _what(size), *(_octets(size, one) for one in counted), row.start, row.ends]
        for row, size in zip(rows, sizes, strict=True)
    ]
    columns = [f"octets: {WORDS[one]}" for one in counted]
    return table([head, "boots or unpacks", *columns, start, "the start ends when"], shown, CAPTION)


def _read(told: Mapping[str, Any] | None) -> Booted | None:
    found = (told or {}).get(KEY)
    return Booted.from_builtins(found) if found else None


def _what(size: Booted | None) -> str:
    if size is None:
        return _UNTOLD
    if not size.parts:
        return size.besides
    words = " and ".join(size.parts)
    return f"{words}; not counted: {size.besides}" if size.besides else words


def _total(size: Booted | None, counted: Counted) -> int | None:
    return None if size is None else size.total(counted)


def _octets(size: Booted | None, counted: Counted) -> str:
    found = _total(size, counted)
    return NONE if found is None else whole(found)
