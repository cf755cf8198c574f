"""Every profile runs through the bench: shortened versions, on the simulated bed, replayed afterwards."""

from pathlib import Path

import pytest
import yaml

from bmwg.methodology import suites
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.store import read_run
from bmwg.reports.verify.replay import contradictions
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run.settings import Settings

ROOT = Path(__file__).parents[3]
SIMULATED = ROOT / "testbeds" / "simulated.yaml"
KNEE_FPS = 800_000
PATHS = [
    {"path": "wire", "hosting": "none", "function": "none", "networks": "none", "frame_octets": [64]},
    {
        "path": "node",
        "hosting": "baremetal",
        "function": "kernel-l3",
        "networks": "none",
        "frame_octets": [64],
    },
]


def shortened(name, folder):
    """The profile with seconds for minutes and one size; its search stays as it is."""
    data = {key: value for key, value in load_profile(name).data.items() if key not in ("suites",)}
    data["indicative"] = True
    data["trial"] = data["trial"] | {
        "duration_s": 0.2,
        "settle_s": 0,
        "learning_wait_s": 0,
        "drain_s": 0,
        "restabilize_s": 0,
    }
    data["latency"] = {"duration_s": 0.2, "frame_octets": [64]}
    data["traffic"] = data["traffic"] | {"directions": ["forward"], "flows": [1]}
    data["paths"] = PATHS
    data["benchmarks"] = {
        "tagged_latency": {"streams": 2, "stream_s": 0.2},
        "delay_variation": {"streams": 2, "stream_s": 0.2},
        "soak": {"intervals": 12, "interval_s": 0.2},  # one of them may be disturbed
    }
    goals = data["search"].get("goals", [])
    data["search"] = data["search"] | {"relative_width": 0.01}
    if goals:
        final = {"goal_final_trial_duration_s": 0.2, "goal_width": 0.01, "goal_initial_trial_duration_s": 0.1}
        data["search"]["goals"] = [
            goal | final | {"goal_duration_sum_s": goal["goal_duration_sum_s"] / 300} for goal in goals
        ]
    file = folder / f"{name}-short.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["rfc2544", "rfc9971", "tst009", "rfc8204"])
def test_a_profile_measures_the_ladder_by_its_own_search(name, tmp_path):
    settings = Settings(
        testbed=SIMULATED, profile=str(shortened(name, tmp_path)), results=tmp_path / "results", run_id="mine"
    )
    chosen = {"CN-TPUT-1.1", "CN-TPUT-1.2", "CN-LAT-1.2", "R2544-TPUT-1.1", "R2544-LAT-2.1", "R2544-SOAK-1.1"}
    bench = Bench.open(settings, chosen)
    try:
        answers = {test_id: bench.outcomes(test_id) for test_id in sorted(chosen)}
    finally:
        bench.close()
    run = read_run(tmp_path / "results" / "mine")
    assert run.status == "complete"
    metric = {"rfc9971": "conditional_throughput.rfc9971", "tst009": "throughput.tst009_12_3"}.get(
        name, "throughput.rfc2544_26_1"
    )
    networks = 1 if name == "rfc8204" else 2  # one destination network, and 256 (RFC 2544 12)
    found = answers["CN-TPUT-1.2"]
    assert len(found) == (3 if name == "rfc9971" else 1) * networks
    for outcome in found:
        assert outcome.metric.startswith(metric)
        assert outcome.type is OutcomeType.MEASURED
        assert outcome.lower.load_fps <= KNEE_FPS * 1.02
        assert outcome.upper.load_fps >= KNEE_FPS * 0.99
    assert answers["R2544-TPUT-1.1"] == found  # one answer, asked for twice
    for test_id in ("CN-LAT-1.2", "R2544-LAT-2.1", "R2544-SOAK-1.1"):
        assert len(answers[test_id]) == networks
        for outcome in answers[test_id]:
            assert outcome.type is OutcomeType.MEASURED, outcome
            load = {run.trial(seq).spec.load_fps for seq in outcome.trials}
            share = 90 if test_id == "R2544-SOAK-1.1" else 100
            same = next(one for one in found if one.cell == outcome.cell)
            assert load == {same.lower.load_fps * share // 100}
    evidence = folder_evidence(tmp_path / "results" / "mine")
    assert len(evidence.outcomes) == len({(one.metric, one.cell.cell_id) for one in evidence.outcomes})
    wrong = [shortfall for outcome in evidence.outcomes for shortfall in contradictions(evidence, outcome)]
    assert wrong == []


def test_a_falsified_tag_is_told_by_the_replay(tmp_path):
    settings = Settings(
        testbed=SIMULATED, profile=str(shortened("rfc2544", tmp_path)), results=tmp_path, run_id="mine"
    )
    bench = Bench.open(settings, {"R2544-LAT-2.1"})
    try:
        outcome, _ = bench.outcomes("R2544-LAT-2.1")  # of one destination network; the other has 256
    finally:
        bench.close()
    evidence = folder_evidence(tmp_path / "mine")
    assert list(contradictions(evidence, outcome)) == []
    from dataclasses import replace

    better = replace(outcome, values=(replace(outcome.values[0], number=1), *outcome.values[1:]))
    assert [place for place, _, _ in contradictions(evidence, better)] == [f"{outcome.outcome_id}: values"]


def test_every_case_names_a_measurement_that_is_registered():
    from bmwg.methodology.measurements.registry import measurements

    assert {case.measurement for case in suites.cases()} <= set(measurements())
    tests = [case.test_id for case in suites.cases()]
    assert len(set(tests)) == len(tests)
