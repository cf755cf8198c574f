"""Which facts changed between two records, and which cells that touches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.facts import declaration, facts, state

_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that differs. `path` goes down into structured values: `nic/eth0/offloads/rx-gro`.

    `before` and `after` are in words: the value, or `unknown: ...`, `not applicable: ...`, `(not in the
    record)`.
    """

    path: str
    before: str
    after: str
    volatile: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.before} -> {self.after}"


def drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """All changes outside the facts that the schema declares volatile, by path.

    Times and the way a value was got don't count; neither does the wording of why a fact is unknown. A fact
    that
    was known and no longer is, or the reverse, counts: nothing shows that it stayed. ConfigError REC-04 on
    records that are not of one scope and schema.
    """
    return tuple(change for change in differences(before, after) if not change.volatile)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """All changes, the volatile ones too (`bmwg record --diff`)."""
    for key in ("schema", "scope"):
        if before.get(key) != after.get(key) or before.get(key) is None:
            raise ConfigError(
                "REC-04",
                f"two records that cannot be compared: their `{key}` differs",
                expected=str(before.get(key)),
                found=str(after.get(key)),
                hint="compare records that were taken with the same scope by the same version",
            )
    if before.get("redaction") != after.get("redaction"):
        raise ConfigError("REC-04", "a redacted record cannot be compared with one that is not")
    first, second = dict(facts(before["fields"])), dict(facts(after["fields"]))
    changes: list[Change] = []
    for path in sorted(first.keys() | second.keys()):
        known = declaration(path)
        passing = known.passing if known else ()
        changes.extend(
            Change(
                path=place,
                before=old,
                after=new,
                volatile=(known is not None and known.volatile) or place.rpartition("/")[2] in passing,
            )
            for place, old, new in _compare(path, first.get(path), second.get(path))
        )
    return tuple(changes)


def _compare(
    path: str, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, str]]:
    if first is not None and second is not None and state(first) == state(second):
        if state(first) == "value":
            yield from _inside(path, first["value"], second["value"])
        return
    yield path, _said(first), _said(second)


_ABSENT = object()


def _inside(path: str, first: Any, second: Any) -> Iterator[tuple[str, str, str]]:
    """Go down where both sides have the same shape; rows of tables of one length are compared row by row."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from _inside(f"{path}/{key}", first.get(key, _ABSENT), second.get(key, _ABSENT))
    elif _rows(first) and _rows(second) and len(first) == len(second):
        for number, (row, other) in enumerate(zip(first, second, strict=True)):
            yield from _inside(f"{path}/{number}", row, other)
    elif first is _ABSENT or second is _ABSENT or type(first) is not type(second) or first != second:
        yield path, _shown(first), _shown(second)


def _rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(row, dict) for row in value)


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def _said(fact: Mapping[str, Any] | None) -> str:
    if fact is None:
        return "(not in the record)"
    kind = state(fact)
    return _shown(fact[kind]) if kind == "value" else f"{kind.replace('_', ' ')}: {fact[kind]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A stretch of a run in which the platform moved: the cells in it are invalid, for these changes."""

    cells: tuple[str, ...]
    changes: tuple[Change, ...]


def drifted(records: Sequence[Mapping[str, Any]], cells: Sequence[Sequence[str]]) -> tuple[Drifted, ...]:
    """What drift invalidates: `cells[i]` ran between `records[i]` and `records[i + 1]`.

    Only the stretches whose two ends differ are touched: cells before the last equal record, and after the
    change, stand on a platform that is recorded. ValueError when the counts do not fit.
    """
    if len(cells) != len(records) - 1:
        raise ValueError(
            f"cells: expected {len(records) - 1} stretches for {len(records)} records, found {len(cells)}"
        )
    stretches = []
    for index, inside in enumerate(cells):
        if changes := drift(records[index], records[index + 1]):
            stretches.append(Drifted(cells=tuple(inside), changes=changes))
    return tuple(stretches)


# groups of the machine's record that a run looks at between its cells
WATCHED_GROUPS = ("cpu", "power", "numa", "memory", "kernel", "isolation", "clock", "nic", "cni", "datapath")
_NAMED = 4  # choice: changes that an outcome's reason spells out; all of them stand in platform.json


def reason(changes: Sequence[Change]) -> str:
    """Why an outcome is invalid whose stretch the platform changed in."""
    named = "; ".join(map(str, changes[:_NAMED]))
    more = f"; and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f"the platform changed while it was measured: {named}{more}"


def named_drift(platform: Mapping[str, Any], outcome_id: str) -> tuple[Change, ...]:
    """The changes by which a run's `platform.json` makes an outcome invalid; none for one that stands."""
    return tuple(
        Change(**change)
        for entry in platform.get("drift", ())
        if outcome_id in entry["outcomes"]
        for change in entry["changes"]
    )


def run_drift(platform: Mapping[str, Any]) -> tuple[Change, ...]:
    """What changed between the two records of a run's `platform.json` and touches the whole run.

    A record that was never taken is a change too: nothing shows that the platform stayed. In a run that was
    watched between its cells (it has a `drift` list) a change of a watched group touches only the cells that
    the list names, or none when it came after the last of them.
    """
    before, after = platform["base"]["before"], platform["base"]["after"]
    if before is None or after is None:
        taken = ["(never taken)" if record is None else "taken" for record in (before, after)]
        return (Change(path="record", before=taken[0], after=taken[1]),)
    watched = WATCHED_GROUPS if "drift" in platform else ()
    return tuple(change for change in drift(before, after) if change.path.split("/")[0] not in watched)
