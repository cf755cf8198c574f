"""What the documents beside RFC 2544 say of a run, and what its report tells of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import documents_run
import pytest

from bmwg.methodology.mlrsearch.classify import LOSS_DEFINITION
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.requirements.rows import requirement
from bmwg.reports.checker import documents
from bmwg.reports.checker.documents import COMPANIONS, COUNTED, COVERED, EVERY_RUN, RULES, Grade, scope_of
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import Scope, Verdict
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import esc, restructured
from bmwg.reports.render.sections.rfc9971_items import items
from bmwg.reports.store import read_run

MET, NOT_MET = Verdict.MET, Verdict.NOT_MET
NOT_APPLICABLE, NOT_ASSESSED = Verdict.NOT_APPLICABLE, Verdict.NOT_ASSESSED


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    return read_evidence(FolderFiles(documents_run.make(tmp_path_factory.mktemp("documents"))))


def run(**changes):
    return lambda scope: replace(
        scope, evidence=replace(scope.evidence, run={**scope.evidence.run, **changes})
    )


LAB = run(testbed={"tester": {"ports": ["lab/eth1"]}, "lab_ports": ["eth1"]})


def scope_for(evidence, row) -> Scope:
    document = requirement(row).document
    if document in COUNTED:
        scope = scope_of(evidence, document, lambda name: name.startswith(COUNTED[document]))
    else:
        scope = documents._whole(evidence, document)
    assert scope is not None
    return scope


def rule_of(row):
    return next(one for one in RULES if one.requirement == row)


def test_every_rule_is_of_a_row_that_demands_something_or_of_a_networking_model():
    known = {"RFC2544", *COUNTED, *COVERED, *EVERY_RUN, *COMPANIONS}
    for one in RULES:
        row = requirement(one.requirement)
        assert row.document in known
        assert row.document in ("RFC2544", "CINF08") or row.level in documents._DEMANDS


def test_lab_ports_are_for_a_person_to_answer_for(evidence):
    answer = rule_of("RFC8172-5-01").check(LAB(scope_for(evidence, "RFC8172-5-01")))
    assert answer.verdict is NOT_ASSESSED


def test_counts_say_what_was_met_and_no_document_is_graded_by_them(evidence):
    grades = {one.document: one for one in judge(evidence).grades if one.benchmark == "all"}
    assert {name for name, one in grades.items() if one.grade is Grade.COUNTED} == {
        "RFC9971",
        "RFC8219",
        "TST009",
        "RFC6815",
        "LTD",
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
    text = restructured(items(told))
    for word in (
        "relative to the upper bound",
        "one interface",
        "constant within a trial",
        "forward",
        "ipv4-udp",
        "before each trial, 2 s",
    ):
        assert word in text
    assert esc(LOSS_DEFINITION) in text
    assert "at 64 octets" in text  # the tester's envelope
    assert items(replace(told, outcomes=())) == []
