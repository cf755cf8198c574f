"""How much of what RFC 8172, RFC 8204 and the containerized draft ask for a run's records answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bmwg.methodology.record.facts import EACH, Declared, declared, is_fact, state


class Answer(StrEnum):
    """What the records say to one catalogue row."""

    ANSWERED = "answered"
    NOT_APPLICABLE = "not_applicable"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One fact that a row asks for and that no record holds, why, and how it is supplied."""

    path: str
    reason: str
    supply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCoverage:
    """One configuration row of the catalogue. `reasons` say why it is not applicable."""

    row: str
    answer: Answer
    gaps: tuple[Gap, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """All configuration rows, in the order of their ids."""

    rows: tuple[RowCoverage, ...]

    def count(self, answer: Answer) -> int:
        """Rows with this answer."""
        return sum(row.answer is answer for row in self.rows)

    @property
    def ratio(self) -> float:
        """Share of the rows answered or not applicable with a reason, 0..1."""
        return 1 - self.count(Answer.MISSING) / len(self.rows)


def configuration_rows() -> tuple[str, ...]:
    """The catalogue rows that facts of a record answer; all others are judged on trials or on the report."""
    return tuple(sorted({row for fact in declared().values() for row in fact.answers}))


def coverage(records: Sequence[Mapping[str, Any]]) -> Coverage:
    """Score the records of one run (the machine's, then those of nodes and deployments) together.

    A row is missing when any fact it asks for is unknown or absent, answered when at least one is known and
    none missing, and not applicable when all are, each with its reason.
    """
    wanted: dict[str, list[Declared]] = {row: [] for row in configuration_rows()}
    for fact in declared().values():
        for row in fact.answers:
            wanted[row].append(fact)
    return Coverage(rows=tuple(_row(row, asked, records) for row, asked in wanted.items()))


def run_records(platform: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records of a run's `platform.json`: the machine's before it, and those of its deployments."""
    before = platform["base"]["before"]
    found = [] if before is None else [before]
    for places in platform.get("records", {}).values():
        found.extend(record for record in places.values() if "fields" in record)
    return found


def _row(row: str, asked: Sequence[Declared], records: Sequence[Mapping[str, Any]]) -> RowCoverage:
    gaps: list[Gap] = []
    reasons: list[str] = []
    known = 0
    for fact in asked:
        found = [pair for record in records for pair in _found(fact.path, record["fields"])]
        unknown = [(path, entry["unknown"]) for path, entry in found if state(entry) == "unknown"]
        gaps.extend(Gap(path=path, reason=reason, supply=fact.supply) for path, reason in unknown)
        if not found:
            gaps.append(Gap(path=fact.path, reason="no record holds it", supply=fact.supply))
        known += any(state(entry) == "value" for _, entry in found)
        reasons.extend(entry["not_applicable"] for _, entry in found if state(entry) == "not_applicable")
    if gaps:
        return RowCoverage(row=row, answer=Answer.MISSING, gaps=tuple(gaps))
    if known:
        return RowCoverage(row=row, answer=Answer.ANSWERED)
    return RowCoverage(row=row, answer=Answer.NOT_APPLICABLE, reasons=tuple(dict.fromkeys(reasons)))


def _found(path: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of one record that a declared path names; one made up when the record counts none of the
    kind.
    """
    group, *middle, name = path.split("/")
    tree = fields.get(group, {})
    if middle != [EACH]:
        if is_fact(entry := tree.get(name)):
            yield f"{group}/{name}", entry
        return
    members = {key: node for key, node in tree.items() if isinstance(node, Mapping) and not is_fact(node)}
    for key, node in members.items():
        if is_fact(entry := node.get(name)):
            yield f"{group}/{key}/{name}", entry
    if not members:
        for key, entry in tree.items():
            if is_fact(entry) and (state(entry) == "not_applicable" or entry.get("value", 1) in (0, [])):
                reason = entry.get("not_applicable", f"{group}/{key} is {entry.get('value')}: none is there")
                yield path, {"not_applicable": reason, "how": entry["how"], "at": entry["at"]}
