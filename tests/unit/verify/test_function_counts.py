"""Counts of a function and of the tester that are not of the same frames are asked about, never refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.reports.verify.functions import questions

AGREED = {
    "host.dut.node.function.forward.offered_frames": 1000,
    "host.dut.node.function.forward.passed_frames": 1000,
}
OTHERS = AGREED | {"host.dut.node.function.forward.passed_frames": 998}


def run_of(*counts: dict[str, int], table: bool = True, fault: bool = False, simulated: bool = False) -> Any:
    """Return a run whose trials have these auxiliary counts; 1000 frames sent, 999 received."""
    stream = StreamCounts(intended_frames=1000, sent_frames=1000, received_frames=999)
    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0)
    trials = [
        SimpleNamespace(
            fault=fault,
            deployment_id="d",
            trial=SimpleNamespace(
                seq=seq,
                result=TrialResult(
                    spec=spec, streams=(stream,), wall_time_ns=1, auxiliary=tuple(sorted(told.items()))
                ),
            ),
        )
        for seq, told in enumerate(counts, start=1)
    ]
    function = {"name": "firewall", "table": "bmwg_function"} if table else "kernel-l3"
    told = {"d": {"function": function}}
    return SimpleNamespace(run={"simulated": simulated}, of_frames=True, deployments=told, trials=trials)


def test_counts_that_agree_are_not_asked_about() -> None:
    assert list(questions(run_of(AGREED, AGREED))) == []


def test_counts_that_differ_are_asked_about_once_with_the_first() -> None:
    (said,) = questions(run_of(AGREED, OTHERS, OTHERS, OTHERS, OTHERS))
    assert said.startswith(
        "function: in trial 2, 3, 4 and 1 more its counts and the tester's differ (forward: of 1000"
    )


def test_a_function_with_a_table_that_told_nothing_is_asked_for_it() -> None:
    (said,) = questions(run_of({}, AGREED))
    assert said == "function: of trial 1 no counts of its own are told: what did it do?"
    assert list(questions(run_of({}, table=False))) == []


def test_nothing_is_asked_of_a_fault_or_of_what_is_simulated() -> None:
    assert list(questions(run_of(OTHERS, fault=True))) == []
    assert list(questions(run_of(OTHERS, simulated=True))) == []
