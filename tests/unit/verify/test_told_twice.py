"""What a trial tells twice of its latencies and losses: one telling alone cannot be changed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import honest
import liar
import pytest
import runs

from bmwg.methodology.records import StreamCounts, TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossTimes
from bmwg.methodology.trial.trial_counts import contradiction
from bmwg.reports.verify.frames_told import losses_shown
from bmwg.reports.verify.verify import verify_folder

SPEC = TrialSpec(
    frame_octets=64, load_fps=110_000, duration_s=60.0, then_load_fps=55_000, then_duration_s=60.0
)
LOST_AFTER = 1_000
OVERLOADED = SPEC.first_frames


def stream(**losses) -> StreamCounts:
    """Lose 600,000 frames in the overload, and a thousand after it: these alone take 18 ms."""
    told = {
        "runs": 9,
        "first_received_frames": OVERLOADED - 600_000,
        "reduced_at_ns": 60_000_000_000,
        "last_lost_ns": 60_018_300_000,
    }
    return StreamCounts(
        intended_frames=SPEC.intended_frames,
        sent_frames=SPEC.intended_frames,
        received_frames=SPEC.intended_frames - 600_000 - LOST_AFTER,
        losses=LossTimes(**told | losses),
    )


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ({}, ""),
        ({"last_lost_ns": 90_000_000_000}, ""),  # a device that lost on and off until then
        ({"last_lost_ns": 60_000_001_000}, "1000 frames were lost after it"),
        ({"last_lost_ns": 59_999_999_000}, "1000 frames were lost after it"),
        ({"last_lost_ns": None}, "601000 lost frames"),
        (
            {"first_received_frames": OVERLOADED - 601_000, "last_lost_ns": 59_000_000_000},
            "",
        ),  # none after it
    ],
)
def test_a_recovery_takes_as_long_as_its_lost_frames_were_due(losses, said) -> None:
    found = [expected for expected, _ in losses_shown(SPEC, stream(**losses))]
    assert [said in one for one in found] == ([True] if said else [])


def test_a_stream_without_times_or_losses_is_not_asked() -> None:
    assert not [*losses_shown(SPEC, replace(stream(), losses=None))]
    assert not [*losses_shown(SPEC, replace(stream(last_lost_ns=None), received_frames=SPEC.intended_frames))]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({}, ""),
        ({"min_ns": None, "max_ns": None}, ""),  # a tester that does not tell them
        ({"max_ns": 1_020}, "largest latency of 1020 ns outside its bucket, 9000 to 9100 ns"),
        ({"max_ns": 9_101}, "largest latency"),
        ({"min_ns": 999}, "least latency of 999 ns outside its bucket, 1000 to 1015 ns"),
        ({"min_ns": 1_016}, "least latency"),
    ],
)
def test_least_and_largest_latency_lie_in_the_first_and_last_bucket(ends, said) -> None:
    """Percentiles end at the largest: one that is called small made all of them small."""
    spec = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1)
    told = {"min_ns": 1_001, "max_ns": 9_050} | ends
    latency = LatencyHistogram(buckets=((1_000, 1_015, 90), (9_000, 9_100, 10)), sum_ns=181_000, **told)
    one = StreamCounts(intended_frames=100, sent_frames=100, received_frames=100, latency=latency)
    found = contradiction(SimpleNamespace(spec=spec, streams=(one,)))
    assert found.startswith(said)
    assert bool(found) is bool(said)


def test_an_honest_run_with_recoveries_and_tagged_frames_verifies(tmp_path) -> None:
    folder = honest._frames(tmp_path / "run", runs.RECOVERY, runs.TAGGED)
    assert verify_folder(liar.told(folder, honest._as_measured)).findings == ()
