"""A run of full trials earns RFC 2544's best grade for throughput, and loses it by each single breach."""

from __future__ import annotations

from pathlib import Path

import pytest
import runs
from cases_rfc2544 import CASES as COMMON
from cases_rfc2544_configured import CASES as CONFIGURED
from cases_rfc2544_rows import CASES as ROWS
from earned import BENCHMARK, BREACHES, ONE_SIZE, ROUTES, broken_of, earned, grade_of, left_of
from runs import MEDIUM, TPUT

from bmwg.methodology.requirements.rows import Level, requirement
from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.table import RULES
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.grades import benchmarks
from bmwg.reports.verify.verify import verify_folder

COUNTS = (Level.MUST, Level.MUST_NOT, Level.SHOULD, Level.SHOULD_NOT)


def test_a_run_that_keeps_every_row_earns_the_best_grade():
    evidence = earned(profile=runs.CHECKED)
    grade = grade_of(evidence)
    assert grade.reasons == ()
    assert grade.grade is Grade.UNCONDITIONAL
    assert broken_of(evidence) == set()
    assert grade.rests_on == "5 rows by construction, 1 row by declaration"
    assert "unconditionally compliant" in restructured(benchmarks([grade]))


def test_every_row_that_a_run_can_break_is_broken_once():
    """All rows of sections that benchmarks share, and of section 26.1, which throughput is graded by."""
    cases = COMMON | CONFIGURED | ROWS
    able = {
        row
        for row in cases
        if requirement(row).section.split(".")[0] != "26" or requirement(row).section == "26.1"
    }
    assert able == {one.requirement for one in RULES if one.requirement in able}
    assert set(BREACHES) == able - {"RFC2544-18-01"}  # a mix of sizes is no part of the run


@pytest.mark.parametrize("row", BREACHES)
def test_each_single_breach_costs_the_grade(row):
    tests, changes = BREACHES[row]
    evidence = earned(*tests, **changes)
    assert row in broken_of(evidence)
    grade = grade_of(evidence)
    if row == "RFC2544-7-05":  # a record that comes out empty keeps a run from any grade
        assert grade.grade is Grade.NOT_GRADED
        return
    assert grade.grade in (Grade.CONDITIONAL, Grade.NOT_COMPLIANT, Grade.INCOMPLETE)
    if requirement(row).level in (Level.MUST, Level.MUST_NOT):
        assert grade.grade is Grade.NOT_COMPLIANT
    assert row in left_of(evidence)


def test_a_product_that_nobody_configured_by_its_instructions_is_not_graded_as_compliant():
    assert grade_of(earned(submission=None)).grade is Grade.INCOMPLETE


@pytest.mark.parametrize("row", ["RFC2544-23-01", "RFC2544-23-02", "RFC2544-23-05"])
def test_waits_shortened_by_a_tenth_are_told(row):
    whole, short = earned(), earned(waited=0.9)
    assert runs.verdict_of(whole, row, BENCHMARK).original.value == "met"
    assert runs.verdict_of(short, row, BENCHMARK).original.value == "not_met"


def test_on_a_medium_with_a_rate_every_answer_follows_from_its_trials():
    evidence = earned("R2544-LOSS-1.1", ROUTES, "R2544-TPUT-2.1", profile={**ONE_SIZE, **runs.CHECKED})
    assert verify_folder(Path(evidence.files.where)).findings == ()
    fastest = runs.run(TPUT, profile=runs.CHECKED, testbed=MEDIUM, device={"knee_fps": 5_000_000})()
    assert verify_folder(Path(fastest.files.where)).findings == ()
    (found,) = [one for one in fastest.outcomes if one.cell.path == "node"]
    assert (found.type.value, found.lower.load_fps, found.upper) == ("measured", 1_488_095, None)
