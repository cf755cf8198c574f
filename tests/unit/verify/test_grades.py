"""Grades: nothing that was not shown counts, and no declaration buys one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import replayable

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.requirements.rows import requirement
from bmwg.reports.bundle.make import make_bundle, submission_data
from bmwg.reports.checker.deviations import declared
from bmwg.reports.checker.documents import scope_of
from bmwg.reports.checker.judge import BENCHMARKS, Grade, _grade, judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import Answer, Verdict, concluded
from bmwg.reports.verify.verify import verify_bundle

MUST, SHOULD = "RFC2544-26.1-08", "RFC2544-24-01"
SUBMISSION = b"""schema: submission/1.0
organization: Example
product: {name: forwarder, version: "1.2", configuration: the guide}
contact: [bench@example.net]
"""


@pytest.fixture(scope="module")
def real_folder(tmp_path_factory):
    """Return a run that says it is neither simulated nor indicative."""
    return replayable.make_run(
        tmp_path_factory.mktemp("real"), simulated=False, indicative=False, stall_every=17, seed=1
    )


@pytest.fixture(scope="module")
def evidence(real_folder):
    return read_evidence(FolderFiles(real_folder), submission_data(SUBMISSION, "made"))


def throughput(evidence):
    return next(one for one in judge(evidence).grades if one.benchmark == "throughput")


def with_run(evidence, **changes):
    return replace(evidence, run={**evidence.run, **changes})


FAST = {"kind": "ethernet", "line_rate_bps": 10_000_000_000}


def test_a_must_that_failed_is_not_compliant(evidence):
    found = throughput(evidence)
    assert found.grade is Grade.NOT_COMPLIANT
    assert any("RFC2544-26.1-10" in reason for reason in found.reasons)


def test_all_must_and_not_all_should_is_conditional(evidence):
    assert throughput(with_run(evidence, medium=FAST)).grade is Grade.CONDITIONAL


def test_a_must_that_nobody_assessed_is_incomplete(evidence):
    found = throughput(replace(with_run(evidence, medium=FAST), submission=None))
    assert found.grade is Grade.INCOMPLETE


def test_a_declaration_does_not_mend_a_must(real_folder, evidence, tmp_path):
    folder = shutil.copytree(real_folder, tmp_path / "run")
    (folder / "deviations.yaml").write_text(
        "schema: deviations/1.0\ndeviations:\n  - requirement: RFC2544-26.1-10\n"
        "    what: a virtual link has no limit\n    why: nothing else is there\n    by: the lab\n"
    )
    found = judge(read_evidence(FolderFiles(folder), evidence.submission))
    verdict = next(one for one in found.verdicts if one.requirement == "RFC2544-26.1-10")
    assert (verdict.verdict, verdict.original) == (Verdict.DEVIATED, Verdict.NOT_MET)
    assert throughput(read_evidence(FolderFiles(folder))).grade is Grade.NOT_COMPLIANT


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"simulated": True}, "simulated"),
        ({"toolkit": {"version": "1", "commit": "0" * 40, "dirty": True}}, "dirty"),
        ({"toolkit": {"version": "1", "commit": None, "dirty": None}}, "unknown toolkit"),
        ({"status": "interrupted"}, "incomplete"),
        ({"status": "running"}, "incomplete"),
        ({"started_at": "2027-01-01T00:00:00.000000Z"}, "clock"),
    ],
)
def test_a_run_in_such_a_state_is_never_graded(evidence, change, word):
    judged = judge(with_run(evidence, medium=FAST, **change))
    assert any(text.startswith(word) for text in judged.state)
    graded = {one.grade for one in judged.grades if one.document == "RFC2544"}
    assert graded <= {Grade.NOT_GRADED, Grade.NOT_ASSESSED}


def test_an_indicative_profile_is_never_graded(run_folder):
    judged = judge(read_evidence(FolderFiles(run_folder)))
    assert any(text.startswith("indicative") for text in judged.state)
    assert throughput(read_evidence(FolderFiles(run_folder))).grade is Grade.NOT_GRADED


def test_a_platform_that_moved_is_never_graded(evidence):
    after = json.loads(json.dumps(evidence.platform["base"]["after"]))
    group = next(iter(after["fields"].values()))
    fact = next(iter(group.values()))
    fact.pop("unknown", None)
    fact.pop("not_applicable", None)
    fact["value"] = "another"
    platform = {**evidence.platform, "base": {**evidence.platform["base"], "after": after}}
    judged = judge(replace(with_run(evidence, medium=FAST), platform=platform))
    assert any(text.startswith("drifted") for text in judged.state)
    unrecorded = {**evidence.platform, "base": {"before": None, "after": None}}
    judged = judge(replace(evidence, platform=unrecorded))
    assert any(text.startswith("unrecorded") for text in judged.state)


def test_nothing_is_no_success(evidence):
    judged = judge(replace(evidence, outcomes=(), trials=(), by_group={}, by_cell={}))
    assert {one.grade for one in judged.grades if one.document == "RFC2544"} == {Grade.NOT_ASSESSED}
    assert any(text.startswith("empty") for text in judged.state)


def made(row, verdict, *, is_declared=False):
    answer = Answer(verdict=verdict, expected="", found="so")
    return concluded(requirement(row), "throughput", answer, declared=is_declared)


@pytest.mark.parametrize(
    ("verdicts", "grade"),
    [
        ([made(MUST, Verdict.MET), made(SHOULD, Verdict.MET)], Grade.UNCONDITIONAL),
        ([made(MUST, Verdict.MET), made(SHOULD, Verdict.NOT_APPLICABLE)], Grade.UNCONDITIONAL),
        ([made(MUST, Verdict.MET), made(SHOULD, Verdict.NOT_MET)], Grade.CONDITIONAL),
        ([made(MUST, Verdict.MET), made(SHOULD, Verdict.NOT_MET, is_declared=True)], Grade.CONDITIONAL),
        ([made(MUST, Verdict.MET), made(SHOULD, Verdict.NOT_ASSESSED)], Grade.CONDITIONAL),
        ([made(MUST, Verdict.NOT_MET), made(SHOULD, Verdict.MET)], Grade.NOT_COMPLIANT),
        ([made(MUST, Verdict.NOT_MET, is_declared=True)], Grade.NOT_COMPLIANT),
        ([made(MUST, Verdict.NOT_ASSESSED, is_declared=True)], Grade.NOT_COMPLIANT),
        ([made(MUST, Verdict.NOT_ASSESSED)], Grade.INCOMPLETE),
        ([made(MUST, Verdict.NOT_APPLICABLE)], Grade.INCOMPLETE),
        ([], Grade.INCOMPLETE),
    ],
)
def test_section_5(evidence, verdicts, grade):
    scope = scope_of(evidence, "throughput", BENCHMARKS["throughput"][1].__contains__)
    assert _grade("throughput", verdicts, scope, ()).grade is grade
    assert _grade("throughput", verdicts, scope, ("simulated: x",)).grade is Grade.NOT_GRADED


def deviation(requirement_id, what="something else is done here"):
    return (
        f"schema: deviations/1.0\ndeviations:\n  - requirement: {requirement_id}\n"
        f"    what: {what}\n    why: there is a reason for it\n    by: the lab\n"
    )


@pytest.mark.parametrize(
    ("text", "error_id"),
    [
        (deviation("RFC2544-9.9"), "DEV-02"),
        (deviation("RFC2544-26.1-01"), "DEV-02"),
        (deviation("RFC2544-9.1", what="no"), "DEV-01"),
        ("schema: deviations/2.0\ndeviations: []\n", "DEV-01"),
        ("schema: deviations/1.0\nschema: deviations/1.0\ndeviations: []\n", "DEV-01"),
        ("schema: [unclosed", "DEV-01"),
        ("a: &a [*a]", "DEV-01"),
    ],
)
def test_a_declaration_that_is_not_allowed_is_a_finding(run_copy, text, error_id):
    (run_copy / "deviations.yaml").write_text(text)
    found = read_evidence(FolderFiles(run_copy))
    assert error_id in {finding.rule_id for finding in found.findings}
    with pytest.raises(ConfigError, match=error_id):
        declared(FolderFiles(run_copy), found.run)


@pytest.mark.parametrize(
    ("text", "error_id"),
    [
        (SUBMISSION.replace(b'"1.2"', b"main"), "BND-06"),
        (SUBMISSION.replace(b"organization", b"organisation"), "DEV-01"),
        (SUBMISSION.replace(b"contact: [bench@example.net]", b"contact: []"), "DEV-01"),
        (b"\xff", "DEV-01"),
    ],
)
def test_a_submission_block_is_held_against_its_schema(text, error_id):
    with pytest.raises(ConfigError, match=error_id):
        submission_data(text, "made")


def test_a_bundle_carries_declarations_and_product(real_folder, tmp_path):
    folder = shutil.copytree(real_folder, tmp_path / "run")
    (folder / "deviations.yaml").write_text(deviation("RFC2544-9.1"))
    evidence = read_evidence(FolderFiles(folder), submission_data(SUBMISSION, "made"))
    path = make_bundle(
        folder, tmp_path / "b.tar", evidence=evidence, findings=[], submission_octets=SUBMISSION
    )
    verified = verify_bundle(path)
    assert verified.findings == ()
    assert verified.evidence.submission["organization"] == "Example"
    assert any(entry.by == "the lab" for entry in verified.evidence.deviations)
    grades = {one.benchmark: one.grade for one in verified.judgement.grades}
    assert grades["throughput"] is Grade.NOT_COMPLIANT
