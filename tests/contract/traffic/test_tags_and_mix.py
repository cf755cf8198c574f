"""Tagged frames and mixed frame sizes with real packets over a veth pair."""

import pytest

from bmwg.methodology.benchmarks import imix
from bmwg.methodology.benchmarks.back_to_back import listening_s
from bmwg.methodology.errors import DriverError, ToolkitError
from bmwg.methodology.records import RESIDUAL_WAIT, Direction, TrialSpec, Validity
from bmwg.methodology.trial.judging import RecordedTrial, TrialPolicy, judge

pytestmark = pytest.mark.quiet

POLICY = TrialPolicy(max_stall_ns=1_000_000_000, set_aside_host_stalls=False)


def valid(tester, spec):
    """The first of three trials that held; a shared machine may take the sender's CPU away."""
    for number in range(3):
        judged = judge(RecordedTrial(seq=number + 1, result=tester.run(spec)), POLICY)
        if judged.valid:
            return judged.result
        assert judged.validity in (Validity.SENT_SHORT, Validity.TESTER_STALLED), judged.reason
    pytest.skip(f"lacks a CPU of its own: {judged.reason}")


@pytest.mark.usefixtures("wire")
def test_tagged_frames_are_told_one_by_one_and_lie_within_the_histogram(tester):
    spec = TrialSpec(
        frame_octets=64,
        load_fps=20_000,
        duration_s=0.3,
        direction=Direction.BOTH,
        tag_after_s=0.15,
        tags=500,
    )
    assert len(spec.tag_frames) == 500
    assert spec.tag_frames[0] == 3_000
    result = valid(tester, spec)
    for stream in result.streams:
        assert len(stream.tagged_ns) == 500
        arrived = [ns for ns in stream.tagged_ns if ns is not None]
        assert len(arrived) >= 500 - stream.lost_frames
        assert stream.latency.min_ns <= min(arrived)
        assert max(arrived) <= stream.latency.max_ns
        sent = [at for at in stream.tagged_at_ns if at is not None]
        assert [at is None for at in stream.tagged_at_ns] == [ns is None for ns in stream.tagged_ns]
        assert sent == sorted(sent)
        assert max(sent) <= stream.effective_duration_ns
    one = valid(tester, TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.2, tag_after_s=0.1, tags=1))
    assert len(one.streams[0].tagged_ns) == 1
    assert (
        valid(tester, TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1)).streams[0].tagged_ns == ()
    )


@pytest.mark.usefixtures("wire")
def test_frames_of_a_second_load_are_tagged_from_its_first_on(tester):
    spec = TrialSpec(
        frame_octets=64,
        load_fps=20_000,
        duration_s=0.2,
        then_load_fps=10_000,
        then_duration_s=0.4,
        loss_times=True,
        tag_after_s=0.2,
        tags=400,
    )
    assert spec.tag_frames[0] == spec.first_frames == 4_000
    (stream,) = valid(tester, spec).streams
    assert len(stream.tagged_ns) == len(spec.tag_frames) == 400
    assert sum(ns is not None for ns in stream.tagged_ns) >= 400 - stream.lost_frames
    told = zip(spec.tag_frames, stream.tagged_at_ns, strict=True)
    for sequence, at_ns in ((sequence, at_ns) for sequence, at_ns in told if at_ns is not None):
        due_ns = 200_000_000 + (sequence - 4_000) * 100_000
        assert at_ns >= due_ns - 1_000_000  # none leaves before it is due, but for the first one's lateness
        assert at_ns <= stream.effective_duration_ns


@pytest.mark.usefixtures("wire")
def test_a_mix_is_sent_in_its_order_and_in_its_proportions(tester, wire):
    mix = imix.parse("7a4d1g")
    spec = TrialSpec(
        frame_octets=1518, load_fps=12_000, duration_s=0.1, mix_octets=mix.sequence, direction=Direction.BOTH
    )
    result = valid(tester, spec)
    counted = dict(result.auxiliary)
    for stream, port in zip(result.streams, wire, strict=True):
        assert stream.corrupt_frames == 0  # length and fill of every frame are those of its number
        assert stream.sent_frames >= 0.99 * 1_200
        assert stream.lost_frames <= 0.01 * 1_200
        octets = counted.get(f"{port.name}.tx_bytes")
        if octets is not None:
            assert octets == pytest.approx(stream.sent_frames * float(mix.mean_octets - 4), rel=0.01)


@pytest.mark.usefixtures("wire")
def test_a_mix_beyond_the_tester_is_refused(tester):
    sizes = tuple(range(64, 64 + 9))
    with pytest.raises(DriverError, match="at most 8 sizes"):
        tester.run(TrialSpec(frame_octets=72, load_fps=1_000, duration_s=0.1, mix_octets=sizes))
    with pytest.raises(ToolkitError):
        tester.run(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1, mix_octets=(64,) * 65))


@pytest.mark.usefixtures("wire")
def test_a_burst_is_listened_after_for_as_long_as_it_lasts(tester):
    spec = TrialSpec(frame_octets=64, load_fps=20_000, duration_s=0.5, burst=True)
    told = dict(valid(tester, spec).auxiliary)
    quiet_s, limit_s = listening_s(spec, tester.config.drain_quiet_s)
    assert quiet_s >= spec.duration_s
    assert quiet_s * 1e9 <= told[RESIDUAL_WAIT] < (limit_s + 5) * 1e9
