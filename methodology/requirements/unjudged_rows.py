"""The rows that no rule of the checker judges: what becomes of each, and why. Pure.

One file a document in `methodology/unjudged/`; rows stand in groups of one class, each group explained.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType

from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.requirements.rows import Level, VerdictBasis, catalogue
from bmwg.schemas.document import parse
from bmwg.schemas.validation import near_name, problems

MOST_ALIKE = 6  # choice: rows with the same sentence of their own; more are a group's
LEAST_WORDS = 3  # choice: fewer say nothing of what is missing
OWN_SENTENCE = (Level.MUST, Level.MUST_NOT, Level.SHOULD, Level.SHOULD_NOT)
_LAZY = re.compile(r"not (yet )?(covered|implemented|supported|done)( yet)?|todo|tbd", re.IGNORECASE)


class RowClass(StrEnum):
    """What becomes of a row without a rule."""

    CARRIED_OUT = "carried_out"
    GUEST = "guest"
    NOT_HERE = "not_here"
    STRUCTURAL = "structural"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """One row without a rule. `reason` is its own sentence, empty where the group's says it all.

    `by` are the tests that show what is carried out. With `never_applies` no run can bring about the row's
    condition, so the checker's verdict on it is `not_applicable`; with `by_construction` the code can do no
    other than keep it, so the verdict is `met` on that basis.
    """

    row: str
    row_class: RowClass
    group: str
    group_says: str
    reason: str
    by: tuple[str, ...]
    never_applies: bool
    by_construction: bool

    @property
    def sentence(self) -> str:
        """What a reader is told: the row's own sentence, else the group's."""
        return self.reason or self.group_says


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text of one file, by its name."""

    name: str
    text: str


def shipped() -> tuple[Source, ...]:
    """Return the files of the package in the order of their names."""
    folder = resources.files("bmwg.methodology.unjudged")
    files = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".yaml")), key=lambda one: one.name
    )
    return tuple(Source(name=file.name, text=file.read_text(encoding="utf-8")) for file in files)


@cache
def unjudged() -> Mapping[str, Unjudged]:
    """Return the shipped rows by id. Raises ToolkitBug CAT-04 with the first fault of reading."""
    try:
        rows, faults = read(shipped(), ours=True)
    except (KeyError, TypeError, ValueError):
        rows, faults = read(shipped())
    if faults:
        raise ToolkitBug("CAT-04", "rows without a rule", found=faults[0])
    return MappingProxyType(rows)


def read(sources: Iterable[Source], *, ours: bool = False) -> tuple[dict[str, Unjudged], list[str]]:
    """Read files; return the rows by id, and what is wrong with their form.

    `ours` are of the package: tests hold them against their schema, which is not asked here: it takes long.
    """
    rows: dict[str, Unjudged] = {}
    faults: list[str] = []
    for source in sources:
        document = parse(source.text)
        found = () if ours else problems(document.data, "unjudged")
        wrong = [str(one) for one in (*document.problems, *found)]
        faults += [f"{source.name}: {one}" for one in wrong]
        if wrong:
            continue
        for group in document.data["groups"]:
            for row, reason in group["rows"].items():
                if row in rows:
                    faults.append(
                        f"{source.name}: {row} stands twice: in {rows[row].group} and {group['name']}"
                    )
                rows[row] = Unjudged(
                    row=row,
                    row_class=RowClass(group["class"]),
                    group=f"{document.data['document']}/{group['name']}",
                    group_says=" ".join(group["says"].split()),
                    reason=" ".join((reason or "").split()),
                    by=tuple(group.get("by", ())),
                    never_applies=group.get("never_applies", False),
                    by_construction=group.get("by_construction", False),
                )
    return rows, faults


def faults(rows: Mapping[str, Unjudged], ruled: Collection[str], recorded: Collection[str]) -> list[str]:
    """Return what is wrong with rows against catalogue, rules (`ruled`) and platform record (`recorded`).

    Every row of the catalogue has a rule, or an entry, or is a fact of the platform record.
    """
    known = catalogue()
    found: list[str] = []
    for row in rows:
        if row not in known:
            near = near_name(row, known)
            found.append(f"{row}: no row of the catalogue" + (f", did you mean {near}?" if near else ""))
        elif row.partition("-")[0] != rows[row].group.partition("/")[0]:
            found.append(f"{row}: stands in the file of another document ({rows[row].group})")
        if row in ruled:
            found.append(f"{row}: has a rule and a reason why it has none; remove the reason")
    found += [
        f"{row}: has neither a rule nor a reason why it has none"
        for row in known
        if row not in rows and row not in ruled and row not in recorded
    ]
    return found + _weak(rows)


def _weak(rows: Mapping[str, Unjudged]) -> list[str]:
    """Return reasons that say nothing: none where one is due, too short, or the same for many rows."""
    known = catalogue()
    found: list[str] = []
    alike: dict[str, list[str]] = {}
    for row, entry in rows.items():
        if not entry.reason and row in known and known[row].level in OWN_SENTENCE:
            found.append(f"{row}: {known[row].level} without a reason of its own")
        if entry.reason:
            alike.setdefault(_bare(entry.reason), []).append(row)
        for text in filter(None, (entry.reason, entry.group_says)):
            if len(text.split()) < LEAST_WORDS or _LAZY.fullmatch(text.strip(" .")):
                found.append(f"{row}: {text!r} does not say what is missing")
        found += _wrong_flags(entry)
    found += [
        f"{', '.join(same[:3])} and {len(same) - 3} more: the same sentence; a group explains that once"
        for same in alike.values()
        if len(same) > MOST_ALIKE
    ]
    return found


def _wrong_flags(entry: Unjudged) -> list[str]:
    """Return where a flag claims more than the row's class, level or catalogue allows."""
    found: list[str] = []
    row = catalogue().get(entry.row)
    if entry.never_applies and entry.row_class in (RowClass.CARRIED_OUT, RowClass.GUEST):
        found.append(f"{entry.row}: carried out, and never applies")
    if not entry.by_construction:
        return found
    if entry.row_class is not RowClass.CARRIED_OUT:
        found.append(f"{entry.row}: kept by construction, and not carried out here")
    must = row is not None and row.level in (Level.MUST, Level.MUST_NOT)
    if must and not all("::" in test for test in entry.by):
        found.append(f"{entry.row}: MUST is kept by construction where single tests show it, by name")
    if row is not None and row.level not in OWN_SENTENCE:
        found.append(f"{entry.row}: {row.level} demands nothing that could be kept by construction")
    if row is not None and VerdictBasis.BY_CONSTRUCTION not in row.allowed:
        found.append(f"{entry.row}: the catalogue's verdict_basis does not allow by_construction")
    return found


def _bare(text: str) -> str:
    """Return a sentence without what hides that two are the same: case, digits, punctuation, spaces."""
    return " ".join(re.sub(r"[^a-z ]", " ", text.lower()).split())
