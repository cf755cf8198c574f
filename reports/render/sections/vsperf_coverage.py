"""What of the tests of RFC 8204 section 5 and of VSPERF's Level Test Design a run holds, by name."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.requirements.unjudged_rows import RowClass, unjudged
from bmwg.methodology.requirements.vsperf_tests import VsperfTest, tests
from bmwg.reports.render.blocks import Block, Part, Rich, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.matrices import Standing, anchor, standing
from bmwg.reports.render.text import NONE

_HOW = (
    "RFC 8204 section 5 arranges VSPERF's tests in the same matrix; its row of de-activation is empty "
    "(RFC8204-5.9). A test leads to the results of this run by the measurement that carries it out; what "
    "that does otherwise than the document stands behind it."
)
# rows whose test is a throughput of certain cells, which no measurement of its own tells apart
AMONG_THROUGHPUTS = frozenset(
    {
        "RFC8204-5.5-03",
        "RFC8204-5.5-07",
        "RFC8204-5.5-09",
        "RFC8204-5.8-04",
        "LTD-3.2.2.1.2",
        "LTD-3.2.2.1.12-01",
        "LTD-3.2.2.3.3",
    }
)


def coverage(facts: Facts) -> list[Block]:
    """Return one row for each test: its cell, and what the run holds of it or why there is nothing."""
    stands = standing(facts)
    if not any(stand.measured for stand in stands):
        return []
    rows = [
        [
            test.name,
            _cell(test),
            ", ".join(test.rows),
            _held(test, [each for each in stands if _is(each, test)]),
        ]
        for test in tests()
    ]
    return [
        *title("Tests of RFC 8204 section 5 and of the Level Test Design"),
        *paragraph(_HOW),
        *table(["test", "cell of the matrix", "rows", "in this run"], rows, "Coverage of VSPERF's tests"),
    ]


def _is(one: Standing, test: VsperfTest) -> bool:
    return not set(one.place.rows).isdisjoint(test.rows)


def _cell(test: VsperfTest) -> str:
    return f"{test.stage} by {test.criterion}" if test.stage else "in none"


def _held(test: VsperfTest, stands: Sequence[Standing]) -> str:
    otherwise = "; ".join(
        dict.fromkeys(entry.reason for row in test.rows if (entry := unjudged().get(row)) and entry.reason)
    )
    measured = [stand for stand in stands if stand.measured]
    if measured:
        place = measured[0].place
        names = ", ".join(dict.fromkeys(one.outcome.metric for one in measured))
        words = f"{names}: {len(measured)} of {len(stands)} measured"
        link = Part(text=words, target=anchor(place.stage, place.criterion))
        return Rich(link, Part(text=f" ({otherwise})")) if otherwise else Rich(link)
    if stands:
        said = {one.outcome.reason or one.outcome.statement or one.outcome.type.value for one in stands}
        return f"not assessed: {'; '.join(sorted(said))}"
    classes = {entry.row_class for row in test.rows if (entry := unjudged().get(row))}
    if not AMONG_THROUGHPUTS.isdisjoint(test.rows):
        return f"among the throughputs where the run has such cells: {otherwise}"
    if RowClass.CARRIED_OUT in classes:
        return "not assessed: no cell of this run asks for it"
    return f"not assessed: {otherwise or NONE}"
