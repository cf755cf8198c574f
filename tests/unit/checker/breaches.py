"""Testers that do a step wrongly, and steps of the procedure that are wrong, one breach each."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from runs import Tester

from bmwg.drivers.traffic.simulated import SimulatedConfig
from bmwg.methodology.answers import throughput_search
from bmwg.methodology.benchmarks import frame_loss
from bmwg.methodology.records import FrameFormat, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.search import bisection
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.resources.run import open_run

GONE_NS = 600_000_000


class _Changes(Tester):
    """Changes what each direction counts."""

    @property
    def wired(self) -> bool:
        """Whether no device is between the ports."""
        return self._ports is not None and self._ports[0].device == "wire"

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return stream

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        streams = tuple(self.changed(spec, stream) for stream in result.streams)
        gap_ns = max(stream.largest_gap_ns for stream in streams)
        if gap_ns < GONE_NS:
            return replace(result, streams=streams)
        # That long only the tester's CPU is gone, and its watchdog says so.
        gone = CpuWatch(cpu=0, tester=True, absences=1, absent_ns=gap_ns, longest_ns=gap_ns)
        return replace(result, streams=streams, disturbance=HostDisturbance(watches=(gone,)))


class CountsAll(_Changes):
    """Takes keep-alives of the device for test frames."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        if self.wired:
            return stream
        received = stream.received_frames + 7
        return replace(stream, received_frames=received, latency=self._latency(received, 0.5))


class HearsOthers(_Changes):
    """Stands at a device that sends keep-alives, and counts these apart."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, foreign_frames=7)


class Hurries(_Changes):
    """Begins late and catches up: the load lasts 97 % of its time."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, effective_duration_ns=stream.effective_duration_ns * 97 // 100)


class SendsLess(_Changes):
    """Sends six of ten frames of each load; a profile may let it."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        sent = max(1, stream.sent_frames * 6 // 10)
        lost = stream.lost_frames * 6 // 10
        return replace(
            stream, sent_frames=sent, received_frames=sent - lost, latency=self._latency(sent - lost, 0.5)
        )


class InTurn(_Changes):
    """Sends to one network after the other, where each frame's was to be drawn."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        if not stream.sent_by_network:
            return stream
        networks = spec.destination_networks
        counts = [
            tuple(frames // networks + (number < frames % networks) for number in range(networks))
            for frames in (stream.sent_frames, stream.received_frames)
        ]
        return replace(stream, sent_by_network=counts[0], received_by_network=counts[1])


class LosesTags(_Changes):
    """Loses the tagged frame of each stream that has one, and no other."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        if not stream.tagged_ns:
            return stream
        received = stream.received_frames - len(stream.tagged_ns)
        return replace(
            stream,
            received_frames=received,
            latency=self._latency(received, 0.5),
            tagged_ns=(None,) * len(stream.tagged_ns),
        )


class Stalls(_Changes):
    """Stalls for 50 ms in each trial through a device."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        stalled = replace(stream, largest_gap_ns=GONE_NS, largest_lateness_ns=GONE_NS)
        return stream if self.wired else stalled


class OtherFormat(Tester):
    """Sends IPv6 where IPv4 was asked for, and says so."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        return replace(result, spec=replace(spec, frame_format=FrameFormat.IPV6_UDP))


class HalfLatencyLoad(Tester):
    """Sends half of the load in each long stream."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        if spec.duration_s >= 120:
            spec = replace(spec, load_fps=spec.load_fps // 2)
        return super().run(spec)


class Impatient(Tester):
    """Reads its counts after nine tenths of the time that it was to go on receiving."""

    def __init__(self, config: SimulatedConfig | None = None, drain_s: float = 0.0) -> None:
        super().__init__(config, 0.9 * drain_s)


class Repeats(Tester):
    """Sends the same state of a routing update in each trial first."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        self.updates = 0
        return super().run(spec)


class NoUpdates(Tester):
    """Sends no routing update."""

    def _updates(self, spec: TrialSpec) -> tuple[tuple[str, int], ...]:
        names = ("updates_1_frames", "updates_2_frames")
        zero = tuple((f"modifier.{name}", 0) for name in names)
        return (("modifier.first_state", 1), *zero) if spec.modifier else ()


class FewRoutes(Tester):
    """Stands at a device that takes ten networks of an update."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        taken = tuple(
            (name, 10 if name == "modifier.learnt_routes" else count) for name, count in result.auxiliary
        )
        return replace(result, auxiliary=taken)


class EndsInLatency(Tester):
    """Is lost in a long stream, so that the device is deployed anew for what follows."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        return replace(result, fault="the tester ended") if spec.duration_s >= 120 else result


def climbs_after_loss() -> AbstractContextManager[object]:
    """Break the search: after a lossy trial it tries a higher load."""
    real = bisection.search

    def search(measure: Any, goal: Any) -> Any:
        for share in (0.8, 0.9):
            measure(goal.spec(int(share * goal.max_load_fps)))
        return real(measure, goal)

    return patch.object(throughput_search.bisection, "search", search)


def skips_loads() -> AbstractContextManager[object]:
    """Break the ladder: it leaves each second load out."""
    real = frame_loss.LossGoal.loads
    return patch.object(frame_loss.LossGoal, "loads", lambda goal: real(goal)[::2])


def records_nothing() -> AbstractContextManager[object]:
    """Break the record of the platform: it comes out empty."""
    return patch.object(open_run, "machine_record", lambda *_: {})


class StallsInBursts(_Changes):
    """Stalls in each burst."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, largest_gap_ns=GONE_NS) if spec.burst else stream


class StallsInRecovery(_Changes):
    """Stalls in each trial that asks for the times of losses, and in no other."""

    def changed(self, spec: TrialSpec, stream: StreamCounts) -> StreamCounts:
        return replace(stream, largest_gap_ns=GONE_NS) if spec.loss_times else stream


class TwoAtOnce(Tester):
    """Sends broadcast frames beside every other modifier as well."""

    def run(self, spec: TrialSpec, /) -> TrialResult:
        return super().run(spec if spec.modifier is None else replace(spec, broadcast_every=99))


class ForgetsRoutes(Tester):
    """Its router has learnt nothing at the end of every other trial."""

    taken = 0

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        self.taken += 1
        if self.taken % 2:
            return result
        kept = [one for one in result.auxiliary if one[0] != "modifier.learnt_routes"]
        return replace(result, auxiliary=tuple(kept))


def one_port(data: dict[str, Any]) -> None:
    """Let the testbed name one port alone."""
    data["testbed"]["tester"]["ports"] = ["tester/p0"]
