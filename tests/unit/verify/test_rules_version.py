"""A run keeps the verdicts of the clause rules of its time, and whoever judges it later says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import mutations
import pytest
import replayable

from bmwg.cli.main import main
from bmwg.methodology.answers import procedures
from bmwg.methodology.answers.procedures import RULES, version
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.version import RULES_VERSION
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store.canonical import canonical
from bmwg.reports.verify.verify import verify_bundle, verify_folder


@pytest.fixture
def second(monkeypatch):
    """Have the toolkit judge by a second version of the clause rules."""
    monkeypatch.setattr(procedures, "CURRENT", {RULES: 2})


@pytest.fixture
def early(second, run_folder, tmp_path):
    """Return a run of the first rules, with lines from before the times."""
    assert not any("times" in body for body in replayable.bodies(run_folder))
    return Path(shutil.copytree(run_folder, tmp_path / "early"))


def bundled(folder, tmp_path, change):
    """Return an unsigned bundle of a run whose manifest is changed."""
    path = make_bundle(
        folder, tmp_path / "made.tar", evidence=folder_evidence(folder), findings=[], signer=None
    )
    parts = mutations.parts_of(path)
    manifest = json.loads(parts["manifest.json"])
    change(manifest)
    changed = tmp_path / "changed.tar"
    changed.write_bytes(mutations.packed(parts | {"manifest.json": canonical(manifest).encode("ascii")}))
    return changed


def as_version_1(manifest):
    """Write a manifest as the first rules did, with a grade and a verdict that are theirs alone."""
    del manifest["rules_version"]
    for one in manifest["verdicts"]:
        del one["basis"]
        if one["requirement"] == "RFC2544-23-01":
            one["verdict"] = one["original"] = "met"
    for one in manifest["grades"]:
        del one["bases"]
        if (one["document"], one["benchmark"]) == ("RFC2544", "throughput"):
            one["grade"] = "conditionally compliant"


def test_the_header_names_the_version_of_the_rules(run_folder):
    run = json.loads((run_folder / "run.json").read_text("ascii"))
    assert run["procedures"][RULES] == RULES_VERSION == version(RULES)
    assert judge(folder_evidence(run_folder)).later_rules == ""


def test_an_early_run_verifies_and_says_by_which_rules_it_is_judged(early, capsys):
    assert verify_folder(early).findings == ()
    judged = judge(folder_evidence(early))
    assert (judged.measured_under, judged.rules_version) == (1, 2)
    assert "made under version 1 of the clause rules" in judged.later_rules
    assert "made under version 1 of the clause rules" in write_report(early).read_text("utf-8")
    assert main(["verify", str(early)]) == 0
    assert "rules: the run was made under version 1" in capsys.readouterr().out


def test_waits_of_a_run_without_times_are_not_assessed_and_not_taken_from_its_profile(early):
    found = {
        one.requirement: one
        for one in judge(folder_evidence(early)).verdicts
        if one.benchmark == "throughput"
    }
    for row in ("RFC2544-23-01", "RFC2544-23-02", "RFC2544-23-05"):
        assert found[row].original.value == "not_assessed"
        assert "journal does not say when" in found[row].found


def test_a_bundle_of_the_first_rules_keeps_its_verdicts(early, tmp_path):
    found = verify_bundle(bundled(early, tmp_path, as_version_1))
    assert found.findings == ()
    said = " ".join(found.notes)
    assert "judged by rules of version 1" in said
    assert "RFC2544 throughput: conditionally compliant" in said
    assert found.judgement.rules_version == 2


@pytest.mark.usefixtures("second")
def test_a_run_of_these_rules_cannot_be_passed_off_under_earlier_ones(run_copy, tmp_path):
    run = json.loads((run_copy / "run.json").read_text("ascii"))
    run["procedures"][RULES] = 2
    replayable.forge(run_copy, run, replayable.bodies(run_copy))
    found = verify_bundle(bundled(run_copy, tmp_path, as_version_1))
    assert {one.rule_id for one in found.findings} == {"VER-23"}
