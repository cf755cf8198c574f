"""What a function counted itself in a trial, against the tester's counts: the same frames, or a question."""

from __future__ import annotations

import pytest

from bmwg.methodology.answers.data_plane_functions import Told, disagreements, told_of
from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec


def trial(counts, *, sent=100, received=100, direction=Direction.FORWARD):
    stream = StreamCounts(intended_frames=100, sent_frames=sent, received_frames=received)
    return TrialResult(
        spec=TrialSpec(frame_octets=64, load_fps=1000, duration_s=0.1, direction=direction),
        streams=(stream, stream) if direction is Direction.BOTH else (stream,),
        wall_time_ns=1,
        auxiliary=tuple(sorted((f"host.dut.{name}", value) for name, value in counts.items())),
    )


def counts(offered, passed, *, place="pod0", way="forward", **more):
    told = {
        f"{place}.function.{way}.offered_frames": offered,
        f"{place}.function.{way}.passed_frames": passed,
    }
    return told | {f"{place}.function.{name}": value for name, value in more.items()}


def test_counts_are_told_by_place_and_direction_with_those_of_the_whole_function():
    found = told_of(
        trial(
            {
                **counts(100, 99, dropped_frames=1, refused_frames=2, evicted_sessions=3),
                "pod0.net0.frames": 7,
                "pod0.cpu_ns": 5,
            }
        )
    )
    assert found == (
        Told(
            place="pod0",
            way="forward",
            offered_frames=100,
            passed_frames=99,
            dropped_frames=1,
            refused_frames=2,
            evicted_sessions=3,
        ),
    )


def test_a_trial_without_such_counts_tells_nothing_and_disagrees_with_nothing():
    assert told_of(trial({"pod0.cpu_ns": 5})) == ()
    assert list(disagreements(trial({"pod0.cpu_ns": 5}))) == []


@pytest.mark.parametrize(
    ("told", "sent", "received"),
    [
        (counts(100, 100), 100, 100),
        (counts(95, 95), 100, 95),  # lost before the function
        (counts(100, 100), 100, 90),  # lost behind it
        (counts(100, 100, place="pod0") | counts(97, 97, place="pod1"), 100, 96),  # a chain
        (counts(60, 60, place="pod0") | counts(40, 40, place="pod1"), 100, 100),  # beside each other
    ],
)
def test_counts_of_the_same_frames_agree(told, sent, received):
    assert list(disagreements(trial(told, sent=sent, received=received))) == []


@pytest.mark.parametrize(
    ("told", "sent", "received", "said"),
    [
        (counts(101, 101), 100, 100, "101 frames came to the function, 100 were sent"),
        (counts(99, 99), 100, 100, "99 frames were let through, 100 were received"),
        (counts(100, 98), 100, 98, "of 100 frames that came to the function it let 98 through"),
        (counts(50, 50), 100, 100, "50 frames were let through, 100 were received"),
        (counts(5, 5, way="reverse"), 100, 100, "reverse: 5 frames came to the function, 0 were sent"),
    ],
)
def test_counts_of_other_frames_are_a_question(told, sent, received, said):
    assert any(said in one for one in disagreements(trial(told, sent=sent, received=received)))


def test_each_direction_is_held_against_its_own_stream():
    both = counts(100, 100) | counts(100, 100, way="reverse")
    assert list(disagreements(trial(both, direction=Direction.BOTH))) == []
    short = counts(100, 100) | counts(99, 99, way="reverse")
    (said,) = disagreements(trial(short, direction=Direction.BOTH))
    assert said.startswith("reverse: ")
