"""A tester that cannot do what a measurement asks: the cell is not assessed, and nothing fails."""

from pathlib import Path

from bmwg.drivers.traffic import simulated
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store import read_run
from bmwg.reports.verify.replay import contradictions
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"


def measured(tmp_path, monkeypatch, lacking, tests):
    monkeypatch.setattr(simulated, "_ABLE", EVERYTHING - lacking)
    bench = Bench.open(Settings(testbed=TESTBED, results=tmp_path, run_id="mine"), tests)
    try:
        answers = {test_id: bench.outcomes(test_id) for test_id in tests}
    finally:
        bench.close()
    evidence = folder_evidence(tmp_path / "mine")
    wrong = [found for outcome in evidence.outcomes for found in contradictions(evidence, outcome)]
    return answers, read_run(tmp_path / "mine"), wrong


def test_a_cell_that_needs_more_says_what_and_the_others_are_measured(tmp_path, monkeypatch):
    answers, run, wrong = measured(
        tmp_path, monkeypatch, {Capability.SECOND_LOAD}, ["R2544-TPUT-1.1", "R2544-RECOV-1.1"]
    )
    assert wrong == []
    assert run.status == "complete"
    (throughput,) = answers["R2544-TPUT-1.1"]
    assert throughput.type is OutcomeType.MEASURED
    (recovery,) = answers["R2544-RECOV-1.1"]
    assert recovery.type is OutcomeType.NOT_ASSESSED
    assert "simulated has no second load" in recovery.reason


def test_a_format_that_it_cannot_send_is_not_assessed_from_the_qualification_on(tmp_path, monkeypatch):
    answers, run, wrong = measured(tmp_path, monkeypatch, {Capability.IPV6_UDP}, ["R2544-TPUT-1.4"])
    assert wrong == []
    assert run.trials == ()
    (outcome,) = answers["R2544-TPUT-1.4"]
    assert outcome.type is OutcomeType.NOT_ASSESSED
    assert "UDP over IPv6" in outcome.reason


def test_a_pattern_of_more_ports_than_the_file_has_is_not_assessed(tmp_path):
    """Every bed is asked before any trial: of a simulated one the cells were invalid, with the run's exit."""
    settings = Settings(testbed=TESTBED, profile="rfc2889-quick", results=tmp_path, run_id="mine")
    bench = Bench.open(settings, ["R2889-TPUT-1.1"])
    try:
        answers = bench.outcomes("R2889-TPUT-1.1")
    finally:
        bench.close()
    assert {outcome.type for outcome in answers} == {OutcomeType.NOT_ASSESSED}
    assert "names 2" in answers[0].reason
    assert read_run(tmp_path / "mine").trials == ()
