"""Sorting and filtering of long tables by style sheet alone: a report runs no script, not even its own.

Each row carries its rank in each column and the number of each value that it can be filtered by; radio
buttons above the table choose, and rules of `style.css` order and hide the rows. Printed, or read without
styles, the table stands as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bmwg.reports.render.text import NONE

LEAST_ROWS = 12  # choice: a shorter table is read at once
MAX_COLUMNS = 12  # rules that style.css has for ranks
MAX_VALUES = 24  # rules that style.css has for filters
_WORDS = 10_000  # ranks from here on stay behind the numbers, largest first too; see style.css
_FEW = 8  # choice: values of one column beyond which a filter is a list of its own
_NUMBER = re.compile(r"([<>]\s)?(-?[\d,]+(?:\.\d+)?(?:e-?\d+)?)(?:[\s\u00a0]*(ns|µs|ms|s)(?![\w/]))?")
_NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """What a table needs: the controls above it, and (classes, style) of each row of its body."""

    controls: str
    rows: tuple[tuple[str, str], ...]


def sorting(head: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Sorting | None:
    """Return how a table is sorted and filtered; None for a short one. `name` is its own on the page."""
    if len(rows) < LEAST_ROWS or not head or any(len(row) != len(head) for row in rows):
        return None
    columns = [n for n in range(min(len(head), MAX_COLUMNS)) if len({row[n] for row in rows}) > 1]
    if not columns:
        return None
    ranks = {n: _ranks([row[n] for row in rows]) for n in columns}
    values = _filters(head, rows)
    made = []
    for number, row in enumerate(rows):
        classes = [f"f{place}" for place, (column, value) in enumerate(values) if row[column] == value]
        style = ";".join(f"--b{n}:{ranks[n][number]}" for n in columns)
        made.append((" ".join(classes), style))
    return Sorting(controls=_controls(head, columns, values, name), rows=tuple(made))


def sort_key(text: str) -> tuple[int, float, int, str]:
    """Return what a cell sorts by: its leading number with its unit of time, then words, then nothing."""
    if text in ("", NONE):
        return (2, 0.0, 0, "")
    found = _NUMBER.match(text)
    if not found:
        return (1, 0.0, 0, text.casefold())
    number = float(found[2].replace(",", "")) * _NANOSECONDS.get(found[3] or "", 1.0)
    return (0, number, {"<": -1, ">": 1}.get((found[1] or " ")[0], 0), "")


def _ranks(texts: Sequence[str]) -> list[int]:
    keys = [sort_key(text) for text in texts]
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return [places[key] + (0 if key[0] == 0 else _WORDS) for key in keys]


def _filters(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for column in range(len(head)):
        # equal ones as they are listed: the order of a set is another one in each process
        values = sorted(dict.fromkeys(row[column] for row in rows), key=sort_key)
        if (
            1 < len(values) <= _FEW
            and 2 * len(values) <= len(rows)
            and len(found) + len(values) <= MAX_VALUES
        ):
            found += [(column, value) for value in values]
    return found


def _controls(
    head: Sequence[str], columns: Sequence[int], values: Sequence[tuple[int, str]], name: str
) -> str:
    lines = ['<details class="sift"><summary>Sort and filter</summary>\n']
    lines += ["<fieldset><legend>Sort by</legend>", _radio(f"{name}-by", "", "as listed", checked=True)]
    lines += [_radio(f"{name}-by", f"by b{n}", head[n] or "first column") for n in columns]
    lines.append('<label><input type="checkbox" class="down" />largest first</label></fieldset>\n')
    for column in dict.fromkeys(column for column, _ in values):
        group = f"{name}-{column}"
        lines += [f"<fieldset><legend>{escape(head[column] or 'first column')}</legend>"]
        lines.append(_radio(group, "", "all", checked=True))
        lines += [_radio(group, f"q{n}", value) for n, (where, value) in enumerate(values) if where == column]
        lines.append("</fieldset>\n")
    return "".join([*lines, "</details>\n"])


def _radio(group: str, classes: str, text: str, *, checked: bool = False) -> str:
    marked = f' class="{classes}"' if classes else ""
    return (
        f'<label><input type="radio" name="{escape(group)}"{marked}{" checked" if checked else ""} />'
        f"{escape(text)}</label>"
    )
