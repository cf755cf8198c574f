"""A platform.json that is not the one of the trials is refused, in whatever part it was changed."""

from __future__ import annotations

import json

import pytest
import replayable

from bmwg.reports.bundle.make import folder_evidence, make_bundle, redacted
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.store import binding
from bmwg.reports.verify.rules import platform_bound
from bmwg.reports.verify.verify import verify_bundle, verify_folder


def rules(verification):
    return {finding.rule_id for finding in verification.findings}


def read(folder, name):
    return json.loads((folder / name).read_text("ascii"))


def change(folder, name, act):
    data = read(folder, name)
    act(data)
    (folder / name).write_text(json.dumps(data), "ascii")


def before(data):
    data["base"]["before"]["taken_at"] = "another"


def after(data):
    data["base"]["after"]["taken_at"] = "another"


def deployment(data):
    next(iter(data["deployments"].values()))["said"] = "more"


def doctor(data):
    data["doctor"] = [{"at": "t", "suite": "s", "findings": []}]


def seals(data):
    data["seals"]["places"].append("/base/before/taken_at")


@pytest.mark.parametrize("act", [before, after, deployment, doctor, seals])
def test_a_change_is_refused(run_copy, act):
    assert rules(verify_folder(run_copy)) == set()
    change(run_copy, "platform.json", act)
    assert "VER-14" in rules(verify_folder(run_copy))


@pytest.mark.parametrize("act", [before, deployment])
def test_the_trials_tell_it_although_the_last_link_was_made_anew(run_copy, act):
    change(run_copy, "platform.json", act)
    platform = read(run_copy, "platform.json")

    def link(run):
        run["journal"]["platform"] = binding.of_run(run, platform, run["journal"]["hash"])

    change(run_copy, "run.json", link)
    (finding, *more) = verify_folder(run_copy).findings
    assert finding.rule_id == "VER-14"
    assert finding.where.startswith("trial 1")
    assert {one.rule_id for one in more} <= {"VER-14"}


def test_what_came_after_the_last_trial_is_told_by_the_last_link(run_copy):
    change(run_copy, "platform.json", after)
    assert [finding.where for finding in verify_folder(run_copy).findings] == ["platform.json"]


def test_a_run_cannot_lose_its_bonds(run_copy):
    run, trials = read(run_copy, "run.json"), replayable.bodies(run_copy)
    for body in trials:
        del body["platform"]
    replayable.forge(run_copy, run, trials)
    assert rules(verify_folder(run_copy)) == {"VER-14"}


def test_the_link_of_a_complete_run_cannot_be_left_out(run_copy):
    change(run_copy, "run.json", lambda data: data["journal"].pop("platform"))
    assert rules(verify_folder(run_copy)) == {"VER-14"}


def test_a_redacted_bundle_verifies_and_a_changed_one_does_not(run_folder, tmp_path):
    evidence = folder_evidence(run_folder)
    bundle = make_bundle(run_folder, tmp_path / "b.tar", evidence=evidence, findings=[], salt=b"s" * 32)
    assert rules(verify_bundle(bundle)) == set()
    public = redacted(evidence, b"s" * 32)
    assert "seals" not in public.platform
    assert list(platform_bound.apply(public)) == []
    public.platform["commitments"]["/base/before/taken_at"] = "sealed-" + "0" * 64
    assert list(platform_bound.apply(public)) != []
    assert FolderFiles(run_folder).octets("platform.json")  # the run's own file stays as it was
