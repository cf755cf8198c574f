"""`docs/coverage.md`: what becomes of every row of every document, each in exactly one class."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bmwg.methodology.record.coverage import configuration_rows
from bmwg.methodology.record.facts import declared
from bmwg.methodology.requirements.rows import Level, Requirement, VerdictBasis
from bmwg.methodology.requirements.unjudged_rows import RowClass, Unjudged

RECORD_TESTS = (
    "tests/unit/platform_record/test_judgement.py::test_the_parameter_lists_of_the_documents_are_covered",
)
_RECORD = "Facts of the platform record answer the row; a record says of each how it was got, or why not."
_NOT_YET = "NOT_YET"
LEVELS = (
    ("MUST", (Level.MUST, Level.MUST_NOT)),
    ("SHOULD", (Level.SHOULD, Level.SHOULD_NOT)),
    ("MAY or none", (Level.MAY, Level.INFO)),
)


class Place(StrEnum):
    """The class of a row. The first four have a rule."""

    JUDGED = "judged"
    BY_CONSTRUCTION = "judged by construction"
    DECLARED = "judged by declaration"
    OWED = "rule not yet tried"
    CARRIED_OUT = "carried out here"
    GUEST = "only in a guest"
    NOT_HERE = "not here"
    STRUCTURAL = "nothing to do"


RULED = (Place.JUDGED, Place.BY_CONSTRUCTION, Place.DECLARED, Place.OWED)
_MEANING = {
    Place.JUDGED: "a rule decides from the run's own evidence; runs made by real code show that it can say "
    "`met` and `not_met`",
    Place.BY_CONSTRUCTION: "a rule decides that the code can do no other, which a test of the code shows",
    Place.DECLARED: "a rule takes a person's word, because no run can show it",
    Place.OWED: "a rule decides, but no run has shown yet that it can say `not_met`",
    Place.CARRIED_OUT: "done here, by the tests named; no rule gives a verdict on it",
    Place.GUEST: "done where the testbed stands in a virtual machine, by the tests named",
    Place.NOT_HERE: "not done, or not judged though it could be asked; what is missing is said",
    Place.STRUCTURAL: "asks nothing of a run, or its condition cannot arise here",
}
_OF_ENTRY = {
    RowClass.CARRIED_OUT: Place.CARRIED_OUT,
    RowClass.GUEST: Place.GUEST,
    RowClass.NOT_HERE: Place.NOT_HERE,
    RowClass.STRUCTURAL: Place.STRUCTURAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A row in its class. `group` is what rows have in common, `why` the row's own sentence."""

    row: Requirement
    place: Place
    group: str
    why: str
    by: tuple[str, ...] = ()
    note: str = ""


def owed_rules(root: Path) -> set[str]:
    """Return the rows whose rule still lacks its three runs, from `NOT_YET` of the rules' tests."""
    found: set[str] = set()
    for file in sorted((root / "tests" / "unit" / "checker").glob("cases_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.AnnAssign) or node.value is None:
                continue
            if isinstance(node.target, ast.Name) and node.target.id == _NOT_YET:
                found |= {str(one.value) for one in ast.walk(node.value) if isinstance(one, ast.Constant)}
    return found


def place(
    rows: Iterable[Requirement],
    ruled: Collection[str],
    owed: Collection[str],
    entries: Mapping[str, Unjudged],
) -> list[Placed]:
    """Put each row into exactly one class; KeyError for a row that has neither rule, entry nor fact."""
    facts: dict[str, list[str]] = {}
    for fact in declared().values():
        for row_id in fact.answers:
            facts.setdefault(row_id, []).append(f"`{fact.path}`")
    recorded = set(configuration_rows())
    found: list[Placed] = []
    for row in rows:
        if row.id in ruled:
            found.append(Placed(row=row, place=_ruled(row, owed), group="", why=""))
        elif row.id not in entries and row.id in recorded:
            found.append(
                Placed(
                    row=row,
                    place=Place.CARRIED_OUT,
                    group=_RECORD,
                    why=", ".join(facts[row.id]),
                    by=RECORD_TESTS,
                )
            )
        else:
            found.append(_entered(row, entries[row.id]))
    return found


def _ruled(row: Requirement, owed: Collection[str]) -> Place:
    if row.id in owed:
        return Place.OWED
    if VerdictBasis.MEASURED in row.allowed:
        return Place.JUDGED
    return Place.DECLARED if VerdictBasis.DECLARED in row.allowed else Place.BY_CONSTRUCTION


def _entered(row: Requirement, entry: Unjudged) -> Placed:
    note = "verdict: not applicable" if entry.never_applies else ""
    if entry.by_construction:
        note = "verdict: met, by construction"
    return Placed(
        row=row,
        place=_OF_ENTRY[entry.row_class],
        group=entry.group_says,
        why=entry.reason,
        by=entry.by,
        note=note,
    )


def coverage_page(
    placed: Sequence[Placed], cited: Mapping[str, list[str]], deviated: Mapping[str, list[str]]
) -> str:
    """Render counts in total and by document, then each document's rows by class."""
    used = [one for one in Place if one is not Place.OWED or any(row.place is one for row in placed)]
    documents = sorted({one.row.document for one in placed})
    lines = [
        "# Coverage",
        "",
        "Every row of every document in `methodology/catalogue/` stands in exactly one class. A `req:` tag",
        "alone counts for nothing, and no class says that a run met a row; for that, see the run's report.",
        "",
        "| class | what it means |",
        "|---|---|",
        *(f"| {one} | {_MEANING[one]} |" for one in used),
        "",
        "A row without a rule has its reason in `methodology/unjudged/`.",
        "",
        "## All documents",
        "",
        *_counts("document", {name: _of(placed, name) for name in documents}, used),
        "",
        "## By level",
        "",
        *_counts("level", {name: [p for p in placed if p.row.level in of] for name, of in LEVELS}, used),
    ]
    for name, of in LEVELS[:2]:
        groups = {doc: [one for one in _of(placed, doc) if one.row.level in of] for doc in documents}
        lines += [
            "",
            f"### {name}",
            "",
            *_counts("document", {doc: rows for doc, rows in groups.items() if rows}, used),
        ]
    for name in documents:
        lines += ["", f"## {name}", *_document(_of(placed, name), cited, deviated)]
    return "\n".join(lines) + "\n"


def _of(placed: Iterable[Placed], document: str) -> list[Placed]:
    return [one for one in placed if one.row.document == document]


def _counts(head: str, groups: Mapping[str, Sequence[Placed]], used: Sequence[Place]) -> list[str]:
    lines = [f"| {head} | rows | " + " | ".join(used) + " |", "|---|" + "---:|" * (len(used) + 1)]
    everything = [placed for rows in groups.values() for placed in rows]
    for name, rows in [*groups.items(), ("**all**", everything)]:
        counts = Counter(row.place for row in rows)
        numbers = [len(rows), *(counts[one] for one in used)]
        lines.append(f"| {name} | " + " | ".join(map(str, numbers)) + " |")
    return lines


def _document(
    placed: Sequence[Placed], cited: Mapping[str, list[str]], deviated: Mapping[str, list[str]]
) -> list[str]:
    lines: list[str] = []
    ruled = [one for one in placed if one.place in RULED]
    if ruled:
        lines += ["", "### Rows with a rule", ""]
        lines += ["| row | level | class | test cases | profiles that deviate |", "|---|---|---|---|---|"]
        lines += [
            f"| {one.row.id} | {one.row.level} | {one.place} | {', '.join(cited.get(one.row.id, []))} "
            f"| {', '.join(deviated.get(one.row.id, []))} |"
            for one in ruled
        ]
    for where in Place:
        mine = [one for one in placed if one.place is where and where not in RULED]
        if not mine:
            continue
        lines += ["", f"### {str(where).capitalize()}"]
        order = list(dict.fromkeys(one.group for one in mine))
        for group in order:
            lines += ["", *_group(group, [one for one in mine if one.group == group], deviated)]
    return lines


def _group(says: str, rows: Sequence[Placed], deviated: Mapping[str, list[str]]) -> list[str]:
    tests = f" ({', '.join(f'`{one}`' for one in rows[0].by)})" if rows[0].by else ""
    lines = [f"{_safe(says)}{tests}", ""]
    for row in rows:
        said = [_safe(row.why)] if row.why else []
        said += [row.note] if row.note else []
        if profiles := deviated.get(row.row.id):
            said.append(f"deviation of {', '.join(profiles)}")
        lines.append(f"- {row.row.id} ({row.row.level})" + (f": {'; '.join(said)}" if said else ""))
    return lines


def _safe(text: str) -> str:
    return text.replace("<", "&lt;")
