"""VER-56: a copied result is found by its times, and a tester that tells counts alone is not accused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import replayable

from bmwg.methodology.records import LatencyHistogram, StreamCounts
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.verify.places import nothing_twice

COUNTS = StreamCounts(
    intended_frames=1000, sent_frames=1000, received_frames=1000, effective_duration_ns=10**9
)
TIMED = StreamCounts(
    intended_frames=1000,
    sent_frames=1000,
    received_frames=1000,
    largest_gap_ns=20_417,
    latency=LatencyHistogram(buckets=((9000, 9001, 1000),), sum_ns=9_000_412, min_ns=9000, max_ns=9001),
)


def shortfalls(*streams: StreamCounts, simulated: bool = False) -> list[object]:
    """Judge a run of trials with one stream each."""
    trials = [
        SimpleNamespace(fault="", trial=SimpleNamespace(seq=seq, result=SimpleNamespace(streams=(one,))))
        for seq, one in enumerate(streams, start=1)
    ]
    evidence = SimpleNamespace(run={"simulated": simulated}, trials=trials, executions=())
    return list(nothing_twice.check(evidence))  # type: ignore[arg-type]


def test_a_copied_result_is_found_by_its_times() -> None:
    assert len(shortfalls(TIMED, COUNTS, TIMED)) == 1
    assert shortfalls(TIMED, TIMED, simulated=True) == []


def test_equal_counts_of_a_tester_without_times_are_no_copies() -> None:
    assert shortfalls(COUNTS, COUNTS, COUNTS) == []


def test_a_run_made_by_the_real_code_has_no_two_alike(tmp_path: Path) -> None:
    evidence = folder_evidence(replayable.make_run(tmp_path, simulated=False))
    assert len(evidence.trials) > 10
    assert list(nothing_twice.check(evidence)) == []
