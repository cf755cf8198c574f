"""Throughputs beside something else by goals, on the simulated bed: planned, told, verified (LTD 3.2.2)."""

from pathlib import Path

import pytest

from bmwg.methodology.answers.throughput import METRIC
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

SIMULATED = Path(__file__).parents[3] / "testbeds" / "simulated.yaml"
CODE = "0.1f1.5d0l50e"
TESTS = {
    "LTD-FLOWS-1.1": "throughput_flows.ltd_3_2_2_3_1",
    "LTD-FLOWS-1.2": "throughput_expiring_flows.ltd_3_2_2_3_1",
    "LTD-CPDP-1.3": "throughput_coupled.ltd_3_2_2_5_1.8_entries.100_changes",
    "LTD-MATCH-1.7": "throughput_match_action.ltd_3_2_2_1_15.dec_ttl",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    settings = Settings(testbed=SIMULATED, profile="vsperf", results=folder, run_id="mine")
    bench = Bench.open(settings, set(TESTS))
    try:
        for test_id in TESTS:
            bench.outcomes(test_id)
    finally:
        bench.close()
    return read_run(folder / "mine")


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
