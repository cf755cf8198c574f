"""Throughputs beside something else by goals, on the simulated bed: planned, told, verified (LTD 3.2.2)."""

from pathlib import Path

import pytest

from bmwg.drivers.traffic import simulated, simulated_shapes
from bmwg.methodology.answers.throughput import METRIC
from bmwg.methodology.benchmarks import flow_changes
from bmwg.methodology.measurements import flow_changes as measured_changes
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

SIMULATED = Path(__file__).parents[3] / "testbeds" / "simulated.yaml"
CODE = "0.1f1.5d0l50e"
CHANGING = "LTD-CPDP-1.3"
TESTS = {
    "LTD-FLOWS-1.1": "throughput_flows.ltd_3_2_2_3_1",
    "LTD-FLOWS-1.2": "throughput_expiring_flows.ltd_3_2_2_3_1",
    CHANGING: "throughput_coupled.ltd_3_2_2_5_1.8_entries.100_changes",
    "LTD-MATCH-1.7": "throughput_match_action.ltd_3_2_2_1_15.dec_ttl",
}


def ran(folder, tests):
    settings = Settings(testbed=SIMULATED, profile="vsperf", results=folder, run_id="mine")
    bench = Bench.open(settings, set(tests))
    try:
        for test_id in tests:
            bench.outcomes(test_id)
    finally:
        bench.close()
    return read_run(folder / "mine")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("beside"), TESTS)


def test_each_answer_names_the_goal_that_found_it(run):
    for test_id, metric in TESTS.items():
        mine = [one for one in run.outcomes if one.outcome_id.startswith(f"{test_id}:")]
        assert mine
        assert {one.metric for one in mine} == {f"{metric}.{CODE}"}
        assert {planned.metric for planned in run.plan if planned.test_id == test_id} == {f"{metric}.{CODE}"}
        assert {trial.metric for trial in run.trials if trial.test_id == test_id} == {metric}
    assert not any(one.metric == METRIC for one in run.outcomes)


def test_the_run_verifies_and_its_report_defines_each_metric(run):
    assert verify_folder(run.folder).findings == ()
    text = (run.folder / "report.rst").read_text(encoding="utf-8")
    assert "A throughput is RFC 9971's conditional one" in text
    assert "this version holds no definition" not in text


def without_changes_above(load_fps):
    """Return what the simulated tester counts beside frames, with no change of flows above a load."""

    def counted(spec, sent, took_s):
        told = dict(simulated_shapes.shown(spec, sent, took_s))
        if spec.load_fps > load_fps and flow_changes.CHANGES in told:
            told[flow_changes.CHANGES] = 0
        return tuple(told.items())

    return counted


def test_verify_judges_changes_that_were_missed_as_the_run_did(tmp_path, monkeypatch):
    """LTD 3.2.2.5.1: above what a device carries loss is loss all the same; elsewhere there is no number."""
    for load_fps, kind in ((1_000_000, OutcomeType.MEASURED), (0, OutcomeType.INVALID)):
        with monkeypatch.context() as patched:
            patched.setattr(simulated, "shown", without_changes_above(load_fps))
            found = ran(tmp_path / kind.value, [CHANGING])
        mine = [one for one in found.outcomes if one.outcome_id.startswith(f"{CHANGING}:")]
        assert {one.type for one in mine} == {kind}
        assert verify_folder(found.folder).findings == ()


def test_a_number_that_stands_on_trials_without_their_changes_is_found_by_verify(run, monkeypatch):
    monkeypatch.setattr(measured_changes, "_ENOUGH", 2.0)  # as if too few had been counted
    told = [one for one in verify_folder(run.folder).findings if CHANGING in one.where]
    assert any(one.expected == "type invalid" for one in told)
