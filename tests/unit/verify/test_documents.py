"""Each rule of the documents beside RFC 2544 on a run that kept the text and on one that did not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import documents_run
import pytest
from document_changes import (
    UNHURRIED,
    all_sizes_known,
    benchmark,
    bounds_gone,
    cells,
    far_apart,
    fewer_outcomes,
    goals,
    irregular,
    metric,
    no_envelope,
    no_outcomes,
    no_throughput,
    no_trials,
    one_of_other_traffic,
    outcomes,
    policy,
    same,
    search,
    sizes,
    stream,
    streams,
    undeclared,
    values,
)
from test_clauses import run, trials, unrecorded

from bmwg.methodology.benchmarks.back_to_back import METRIC as BURST
from bmwg.methodology.mlr.classify import LOSS_DEFINITION
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import Direction, FrameFormat, Outcome, OutcomeType, Quantity
from bmwg.methodology.requirements import requirement
from bmwg.reports.checker import documents
from bmwg.reports.checker.documents import COUNTED, COVERED, EVERY_RUN, RULES, Grade, scope_of
from bmwg.reports.checker.evidence import read_evidence
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import Scope, Verdict
from bmwg.reports.render.facts import facts
from bmwg.reports.render.rfc9971_items import items
from bmwg.reports.render.text import esc
from bmwg.reports.store import read_run

MET, NOT_MET = Verdict.MET, Verdict.NOT_MET
NOT_APPLICABLE, NOT_ASSESSED = Verdict.NOT_APPLICABLE, Verdict.NOT_ASSESSED


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    return read_evidence(FolderFiles(documents_run.make(tmp_path_factory.mktemp("documents"))))


FAST = run(medium={"kind": "ethernet", "line_rate_bps": 10_000_000_000})
STORE = run(drivers=[{"latency_definition": "store-and-forward"}])
LAB = run(testbed={"tester": {"ports": ["lab/eth1"]}, "lab_ports": ["eth1"]})
ELSEWHERE = run(testbed={"tester": {"ports": ["far/eth1"]}, "nodes": {"far": {"kind": "ssh"}}})
ISOLATED = {"good": same, "kept": MET, "bad": ELSEWHERE, "unkept": NOT_MET}
PDV, IPDV, TYPICAL = "pdv.rfc8219_7_3_1", "ipdv.rfc8219_7_3_2", "latency.rfc8219_7_2.typical"

CASES = [  # row, what keeps the text, verdict, what does not, verdict
    ("RFC9971-4.3", same, MET, values(unit=""), NOT_MET),
    ("RFC9971-4.4.3-02", same, MET, undeclared, NOT_MET),
    ("RFC9971-4.4.3-03", UNHURRIED, MET, same, NOT_MET),
    ("RFC9971-4.4.3-04", UNHURRIED, MET, same, NOT_MET),
    ("RFC9971-4.4.4.4-03", same, MET, values(unit="bit/s"), NOT_MET),
    ("RFC9971-4.5.1-01", same, MET, no_trials, NOT_MET),
    ("RFC9971-4.5.2-01", same, NOT_APPLICABLE, trials(spec={"burst": True}), NOT_MET),
    ("RFC9971-4.5.3", same, MET, one_of_other_traffic, NOT_MET),
    ("RFC9971-4.5.4-01", same, MET, one_of_other_traffic, NOT_MET),
    ("RFC9971-4.5.4-02", same, MET, no_outcomes, NOT_MET),
    ("RFC9971-4.5.5-01", same, MET, trials(stream={"received_frames": 10**9}), NOT_MET),
    ("RFC9971-4.5.5-03", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9971-4.5.9-01", same, MET, trials(stream={"effective_duration_ns": 0}), NOT_MET),
    ("RFC9971-4.6.1-01", same, MET, goals({"goal_final_trial_duration_s": 0.0}), NOT_MET),
    ("RFC9971-4.6.1-02", same, MET, goals({}, {"goal_final_trial_duration_s": 1.0}), NOT_MET),
    ("RFC9971-4.6.2-01", same, MET, goals({"goal_duration_sum_s": 0.0}), NOT_MET),
    ("RFC9971-4.6.2-02", same, MET, goals({"goal_duration_sum_s": 1.0}), NOT_MET),
    ("RFC9971-4.6.3", same, MET, goals({"goal_loss_ratio": 1.0}), NOT_MET),
    ("RFC9971-4.6.4-01", same, MET, goals({"goal_exceed_ratio": 1.0}), NOT_MET),
    ("RFC9971-4.6.4-02", same, MET, goals({"goal_exceed_ratio": 0.4}), NOT_MET),
    ("RFC9971-4.6.5-02", same, MET, goals({"goal_width": 0.0}), NOT_MET),
    ("RFC9971-4.6.5-04", same, MET, goals(), NOT_MET),
    ("RFC9971-4.6.5-05", same, MET, goals({"goal_loss_ratio": 0.5}), NOT_MET),
    ("RFC9971-4.6.6-02", same, MET, goals({"goal_initial_trial_duration_s": 0.0}), NOT_MET),
    ("RFC9971-4.6.7-01", same, MET, goals(), NOT_MET),
    ("RFC9971-4.6.8-01", same, MET, goals(), NOT_MET),
    ("RFC9971-4.6.8.1", same, MET, trials(spec={"load_fps": 10**8}), NOT_MET),
    ("RFC9971-4.6.8.2-01", same, MET, trials(spec={"load_fps": 1}), NOT_MET),
    ("RFC9971-4.6.8.2-02", same, MET, search(min_load_fps=1), NOT_MET),
    ("RFC9971-4.8.4.1-01", same, MET, bounds_gone, NOT_MET),
    ("RFC9971-4.8.4.1-02", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9971-4.8.4.1-03", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9971-4.8.4.1-04", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9971-4.8.4.1-06", same, MET, far_apart, NOT_MET),
    ("RFC9971-4.8.4.2-02", irregular("irregular result: x"), MET, irregular(""), NOT_MET),
    ("RFC9971-4.8.5-01", same, MET, fewer_outcomes, NOT_MET),
    ("RFC9971-4.8.6-01", same, MET, no_outcomes, NOT_MET),
    ("RFC9971-4.9.1-01", same, MET, no_trials, NOT_MET),
    ("RFC9971-4.9.1-02", same, MET, no_envelope, NOT_MET),
    ("RFC9971-4.9.3-02", same, MET, unrecorded, NOT_MET),
    ("RFC9971-4.9.3-03", same, MET, goals(), NOT_MET),
    ("RFC9971-4.10.2-01", goals({}), MET, same, NOT_MET),
    (
        "RFC9971-4.10.3-01",
        goals({"goal_duration_sum_s": 120.0, "goal_exceed_ratio": 0.5}),
        MET,
        goals({}),
        NOT_MET,
    ),
    ("TST009-6.3", same, MET, unrecorded, NOT_MET),
    ("TST009-7", same, MET, no_trials, NOT_MET),
    ("TST009-8-01", same, MET, values(number=1), NOT_MET),
    ("TST009-12.1", same, MET, no_envelope, NOT_MET),
    ("TST009-12.3", same, MET, outcomes(metric="throughput.tst009_else"), NOT_MET),
    ("TST009-12.3.3-04", same, MET, outcomes(quality=()), NOT_MET),
    ("TST009-all-01", same, MET, no_trials, NOT_MET),
    ("TST009-all-02", cells(direction=Direction.BOTH), MET, same, NOT_MET),
    ("RFC9004-3-02", same, MET, trials(spec={"mix_octets": (64, 64)}), NOT_MET),
    ("RFC9004-5-01", same, MET, run(testbed={"tester": {"ports": ["a"]}}), NOT_MET),
    ("RFC9004-5-03", FAST, MET, same, NOT_MET),
    ("RFC9004-5-04", all_sizes_known, MET, same, NOT_MET),
    ("RFC9004-5-05", same, MET, no_throughput, NOT_MET),
    ("RFC9004-5-06", same, MET, no_throughput, NOT_MET),
    ("RFC9004-5-07", same, MET, trials(spec={"burst": False}), NOT_MET),
    ("RFC9004-5-08", same, MET, policy(max_host_stall_ns=0), NOT_MET),
    ("RFC9004-6.2-02", policy(drain_s=2.0), MET, same, NOT_MET),
    ("RFC9004-6.2-04", same, MET, benchmark("back_to_back", max_burst_s=31.0), NOT_MET),
    ("RFC9004-6.2-05", same, MET, outcomes(type=OutcomeType.AT_CEILING), NOT_MET),
    ("RFC9004-6.2-07", same, MET, outcomes(metric="else"), NOT_MET),
    ("RFC9004-6.2-08", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9004-6.2-09", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9004-6.3-01", same, MET, no_trials, NOT_MET),
    ("RFC9004-6.3-02", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9004-6.4-04", same, MET, no_throughput, NOT_APPLICABLE),
    ("RFC9004-6.4-05", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9004-7-01", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9004-7-02", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC9004-7-03", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9004-7-04", same, MET, outcomes(values=()), NOT_MET),
    ("RFC9004-7-05", same, MET, outcomes(quality=()), NOT_MET),
    ("RFC8219-5", same, MET, cells(frame_format=FrameFormat.ETHERNET), NOT_MET),
    ("RFC8219-5.1-02", same, MET, run(medium={"kind": "", "line_rate_bps": None}), NOT_MET),
    (
        "RFC8219-5.1.1-01",
        sizes(64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
        MET,
        same,
        NOT_MET,
    ),
    ("RFC8219-5.3-01", cells(direction=Direction.BOTH), MET, same, NOT_MET),
    ("RFC8219-5.3-03", same, MET, cells(frame_format=FrameFormat.ETHERNET), NOT_MET),
    ("RFC8219-7.2-01", same, MET, outcomes(statement=""), NOT_MET),
    ("RFC8219-7.2-02", stream(duration_s=120.0), MET, same, NOT_MET),
    ("RFC8219-7.2-03", stream(duration_s=120.0, tag_after_s=60.0, tags=500), MET, same, NOT_MET),
    ("RFC8219-7.2-05", same, MET, cells(frame_format=FrameFormat.ETHERNET), NOT_MET),
    ("RFC8219-7.2-06", same, MET, outcomes(values=()), NOT_MET),
    ("RFC8219-7.2-07", same, MET, outcomes(values=()), NOT_MET),
    ("RFC8219-7.2-08", streams(20), MET, streams(19), NOT_MET),
    ("RFC8219-7.2-09", STORE, MET, same, NOT_MET),
    ("RFC8219-7.3-01", same, MET, fewer_outcomes, NOT_MET),
    ("RFC8219-7.3.1-02", stream(duration_s=60.0), MET, same, NOT_MET),
    ("RFC8219-7.3.1-05", streams(20), MET, streams(19), NOT_MET),
    ("RFC8219-7.3.1-06", same, MET, outcomes(values=()), NOT_MET),
    ("RFC8219-7.3.2-03", metric(IPDV, ends=("", ".min", ".max")), MET, metric(IPDV), NOT_MET),
    ("RFC8219-12-01", streams(2), MET, streams(1), NOT_MET),
    *(
        (row, *ISOLATED.values())
        for row in (
            "RFC8172-5-01",
            "RFC8204-6-01",
            "CINF08-7-01",
            "RFC9004-8-01",
            "RFC8219-13",
            "RFC6815-7-01",
            "RFC6815-5-02",
        )
    ),
]
ONE_SIDED = {  # rows that no run of this version can bring about otherwise, and what they say
    "RFC9971-4.4.4.4-04": NOT_APPLICABLE,
    "RFC9971-4.5.2-02": NOT_APPLICABLE,
    "RFC9971-4.5.5-02": NOT_MET,
    "RFC9971-4.6.5-03": NOT_APPLICABLE,
    "RFC9971-4.9.1-03": NOT_MET,
    "RFC9004-8-02": NOT_ASSESSED,
    "RFC8219-7.2-04": NOT_MET,
    "RFC8219-7.3.2-01": NOT_APPLICABLE,
    "RFC8219-7.3.2-04": NOT_APPLICABLE,
    "RFC6815-7-02": NOT_ASSESSED,
    "RFC6815-7-03": NOT_ASSESSED,
}


def burst_scope(evidence) -> Scope:
    """Return what a back-to-back measurement gives, from the trials and the outcome of another one."""
    scope = scope_of(evidence, "RFC9004", lambda name: name.startswith("throughput.tst009"))
    assert scope is not None
    numbers = (
        (BURST, "frames"),
        (f"{BURST}.min", "frames"),
        (f"{BURST}.max", "frames"),
        (f"{BURST}.deviation", "frames"),
        ("buffer_time.rfc9004.corrected", "s"),
    )
    outcome = Outcome(
        outcome_id="burst",
        metric=BURST,
        cell=scope.outcomes[0].cell,
        type=OutcomeType.MEASURED,
        values=tuple(Quantity(metric=name, number=7, unit=unit) for name, unit in numbers),
        trials=(1,),
        quality=(
            "2 searches, step 1 frames, bursts up to 9 frames at 9 frames/s, 2 trials, threshold 0 frames",
            "each: 7, 7 frames",
        ),
    )
    scope = trials(spec={"burst": True})(replace(scope, outcomes=(outcome,)))
    parted = tuple(replace(one, phase=f"burst_{n % 2}") for n, one in enumerate(scope.trials))
    return replace(scope, trials=parted)


def scope_for(evidence, row) -> Scope:
    document = requirement(row).document
    if document == "RFC9004":
        return burst_scope(evidence)
    if document in COUNTED:
        scope = scope_of(evidence, document, lambda name: name.startswith(COUNTED[document]))
    else:
        scope = documents._whole(evidence, document)
    assert scope is not None
    return scope


def rule_of(row):
    return next(one for one in RULES if one.requirement == row)


def test_every_rule_has_a_case_and_a_row_that_demands_something():
    rows = [one.requirement for one in RULES if requirement(one.requirement).document != "RFC2544"]
    known = {*COUNTED, *COVERED, *EVERY_RUN}
    for row in rows:
        assert requirement(row).document in known
        assert requirement(row).level in documents._DEMANDS


@pytest.mark.parametrize(("row", "good", "kept", "bad", "unkept"), CASES, ids=lambda v: str(v)[:20])
def test_a_rule_tells_the_kept_text_from_the_other(evidence, row, good, kept, bad, unkept):
    scope = scope_for(evidence, row)
    answer = rule_of(row).check(good(scope))
    assert answer.verdict is kept, answer
    answer = rule_of(row).check(bad(scope))
    assert answer.verdict is unkept, answer
    assert answer.found


@pytest.mark.parametrize(("row", "verdict"), ONE_SIDED.items())
def test_a_rule_without_another_side_says_why(evidence, row, verdict):
    answer = rule_of(row).check(scope_for(evidence, row))
    assert answer.verdict is verdict
    assert answer.found


def test_lab_ports_are_for_a_person_to_answer_for(evidence):
    answer = rule_of("RFC8172-5-01").check(LAB(scope_for(evidence, "RFC8172-5-01")))
    assert answer.verdict is NOT_ASSESSED


def test_cables_between_hosts_of_a_row_are_for_a_person_to_answer_for(evidence):
    with_row = run(testbed={"row": {"client": {"node": "one", "port": "eth1"}}})
    answer = rule_of("RFC8172-5-01").check(with_row(scope_for(evidence, "RFC8172-5-01")))
    assert answer.verdict is NOT_ASSESSED
    assert "row of hosts" in answer.found


def test_counts_say_what_was_met_and_no_document_is_graded_by_them(evidence):
    grades = {one.document: one for one in judge(evidence).grades if one.benchmark == "all"}
    assert {name for name, one in grades.items() if one.grade is Grade.COUNTED} == {
        "RFC9971",
        "RFC8219",
        "TST009",
        "RFC6815",
    }
    counts = dict(grades["RFC9971"].counts)
    assert counts["MUST met"] > 20
    assert "MUST not_met" not in counts
    assert sum(counts.values()) == sum(
        requirement(row).level in documents._DEMANDS and requirement(row).document == "RFC9971"
        for row in documents.catalogue()
    )
    assert grades["RFC9004"].grade is Grade.NOT_ASSESSED
    assert any("simulated" in text for text in grades["RFC9971"].reasons)


def test_a_run_that_was_not_read_is_judged_for_nothing(evidence):
    nothing = replace(evidence, run=None, profile=None, outcomes=(), trials=(), platform=None)
    assert judge(nothing).verdicts == ()


def test_the_definition_of_loss_is_the_one_that_stands_in_the_outcomes(evidence):
    marked = [one for one in evidence.outcomes if one.metric.startswith("conditional")]
    assert marked
    assert all(any(LOSS_DEFINITION in text for text in one.quality) for one in marked)
    assert parse_profile(json.dumps(evidence.run["profile"]), source="x").name == "quick"


def test_the_report_tells_what_rfc_9971_asks_for(evidence):
    told = facts(read_run(Path(evidence.files.where)))
    text = "\n".join(items(told))
    for word in ("one interface", "constant within a trial", "forward", "ipv4-udp", "before each trial, 2 s"):
        assert word in text
    assert esc(LOSS_DEFINITION) in text
    assert "at 64 octets" in text  # the tester's envelope
    assert items(replace(told, outcomes=())) == []
