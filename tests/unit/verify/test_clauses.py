"""How an answer becomes a verdict: what a row's text, a declaration and a basis make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.requirements.rows import Basis, Level, VerdictBasis, requirement
from bmwg.reports.checker.verdicts import Answer, Verdict, by_construction, by_declaration, concluded, held

MET, NOT_MET, NOT_ASSESSED = Verdict.MET, Verdict.NOT_MET, Verdict.NOT_ASSESSED


def answer(verdict):
    return Answer(verdict=verdict, expected="", found="so")


def test_a_row_that_nobody_read_fails_nobody():
    row = requirement("TST009-7")
    assert (row.basis, row.level) == (Basis.MEMORY, Level.MUST)
    for declared in (False, True):
        assert concluded(row, "x", answer(NOT_MET), declared=declared).verdict is NOT_ASSESSED


def test_a_row_that_asks_nothing_fails_nobody():
    made = concluded(requirement("RFC2544-23-04"), "x", answer(NOT_MET), declared=False)
    assert (made.verdict, made.original, made.declared) == (Verdict.DEVIATED, NOT_MET, False)


def test_a_declaration_keeps_what_was_found():
    row = requirement("RFC2544-24-01")
    assert concluded(row, "x", answer(NOT_MET), declared=False).verdict is NOT_MET
    made = concluded(row, "x", answer(NOT_MET), declared=True)
    assert (made.verdict, made.original) == (Verdict.DEVIATED, NOT_MET)
    assert concluded(row, "x", answer(MET), declared=True).verdict is MET


@pytest.mark.parametrize(
    ("row", "answer", "verdict", "basis"),
    [
        ("RFC2544-7-01", by_declaration(True, "x", "y"), Verdict.MET, VerdictBasis.DECLARED),
        ("RFC2544-7-01", by_declaration(False, "x", "y"), NOT_MET, VerdictBasis.DECLARED),
        ("RFC2544-7-01", held(True, "x", "y"), NOT_ASSESSED, None),
        ("RFC2544-7-01", by_construction("x", "y"), NOT_ASSESSED, None),
        ("RFC2544-26.1-10", by_declaration(True, "x", "y"), NOT_ASSESSED, None),
        ("RFC2544-26.1-10", held(True, "x", "y"), Verdict.MET, VerdictBasis.MEASURED),
        ("RFC2544-10-03", by_construction("x", "y"), Verdict.MET, VerdictBasis.BY_CONSTRUCTION),
        ("RFC2544-10-03", held(True, "x", "y"), Verdict.MET, VerdictBasis.MEASURED),
    ],
)
def test_a_basis_that_a_row_does_not_allow_does_not_count(row, answer, verdict, basis):
    made = concluded(requirement(row), "x", answer, declared=False)
    assert (made.verdict, made.basis) == (verdict, basis)


def test_every_row_that_allows_another_basis_says_which():
    allowed = replace(requirement("RFC2544-7-01")).allowed
    assert allowed == (VerdictBasis.DECLARED,)
    assert requirement("RFC2544-24-01").allowed == (VerdictBasis.MEASURED,)
