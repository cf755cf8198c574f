"""Testers that do a step otherwise than they should, and tell the truth about it."""

from __future__ import annotations

from dataclasses import replace

from runs import Tester

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram


def counted(stream: StreamCounts, *, sent: int, received: int) -> StreamCounts:
    """Return a stream that sent and received so many frames, with times of as many."""
    took_ns = 20_000
    buckets = ((took_ns, took_ns, received),) if received else ()
    ends = took_ns if received else None
    latency = LatencyHistogram(buckets=buckets, sum_ns=received * took_ns, min_ns=ends, max_ns=ends)
    return replace(stream, sent_frames=sent, received_frames=received, latency=latency)


class Each(Tester):
    """Changes the streams of each trial."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return stream

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        return replace(result, streams=tuple(self.stream(spec, one) for one in result.streams))


class Unsent(Each):
    """Leaves one frame in two thousand unsent, within what a profile allows."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        sent = stream.intended_frames - stream.intended_frames // 2000
        return counted(stream, sent=sent, received=min(sent, stream.received_frames))


class Short(Each):
    """Sends nine frames in ten from 400,000 frames/s on, but not where it is qualified."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        if spec.load_fps < 400_000 or (self._ports and self._ports[0].device == "wire"):
            return stream
        sent = stream.intended_frames * 9 // 10
        return counted(stream, sent=sent, received=min(sent, stream.received_frames))


class Hasty(Each):
    """Sends in 97 % of the time."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, effective_duration_ns=stream.effective_duration_ns * 97 // 100)


class Timeless(Each):
    """Does not tell how long it sent."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, effective_duration_ns=0)


class Untimed(Each):
    """Has no times of frames."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, latency=LatencyHistogram())


class Differences(Each):
    """Keeps of a tagged frame how long it took, not when it was sent."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, tagged_at_ns=())


class Dying(Each):
    """Before it stands a device that forwards nothing at all above 900,000 frames/s."""

    def stream(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        wired = self._ports is not None and self._ports[0].device == "wire"
        return (
            stream
            if wired or spec.load_fps < 900_000
            else counted(stream, sent=stream.sent_frames, received=0)
        )


class Silent(Tester):
    """Says nothing of how it counts and times."""

    def describe(self):
        kept = super().describe()
        return {name: said for name, said in kept.items() if name not in ("counting", "latency_way")}


class Watched(Tester):
    """Watches a CPU, which was never away for long."""

    away_ns = 50_000

    def run(self, spec: TrialSpec, /) -> TrialResult:
        seen = HostDisturbance(largest_stall_ns=((1, self.away_ns),), steal_ns=((1, 0),))
        return replace(super().run(spec), disturbance=seen)


class Stalled(Watched):
    """Watches a CPU that was away for 20 ms in each trial."""

    away_ns = 20_000_000
