"""What the embedded tester's stamps cannot tell is refused by name, and no short delay."""

from __future__ import annotations

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.result import beyond_stamps
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram

HZ = 2.6e9
WRAP_NS = {"xdp": 2**34, "af_xdp": round(2**35 * 1e9 / HZ)}  # 17.2 s and 13.2 s


def ports(io: str) -> tuple[TesterPort, ...]:
    return tuple(TesterPort(name=f"p{side}", device=f"eth{side}", io=io, netns=None) for side in (0, 1))


def held_for(pause_ns: int, wrap_ns: int) -> TrialResult:
    """Return what stamps tell of a device that keeps all frames for a pause and lets them out at its end."""
    told_ns = sorted((pause_ns - sent_ns) % wrap_ns for sent_ns in range(0, pause_ns, 10**7))
    stream = StreamCounts(
        intended_frames=len(told_ns),
        sent_frames=len(told_ns),
        received_frames=len(told_ns),
        latency=LatencyHistogram(
            buckets=tuple((ns, ns, 1) for ns in told_ns),
            sum_ns=sum(told_ns),
            min_ns=told_ns[0],
            max_ns=told_ns[-1],
        ),
    )
    spec = TrialSpec(frame_octets=64, load_fps=100, duration_s=60.0)
    return TrialResult(spec=spec, streams=(stream,), wall_time_ns=60 * 10**9)


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
@pytest.mark.parametrize(("pause_s", "refused"), [(1, False), (6, False), (9, True), (14, True), (18, True)])
def test_delays_that_a_stamp_may_not_tell_are_refused(io: str, pause_s: int, refused: bool) -> None:
    """A pause of 18 s was told as one of 1 s for the frames that waited longest."""
    said = beyond_stamps(held_for(pause_s * 10**9, WRAP_NS[io]), ports(io), HZ)
    assert bool(said) is refused
    assert not said or "time stamps begin anew" in said
