"""Who sends to whom: what a pattern is, what may stand beside one, and when its counts hold."""

from dataclasses import replace

import pytest

from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy, Validity, assess
from bmwg.methodology.trial.pattern import Pattern, between, full_mesh

MESH = full_mesh(4)
TO_ONE = Pattern(to=((2,), (2,), ()))


def spec(pattern, **other):
    return TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, pattern=pattern, **other)


def stream(sent, received=None, **other):
    came = sent if received is None else received
    latency = LatencyHistogram(buckets=((10, 10, came),), sum_ns=10 * came) if came else LatencyHistogram()
    return StreamCounts(
        intended_frames=other.pop("intended_frames", sent),
        sent_frames=sent,
        received_frames=came,
        effective_duration_ns=999_000_000 if sent else 0,
        latency=latency,
        **other,
    )


def result(pattern, *streams):
    return TrialResult(spec=spec(pattern), streams=streams, wall_time_ns=2_000_000_000)


def test_a_mesh_has_the_order_of_the_document():
    """RFC 2889 5.1.3: each port begins with the one after it."""
    assert full_mesh(6).to == (
        (1, 2, 3, 4, 5),
        (2, 3, 4, 5, 0),
        (3, 4, 5, 0, 1),
        (4, 5, 0, 1, 2),
        (5, 0, 1, 2, 3),
        (0, 1, 2, 3, 4),
    )


@pytest.mark.parametrize("sent", range(13))
def test_every_frame_is_meant_for_one_port(sent):
    for pattern in (MESH, TO_ONE, Pattern(to=((1, 2), (), ()))):
        each = [sent if receivers else 0 for receivers in pattern.to]
        meant = [pattern.meant_for(port, each) for port in range(pattern.ports)]
        truth = [0] * pattern.ports
        for sender, receivers in enumerate(pattern.to):
            for frame in range(each[sender]):
                truth[receivers[frame % len(receivers)]] += 1
        assert meant == truth


def test_a_broadcast_frame_is_meant_for_all():
    pattern = Pattern(to=((1, 2), (0, 2), ()), broadcast=True)
    assert [pattern.meant_for(port, (7, 5, 0)) for port in range(3)] == [5, 7, 12]


def test_senders_and_receivers():
    assert TO_ONE.senders == (0, 1)
    assert TO_ONE.receivers == (2,)
    assert TO_ONE.senders_to(2) == (0, 1)
    assert between([0, 1], [0, 2], ports=3) == ((2,), (2, 0), ())
    assert "0 to 2" in TO_ONE.words
    assert TO_ONE.words in spec(TO_ONE).words


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"to": ((1,),)}, "2 to 8 ports"),
        ({"to": ((1,),) + ((),) * 8}, "2 to 8 ports"),
        ({"to": ((0,), ())}, "other ports"),
        ({"to": ((1, 1), ())}, "other ports"),
        ({"to": ((2,), ())}, "other ports"),
        ({"to": ((), ())}, "a port that sends"),
        ({"to": ((1,), ()), "sources": 0}, "sources"),
        ({"to": ((1,), ()), "destinations": 2**21}, "destinations"),
        ({"to": ((1,), ()), "destinations": 2, "broadcast": True}, "broadcast"),
    ],
)
def test_what_is_no_pattern(wrong, what):
    with pytest.raises(ValueError, match=what):
        Pattern(**wrong)


@pytest.mark.parametrize(
    "beside",
    [
        {"direction": Direction.BOTH},
        {"then_load_fps": 10, "then_duration_s": 1.0},
        {"loss_times": True},
        {"broadcast_every": 10},
        {"modifier": "management"},
        {"tags": 2, "tag_after_s": 0.5},
        {"mix_octets": (64,)},
        {"destination_networks": 2},
    ],
)
def test_nothing_that_is_told_by_direction_stands_beside_a_pattern(beside):
    with pytest.raises(ValueError, match=f"pattern.*{next(iter(beside))}"):
        spec(MESH, **beside)


def test_counts_of_each_port_hold():
    whole = result(TO_ONE, stream(0), stream(0), stream(2_000))
    assert assess(whole, TrialPolicy()).validity is Validity.VALID
    judged = JudgedTrial(seq=1, result=whole, validity=Validity.VALID)
    assert judged.carried_per_s == 1_000  # of each sender; ports that nobody sends to carry no load
    assert judged.sent_per_s == 1_000


def test_what_is_carried_counts_by_the_load_of_a_sender():
    """RFC 2889 5.1.3: a load is each sender's, so two senders to one port are no twofold load of it."""
    lossy = result(TO_ONE, stream(0), stream(0), stream(2_000, 1_800))
    judged = JudgedTrial(seq=1, result=lossy, validity=Validity.VALID)
    assert (judged.sent_per_s, judged.carried_per_s) == (judged.load, 900)
    copies = result(Pattern(to=((1, 2), (2,), ()), broadcast=True), stream(0), stream(1_000), stream(2_000))
    judged = JudgedTrial(seq=1, result=copies, validity=Validity.VALID)
    assert (judged.sent_per_s, judged.carried_per_s) == (1_000, 1_000)


@pytest.mark.parametrize(
    "streams",
    [
        (stream(0), stream(0)),  # a port is missing
        (stream(0), stream(0), stream(1_000)),  # frames of one sender only
        (stream(1), stream(0), stream(2_000, intended_frames=2_000)),  # sent to a port that is no receiver
        (stream(0), stream(0), stream(2_000, 2_001)),
        (stream(0), stream(0), stream(2_000, flooded_frames=-1)),
    ],
)
def test_counts_that_contradict_the_pattern(streams):
    made = result(TO_ONE, *streams)
    if made.streams[0].sent_frames == 1:
        made = replace(made, streams=(replace(made.streams[0], intended_frames=0), *made.streams[1:]))
    assert assess(made, TrialPolicy()).validity is Validity.INCONSISTENT


def test_frames_can_only_be_flooded_where_there_is_a_pattern():
    plain = TrialResult(
        spec=TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0),
        streams=(stream(1_000, flooded_frames=1),),
        wall_time_ns=2_000_000_000,
    )
    assert "flooded" in assess(plain, TrialPolicy()).reason


def test_a_port_that_sent_too_little_or_too_fast():
    short = result(TO_ONE, stream(0), stream(0), stream(1_900, intended_frames=2_000))
    assert assess(short, TrialPolicy()).validity is Validity.SENT_SHORT
    fast = replace(stream(2_000), effective_duration_ns=500_000_000)
    assert "sent at" in assess(result(TO_ONE, stream(0), stream(0), fast), TrialPolicy()).reason
