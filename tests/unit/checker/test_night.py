"""Profile `night` keeps all of RFC 9971 that a run can show, and one option fits a night."""

from __future__ import annotations

import runs
from cases_rfc2544_configured import ONE_CARD, pathways
from earned import SIZES
from runs import MEDIUM, TAGGED, TPUT, paths

from bmwg.methodology.plan.planned_work import work_of
from bmwg.methodology.plan.planning import cells, duration_s
from bmwg.methodology.plan.shards import seconds
from bmwg.methodology.profiles import load_profile
from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.judge import Judgement

TESTS = (TPUT, TAGGED)
NIGHT_S = 12 * 3600


def judged() -> Judgement:
    """What is judged of a run by it on a medium with a rate, through one device."""
    evidence = runs.run(
        *TESTS,
        base="night",
        profile={"paths": paths(*SIZES)},
        testbed=MEDIUM,
        device={"knee_fps": 1_200_000},
        submission=pathways(ONE_CARD),
        small=False,
    )()
    return runs.judged(evidence)


def test_no_row_of_rfc_9971_is_broken_or_deviated_from():
    mine = [one for one in judged().verdicts if one.row.document == "RFC9971"]
    assert sum(one.verdict.value == "met" for one in mine) >= 40
    short = [one for one in mine if one.verdict.value not in ("met", "not_applicable")]
    assert {one.found for one in short} <= {"no rule assesses this row"}


def test_no_must_of_latency_is_broken():
    (grade,) = [one for one in judged().grades if one.benchmark == "latency"]
    assert grade.grade is Grade.CONDITIONAL
    assert all(reason.startswith(("SHOULD", "described")) for reason in grade.reasons), grade.reasons


def test_one_option_fits_a_night():
    planned = cells(load_profile("night"), {"bridge": None}, test_ids=TESTS)
    assert {one.cell.network for one in planned} == {"bridge"}
    assert {one.cell.frame_octets for one in planned} == set(SIZES)
    work = work_of(load_profile("night"), {"bridge": None}, TESTS)  # with the tester's qualification
    assert duration_s(planned) < seconds(list(work.tests.values())) <= NIGHT_S
