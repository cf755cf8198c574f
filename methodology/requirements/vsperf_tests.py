"""The tests of RFC 8204 section 5 and of VSPERF's Level Test Design, by rows of the catalogue. Pure.

RFC 8204 arranges tests of the Level Test Design in RFC 8172's matrix, under names that differ a little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bmwg.methodology.matrix import Criterion, Stage
from bmwg.methodology.requirements.rows import catalogue

_ARRANGED = re.compile(r"(\w+) x (\w+): (\S+)")  # as our rows of RFC 8204 section 5 word it
_DESIGNED = re.compile(r"LTD\.([^:]+):")
_DESIGN_OF = {
    "RFC8204-5.1-01": "LTD-3.2.2.4.2",
    "RFC8204-5.1-02": "LTD-3.2.2.2.1",
    "RFC8204-5.2": "LTD-3.2.2.5.1",
    "RFC8204-5.3-01": "LTD-3.2.2.1.4",
    "RFC8204-5.3-02": "LTD-3.2.2.1.8",
    "RFC8204-5.4": "LTD-3.2.2.4.1",
    "RFC8204-5.5-01": "LTD-3.2.2.1.1",
    "RFC8204-5.5-02": "LTD-3.2.2.6.1",
    "RFC8204-5.5-03": "LTD-3.2.2.1.2",
    "RFC8204-5.5-04": "LTD-3.2.2.1.5",
    "RFC8204-5.5-05": "LTD-3.2.2.1.9",
    "RFC8204-5.5-06": "LTD-3.2.2.1.10",
    "RFC8204-5.5-07": "LTD-3.2.2.1.12-01",
    "RFC8204-5.5-08": "LTD-3.2.2.1.13",
    "RFC8204-5.5-09": "LTD-3.2.2.1.14",
    "RFC8204-5.6-01": "LTD-3.2.2.1.11",
    "RFC8204-5.6-02": "LTD-3.2.2.1.3-01",
    "RFC8204-5.7-01": "LTD-3.2.2.1.6-01",
    "RFC8204-5.7-02": "LTD-3.2.2.1.7",
    "RFC8204-5.7-03": "LTD-3.2.2.2.2",
    "RFC8204-5.8-01": "LTD-3.2.2.3.1",
    "RFC8204-5.8-02": "LTD-3.2.2.3.2-01",
    "RFC8204-5.8-03": "LTD-3.2.2.3.4-01",
    "RFC8204-5.8-04": "LTD-3.2.2.3.3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VsperfTest:
    """One test: its name, its rows (RFC 8204's first), and its cell; None where RFC 8204 has none for it."""

    name: str
    rows: tuple[str, ...]
    stage: Stage | None = None
    criterion: Criterion | None = None


def tests() -> tuple[VsperfTest, ...]:
    """Return RFC 8204's tests in its order, then those that the Level Test Design has alone."""
    return tuple(_tests())


def _tests() -> Iterator[VsperfTest]:
    for row in catalogue().values():
        found = _ARRANGED.fullmatch(row.requirement) if row.document == "RFC8204" else None
        if found:
            stage, criterion, name = found.groups()
            rows = (row.id, _DESIGN_OF[row.id])
            yield VsperfTest(
                name=name, rows=rows, stage=Stage(stage.lower()), criterion=Criterion(criterion.lower())
            )
    for row in catalogue().values():
        designed = _DESIGNED.match(row.requirement) if row.document == "LTD" else None
        if designed and row.id not in _DESIGN_OF.values():
            yield VsperfTest(name=designed.group(1), rows=(row.id,))
