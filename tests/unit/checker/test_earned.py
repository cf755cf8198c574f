"""A run of full trials earns RFC 2544's best grade for throughput, and loses it by each single breach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import breaches
import pytest
import runs
from cases_rfc2544 import CASES
from runs import LATENCY, MEDIUM, TPUT, paths

from bmwg.methodology.requirements import requirement
from bmwg.reports.checker import judge as module
from bmwg.reports.checker.documents import Grade, scope_of
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.table import RULES
from bmwg.reports.verify.verify import verify_folder

SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
FILTERS, ROUTES = runs.FILTERS_25, runs.ROUTES
MODIFIERS = (runs.BROADCAST, runs.MANAGEMENT, ROUTES, runs.FILTER_1, FILTERS)  # RFC2544-11-01 asks for all
RULED = {one.requirement for one in RULES}
EARNED: dict[str, Any] = {
    "profile": {
        "trial": {"loss_times": True},
        "traffic": {"destination_networks": [1, 256], "directions": ["both"]},
        "paths": paths(*SIZES),
        "search": {"relative_width": 0.3, "min_load_fps": 400_000},
        "benchmarks": {"modifiers": {"frame_octets": [64]}, "burst_interval": {"frame_octets": [64]}},
    },
    "testbed": MEDIUM,
    "device": {"knee_fps": 1_200_000},
    "submission": {"product": {"name": "x", "version": "1", "configuration": "guide"}},
}
NO_MEDIUM: dict[str, Any] = {"testbed": {}}
ONE_SIZE = {"paths": paths(64), "benchmarks": {"modifiers": {"frame_octets": [64]}}}


def earned(*more: str, without: tuple[str, ...] = (), **changes: Any) -> Evidence:
    """Make the run that earns it, but for these changes, and without some of its tests."""
    wanted = dict(EARNED)
    for name, value in changes.items():
        whole = isinstance(value, dict) and name in ("profile", "device")
        wanted[name] = runs._deep(dict(runs.copy.deepcopy(EARNED[name])), value) if whole else value
    tests = dict.fromkeys((TPUT, *more, *MODIFIERS, *runs.BURSTY))
    return runs.run(*(test for test in tests if test not in without), **wanted)()


def graded(evidence: Evidence) -> tuple[Grade, set[str]]:
    """Return the grade that rests on the rows with a rule, and the rows that were not kept."""
    judged = runs.judged(evidence)
    mine = [v for v in judged.verdicts if v.benchmark == "throughput" and v.requirement in RULED]
    scope = scope_of(evidence, "throughput", lambda metric: metric == "throughput.rfc2544_26_1")
    if scope is None:
        return Grade.NOT_ASSESSED, set()
    grade = module._grade("throughput", mine, scope, judged.state)
    return grade.grade, {v.requirement for v in mine if v.original.value == "not_met"}


BREACHES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    # row: further tests, what is wrong
    "RFC2544-6-02": ((), {"tester": breaches.CountsAll}),
    "RFC2544-7-01": ((), {"deviations": ("RFC2544-7-01",)}),
    # bursts would be trials without filters on the deployment that came after
    "RFC2544-7-03": ((LATENCY, FILTERS), {"tester": breaches.EndsInLatency, "without": runs.BURSTY}),
    "RFC2544-7-05": ((), {"broken": breaches.records_nothing}),
    "RFC2544-8-02": ((), {"tester": breaches.OtherFormat}),
    "RFC2544-9-01": ((), {"profile": {"paths": paths(*SIZES[1:])}}),
    "RFC2544-9-02": ((), {"profile": {"paths": paths(64, 128, 256, 1518)}}),
    "RFC2544-9.1": ((), {"profile": {"paths": paths(*(size for size in SIZES if size != 512))}}),
    "RFC2544-10-01": ((), {"tester": breaches.CountsAll}),
    "RFC2544-10-02": ((), {"tester": breaches.CountsAll}),
    "RFC2544-10-03": ((), {"device": {"verifies": ["signature", "sequence"]}}),
    "RFC2544-10-04": ((), {"device": {"verifies": ["length"]}, "profile": {"trial": {"loss_times": False}}}),
    "RFC2544-10-05": ((), {"profile": {"trial": {"loss_times": False}}}),
    "RFC2544-11.3-03": ((ROUTES,), {"tester": breaches.Repeats}),
    "RFC2544-12-01": ((), {"profile": {"traffic": {"flows": [256]}}}),
    "RFC2544-12-02": ((), {"profile": {"traffic": {"destination_networks": [1]}}}),
    "RFC2544-12-03": ((), {"tester": breaches.InTurn}),
    "RFC2544-13-01": ((ROUTES,), {"tester": breaches.NoUpdates}),
    "RFC2544-13-02": ((ROUTES,), {"tester": breaches.FewRoutes}),
    "RFC2544-14-01": ((), {"profile": {"traffic": {"directions": ["forward"]}}}),
    "RFC2544-20-01": ((), {"device": {"tester_limit_fps": 1_000_000}}),
    "RFC2544-21-01": ((), {"without": runs.BURSTY}),
    "RFC2544-21-03": ((), {"without": runs.BURSTY[3:]}),
    "RFC2544-23-01": ((), {"waited": 0.9}),
    "RFC2544-23-02": ((), {"waited": 0.9}),
    "RFC2544-23-03": ((), {"tester": breaches.Hurries}),
    "RFC2544-23-04": ((), {"tester": breaches.Impatient}),
    "RFC2544-23-05": ((), {"waited": 0.9}),
    "RFC2544-24-01": ((), {"profile": {"trial": {"duration_s": 59.9}}}),
    "RFC2544-24-03": ((), {"profile": {"trial": {"duration_s": 59.9}}}),
    "RFC2544-26.1-01": ((), {"tester": breaches.SendsLess, "profile": {"trial": {"min_sent_ratio": 0.5}}}),
    "RFC2544-26.1-02": ((), {"broken": breaches.climbs_after_loss}),
    "RFC2544-26.1-08": ((), {"tester": breaches.SendsLess, "profile": {"trial": {"min_sent_ratio": 0.5}}}),
    "RFC2544-26.1-10": ((), NO_MEDIUM),
}


def test_a_run_that_keeps_every_row_earns_the_best_grade():
    assert graded(earned()) == (Grade.UNCONDITIONAL, set())


def test_what_keeps_a_whole_run_from_it_are_rows_that_no_rule_can_show():
    """All rows count in the grade that is printed: those without a rule leave it conditional."""
    evidence = earned()
    grade = next(one for one in runs.judged(evidence).grades if one.benchmark == "throughput")
    assert grade.grade is Grade.CONDITIONAL
    assert grade.rests_on == "6 rows by construction, 1 row by declaration"
    named = {reason.split()[1].rstrip(":") for reason in grade.reasons}
    assert named
    assert not named & RULED


def test_every_row_that_a_run_can_break_is_broken_once():
    able = {
        row
        for row, case in CASES.items()
        if case.not_met and requirement(row).section.split(".")[0] != "26" and case.benchmark == "throughput"
    } | {row for row in CASES if row.startswith("RFC2544-26.1-")}
    assert set(BREACHES) == able


@pytest.mark.parametrize("row", BREACHES)
def test_each_single_breach_costs_the_grade(row):
    tests, changes = BREACHES[row]
    grade, broken = graded(earned(*tests, **changes))
    assert row in broken
    assert grade is not Grade.UNCONDITIONAL


def test_a_product_that_nobody_configured_by_its_instructions_is_not_graded_as_compliant():
    assert graded(earned(submission=None))[0] is Grade.INCOMPLETE


@pytest.mark.parametrize("row", ["RFC2544-23-01", "RFC2544-23-02", "RFC2544-23-05"])
def test_waits_shortened_by_a_tenth_are_told(row):
    whole, short = earned(), earned(waited=0.9)
    assert runs.verdict_of(whole, row, "throughput").original.value == "met"
    assert runs.verdict_of(short, row, "throughput").original.value == "not_met"


def test_on_a_medium_with_a_rate_every_answer_follows_from_its_trials():
    evidence = earned("R2544-LOSS-1.1", ROUTES, "R2544-TPUT-2.1", profile=ONE_SIZE)
    assert verify_folder(Path(evidence.files.where)).findings == ()
    fastest = runs.run(TPUT, testbed=MEDIUM, device={"knee_fps": 5_000_000})()
    assert verify_folder(Path(fastest.files.where)).findings == ()
    (found,) = [one for one in fastest.outcomes if one.cell.path == "node"]
    assert (found.type.value, found.lower.load_fps, found.upper) == ("measured", 1_488_095, None)
