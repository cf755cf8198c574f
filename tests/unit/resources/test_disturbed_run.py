"""A run on a machine that disturbs every trial: unstable cells, a report, one hint, and no failed test."""

from pathlib import Path

import pytest
import yaml

from bmwg.cli import run as cli
from bmwg.cli.main import main
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Validity
from bmwg.methodology.trial import disturbed
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.store import read_run
from bmwg.reports.verify.replay import contradictions

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "testcases" / "rfc2544"


@pytest.fixture
def run_with(tmp_path, monkeypatch):
    """Run the command on the simulated tester, stalled in this share of trials; its status and its run."""
    monkeypatch.chdir(ROOT)
    for name in ("BMWG_RUN", "BMWG_RUN_ID", "BMWG_TESTBED", "BMWG_PROFILE", "BMWG_RESULTS", "BMWG_CONSOLE"):
        monkeypatch.setenv(name, "")  # what the command sets is gone after the test
        monkeypatch.delenv(name)

    def run(stall_ratio, *tests):
        data = yaml.safe_load((ROOT / "testbeds" / "simulated.yaml").read_text(encoding="utf-8"))
        data["tester"]["options"] = {**data["tester"].get("options", {}), "stall_ratio": stall_ratio}
        testbed = tmp_path / f"stalled-{stall_ratio}.yaml"
        testbed.write_text(yaml.safe_dump(data), encoding="utf-8")
        results = tmp_path / "results"
        arguments = ["run", str(SUITE), "--testbed", str(testbed), "--results", str(results)]
        for test in tests:
            arguments += ["--test", test]
        status = main(arguments)
        (folder,) = [path.parent for path in results.glob("*/run.json")]
        return status, read_run(folder)

    return run


def test_a_machine_that_disturbs_every_trial_fails_no_test_and_says_what_it_is_worth(run_with):
    status, run = run_with(1.0, "R2544-TPUT-1.1", "R2544-LAT-2.1", "R2544-SOAK-1.1")
    assert status == disturbed.EXIT_STATUS
    assert run.status == "complete"
    assert {outcome.type for outcome in run.outcomes} == {OutcomeType.UNSTABLE}
    away = sum(trial.validity is Validity.TESTER_STALLED for trial in run.trials)
    assert away == len(run.trials) > 0
    for outcome in run.outcomes:
        assert f"the machine took its CPUs away in {away} of {away} trials" in outcome.reason
    lines = summary_lines(facts(run))
    assert any(line.startswith("Hardly anything could be used") for line in lines)
    assert [line for line in lines if line.startswith("hint: ")] == [f"hint: {disturbed.HINT}"]
    assert (run.folder / "report.html").exists()
    evidence = folder_evidence(run.folder)
    assert [found for one in evidence.outcomes for found in contradictions(evidence, one)] == []


def test_a_calm_machine_ends_with_zero_and_no_hint(run_with):
    status, run = run_with(0.2, "R2544-TPUT-1.1")
    assert status == 0
    assert not any("hint" in line or "Hardly" in line for line in summary_lines(facts(run)))


def test_an_answer_that_was_made_unstable_by_hand_is_refused(run_with):
    _, run = run_with(0.0, "R2544-TPUT-1.1")
    evidence = folder_evidence(run.folder)
    (good,) = [one for one in evidence.outcomes if one.cell.path == "pvp"]
    hidden = Outcome(
        outcome_id=good.outcome_id,
        metric=good.metric,
        cell=good.cell,
        type=OutcomeType.UNSTABLE,
        reason="the tester could not be qualified for this traffic: the machine took its CPUs away",
    )
    said = [expected for _, expected, _ in contradictions(evidence, hidden)]
    assert any("trials of the cell in order" in text for text in said)
    assert "type invalid" in said


def outcome(kind):
    cell = Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64)
    return Outcome(outcome_id="x", metric="m", cell=cell, type=kind)


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ([], False),
        ([OutcomeType.MEASURED], False),
        ([OutcomeType.UNSTABLE] * 3 + [OutcomeType.MEASURED], False),
        ([OutcomeType.UNSTABLE] * 4 + [OutcomeType.MEASURED], True),
        ([OutcomeType.UNSTABLE], True),
        ([OutcomeType.NOT_ASSESSED] * 9 + [OutcomeType.UNSTABLE], True),
        ([OutcomeType.NOT_ASSESSED] * 9, False),
        ([OutcomeType.INVALID] * 9, False),
    ],
)
def test_hardly_usable_counts_answers_that_could_be_tried(types, said):
    trials = [Validity.VALID, Validity.HOST_STALLED, Validity.TESTER_STALLED, Validity.SENT_SHORT]
    sentence = disturbed.hardly_usable([outcome(kind) for kind in types], trials)
    assert bool(sentence) is said
    if said:
        assert sentence.endswith("the machine took its CPUs away in 2 of 4 trials.")


def test_failed_tests_keep_their_own_status(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "run_cli", lambda *_, **__: 3)
    assert cli.run_suites([SUITE], tmp_path, tmp_path / "robot", [], tmp_path / "none") == 1
