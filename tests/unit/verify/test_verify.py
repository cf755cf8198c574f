"""A run that holds together verifies as what it is; one that a forger chained anew does not."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import forged
import pytest
import replayable

import bmwg
from bmwg.cli.main import main
from bmwg.methodology.answers import former, procedures, throughput
from bmwg.methodology.answers.former import FormerRule
from bmwg.methodology.measurements.measurement import Answered
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.search import tst009
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private, load_public
from bmwg.reports.verify.trust import SIGNER_UNKNOWN
from bmwg.reports.verify.verify import INTEGRITY_ONLY, TRUSTED, UNSIGNED, verify_bundle, verify_folder


def rules(verification):
    return {finding.rule_id for finding in verification.findings}


def read(folder):
    return json.loads((folder / "run.json").read_text("ascii")), replayable.bodies(folder)


def test_the_made_run_has_what_the_tests_are_about(run_folder):
    run, trials = read(run_folder)
    validities = {body["assessment"]["validity"] for body in trials}
    assert {"valid", "sent_short", "tester_stalled", "host_stalled"} <= validities
    assert any("set aside" in text for entry in run["outcomes"] for text in entry["quality"])


def test_a_run_folder_verifies(run_folder):
    verified = verify_folder(run_folder)
    assert verified.findings == ()
    assert verified.exit_code == 0
    assert verified.trust == UNSIGNED


def test_a_bundle_says_whose_signature_it_has(bundle, keys):
    assert verify_bundle(bundle).trust == INTEGRITY_ONLY
    trusted = verify_bundle(bundle, load_public(keys["signer.pub"]))
    assert trusted.findings == ()
    assert trusted.trust == TRUSTED
    foreign = verify_bundle(bundle, load_public(keys["other.pub"]))
    assert rules(foreign) == {"SIG-02"}
    assert foreign.exit_code == 2


def test_a_bundle_without_signature_is_not_trusted(run_folder, keys, tmp_path):
    made = make_bundle(run_folder, tmp_path / "b.tar", evidence=folder_evidence(run_folder), findings=[])
    assert verify_bundle(made).findings == ()
    assert verify_bundle(made).trust == UNSIGNED
    assert rules(verify_bundle(made, load_public(keys["signer.pub"]))) == {"SIG-03"}


def test_the_same_run_gives_the_same_octets(run_folder, bundle, keys, tmp_path):
    again = make_bundle(
        run_folder,
        tmp_path / "again.tar",
        evidence=folder_evidence(run_folder),
        findings=[],
        signer=load_private(keys["signer"]),
    )
    assert again.read_bytes() == bundle.read_bytes()


def test_a_forger_who_changes_nothing_is_not_told_apart(run_copy):
    run, trials = read(run_copy)
    replayable.forge(run_copy, run, trials)
    assert verify_folder(run_copy).findings == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (forged.higher_value, "VER-08"),
        (forged.higher_bound, "VER-08"),
        (forged.lower_latency, "VER-08"),
        (forged.lower_mean, "VER-08"),
        (forged.other_type, "VER-08"),
        (forged.no_remark, "VER-08"),
        (forged.borrowed_trial, "VER-08"),
        (forged.hidden_trial, "VER-08"),
        (forged.lost_frames_gone, "VER-08"),
        (forged.other_load, "VER-08"),
        (forged.other_algorithm, "VER-08"),
        (forged.other_metric, "VER-08"),
        (forged.invalid_made_valid, "VER-03"),
        (forged.milder_policy, "VER-03"),
        (forged.dropped_outcome, "VER-06"),
        (forged.dropped_outcome, "VER-09"),
        (forged.foreign_trial, "VER-06"),
        (forged.doubled_outcome, "VER-05"),
        (forged.wrong_test, "VER-07"),
        (forged.foreign_deployment, "VER-10"),
        (forged.plan_more, "VER-09"),
        (forged.not_simulated, "VER-12"),
        (forged.another_procedure, "VER-13"),
        (forged.lower_qualification, "VER-08"),
        (forged.cell_lies, "VER-01"),
    ],
)
def test_a_forged_run_is_caught_by_its_rule(run_copy, change, expected):
    run, trials = read(run_copy)
    change(run, trials)
    replayable.forge(run_copy, run, trials)
    verified = verify_folder(run_copy)
    assert expected in rules(verified)
    assert verified.exit_code in (2, 4)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines[:-1], {"VER-02"}),
        (lambda lines: [lines[0], *lines], {"STORE-01"}),
        (lambda lines: [lines[1], lines[0], *lines[2:]], {"STORE-01"}),
        (lambda lines: [*lines[:3], *lines[4:]], {"STORE-01"}),
        (
            lambda lines: [lines[0].replace(b'"sent_frames":', b'"sent_frames": ', 1), *lines[1:]],
            {"STORE-01"},
        ),
        (lambda lines: [*lines, b'{"schema":'], {"VER-02"}),
    ],
)
def test_a_journal_that_was_changed_is_refused(run_copy, change, expected):
    journal = run_copy / "trials.jsonl"
    lines = journal.read_bytes().splitlines()
    changed = change(lines)
    ends = b"" if changed[-1] == b'{"schema":' else b"\n"
    journal.write_bytes(b"\n".join(changed) + ends)
    assert expected <= rules(verify_folder(run_copy))


def test_another_runs_platform_is_refused(run_copy):
    platform = json.loads((run_copy / "platform.json").read_text("ascii"))
    (run_copy / "platform.json").write_text(json.dumps(platform | {"run_id": "another"}))
    assert "VER-04" in rules(verify_folder(run_copy))


def test_a_number_above_the_envelope_is_refused(run_copy):
    run, trials = read(run_copy)
    envelope = forged.outcome(run, "tester.envelope", "wire")["bounds"]["lower"]["load_fps"]
    forged.outcome(run, "throughput.rfc2544_26_1")["values"][0]["number"] = envelope
    replayable.forge(run_copy, run, trials)
    assert "VER-11" in rules(verify_folder(run_copy))


def test_a_number_of_tst009_above_the_envelope_is_refused(copy_of):
    folder = copy_of("packets")
    run, trials = read(folder)
    searched = next(one for one in run["outcomes"] if one["metric"] == tst009.METRIC and one["values"])
    searched["values"][0]["number"] = 10**9
    replayable.forge(folder, run, trials)
    assert "VER-11" in rules(verify_folder(folder))


def test_the_command_says_rejected_and_returns_the_code(bundle, keys, tmp_path, capsys):
    assert main(["verify", str(bundle), "--key", str(keys["signer.pub"])]) == 0
    said = capsys.readouterr().out
    assert "verified: " in said
    assert "simulated" in said
    assert main(["verify", str(bundle), "--key", str(keys["other.pub"])]) == 2
    assert "REJECTED" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "nothing")]) == 2


def section(said, title):
    """Return the sentences below a title of what the command says."""
    lines = said.splitlines()
    begin = lines.index(title) + 1
    return [line[4:] for line in takewhile(lambda line: line.startswith("  - "), lines[begin:])]


def test_the_command_sorts_what_was_proven_from_what_was_only_stated(bundle, run_copy, keys, capsys):
    assert main(["verify", str(bundle), "--key", str(keys["signer.pub"])]) == 0
    said = capsys.readouterr().out
    proven = section(said, "proven from these files alone:")
    stated = section(said, "only stated by who made them:")
    assert any("outcomes follow from" in text for text in proven)
    assert any("key you named has signed" in text for text in proven)
    assert any("took place" in text for text in stated)
    assert any("toolkit measured" in text for text in stated)
    assert not set(proven) & set(stated)
    assert main(["verify", str(bundle)]) == SIGNER_UNKNOWN
    assert "who signed is not known" in " ".join(
        section(capsys.readouterr().out, "proven from these files alone:")
    )
    assert main(["verify", str(run_copy)]) == 0  # nobody signs a folder
    said = capsys.readouterr().out
    assert not any("sign" in text for text in section(said, "proven from these files alone:"))
    assert any("signature" in text for text in section(said, "not checked:"))


def test_nothing_is_proven_of_files_that_contradict_each_other(run_copy, capsys):
    run, trials = read(run_copy)
    forged.higher_value(run, trials)
    replayable.forge(run_copy, run, trials)
    assert main(["verify", str(run_copy)]) != 0
    said = capsys.readouterr().out
    assert "REJECTED" in said
    assert "proven from these files alone:" not in said
    assert section(said, "only stated by who made them:")


def test_a_run_that_contradicts_itself_is_not_bundled(run_copy, tmp_path, capsys):
    run, trials = read(run_copy)
    forged.higher_value(run, trials)
    replayable.forge(run_copy, run, trials)
    assert main(["bundle", str(run_copy), "--output", str(tmp_path / "b.tar")]) == 2
    assert "BND-05" in capsys.readouterr().err
    assert not (tmp_path / "b.tar").exists()


@pytest.mark.parametrize("said", [True, False])
def test_a_run_that_was_continued_says_so_beside_the_number(run_copy, said):
    run, trials = read(run_copy)
    found = forged.outcome(run, "throughput.rfc2544_26_1")
    for body in trials:
        if body["seq"] in found["trials"][3:]:
            body["deployment"] = "again"
    if said:
        found["quality"].append("the run was cut off in the midst of these trials and continued")
    platform = json.loads((run_copy / "platform.json").read_text("ascii"))
    platform["deployments"]["again"] = {}
    (run_copy / "platform.json").write_text(json.dumps(platform))
    replayable.forge(run_copy, run, trials)
    assert rules(verify_folder(run_copy)) == (set() if said else {"VER-08"})


def test_another_version_of_a_procedure_is_named_and_not_mistaken_for_a_fault(run_copy):
    run, trials = json.loads((run_copy / "run.json").read_text()), replayable.bodies(run_copy)
    run["procedures"] = {"trial": 2, "throughput.rfc2544_26_1": 2}
    replayable.forge(run_copy, run, trials)
    found = verify_folder(run_copy).findings
    assert {finding.rule_id for finding in found} == {"VER-13"}
    assert "version 1, which this toolkit knows" in str(found[0])
    assert "recorded with version 2: a later toolkit measured it" in str(found[0])
    assert f"verify with version {bmwg.__version__}, commit {replayable.COMMIT}" in str(found[0])


def test_an_answer_is_replayed_by_its_own_versions_rule_where_one_is_kept(run_copy, monkeypatch):
    """A made example: this toolkit measures by version 2, which finds nothing, and has kept version 1."""
    metric = throughput.METRIC
    rule = FormerRule(metric=metric, version=1, measure=measurement("throughput").measure)
    monkeypatch.setattr(procedures, "CURRENT", {metric: 2})
    assert rules(verify_folder(run_copy)) == {"VER-13"}
    assert "an earlier toolkit measured it" in str(verify_folder(run_copy).findings[0])
    monkeypatch.setattr(former, "RULES", (rule,))
    assert verify_folder(run_copy).findings == ()
    wrong = replace(rule, measure=lambda asked: Answered(outcomes=()))
    monkeypatch.setattr(former, "RULES", (wrong,))
    assert rules(verify_folder(run_copy)) == {"VER-08"}


def test_a_file_that_is_no_bundle_is_called_that(capsys):
    readme = Path(__file__).parents[3] / "README.md"
    assert main(["verify", str(readme)]) == 2
    said = capsys.readouterr().out
    assert "BND-03" in said
    assert "a file of another kind" in said


def test_a_rejected_run_begins_with_the_verdict_and_of_one_rule_tells_five_findings(run_copy, capsys):
    run, trials = read(run_copy)
    for trial in trials:
        trial["result"]["streams"][0]["received_frames"] = 10**9
    replayable.forge(run_copy, run, trials)
    assert main(["verify", str(run_copy)]) != 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("REJECTED: ")
    shown = [line.split()[0].rstrip(":") for line in rest]
    assert max(shown.count(rule) for rule in set(shown) if rule.startswith("VER-")) <= 5
    assert main(["verify", str(run_copy), "--clauses"]) != 0
    assert len(capsys.readouterr().out.splitlines()) > len(rest) + 1
