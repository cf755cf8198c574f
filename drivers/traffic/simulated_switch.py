"""The simulated DUT as a switch between two to eight ports: what comes to each, and what is flooded.

Each port forwards up to the knee, whatever goes to the others. Frames of illegal size are filtered. Its table
holds the addresses that were told last, as many as there is room for beside the one that asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.traffic.simulated_shapes import burst_times
from bmwg.methodology.records import StreamCounts, TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.pattern import Pattern
from bmwg.methodology.trial.trial_limits import MAX_LEGAL_OCTETS, MIN_FRAME_OCTETS

PATTERNS: Mapping[str, JsonValue] = {  # what it says of its trials between several ports
    "received_by": ["destination address", "signature"],
    "learning_frames": "one from each address",
    "mac_format": "the model has numbers, no addresses",
}


@dataclass(slots=True, kw_only=True)
class SimulatedSwitch:
    """`table_entries` is how many addresses it knows at most, `told` how many of one port it was told.

    Each frame takes `latency_ns`.
    """

    table_entries: int
    latency_ns: int
    told: int = 0

    def streams(self, spec: TrialSpec, *, limit_fps: int, knee_fps: float) -> tuple[StreamCounts, ...]:
        """Return each port's counts, of a trial whose senders send at most `limit_fps` each."""
        pattern = spec.pattern
        assert pattern is not None
        sent = min(spec.intended_frames, max(1, int(limit_fps * spec.total_s)))
        flooded = self._flooded(spec, pattern, sent)
        legal = MIN_FRAME_OCTETS <= spec.frame_octets <= MAX_LEGAL_OCTETS
        each = []
        for port in range(pattern.ports):
            of_all = [bool(to) for to in pattern.to]
            meant = pattern.meant_for(port, [sent * one for one in of_all])
            load_fps = pattern.loads_at(port) * min(spec.load_fps, limit_fps)
            passed = meant if load_fps <= knee_fps else int(meant * knee_fps / load_fps)
            received = passed if legal else 0
            each.append(
                StreamCounts(
                    intended_frames=pattern.meant_for(port, [spec.intended_frames * one for one in of_all]),
                    sent_frames=meant,
                    received_frames=received,
                    flooded_frames=0 if pattern.senders_to(port) or pattern.to[port] else flooded,
                    largest_burst_frames=1,
                    largest_gap_ns=20_000,
                    largest_lateness_ns=20_000,
                    effective_duration_ns=round(spec.due_s * 1e9) if meant else 0,
                    latency=self._latency(received),
                    bursts=burst_times(spec) if meant else None,
                )
            )
        return tuple(each)

    def _latency(self, frames: int) -> LatencyHistogram:
        if not frames:
            return LatencyHistogram()
        took = self.latency_ns
        return LatencyHistogram(
            buckets=((took, took, frames),), sum_ns=took * frames, min_ns=took, max_ns=took
        )

    def _flooded(self, spec: TrialSpec, pattern: Pattern, sent: int) -> int:
        """Take note of what a trial tells; return how many of its frames go to unknown addresses."""
        if not pattern.unprepared:
            return 0
        if pattern.destinations == 1:
            self.told = pattern.sources
            return 0
        known = min(self.told, self.table_entries - 1)
        rounds, more = divmod(sent, pattern.destinations)
        return rounds * max(0, pattern.destinations - known) + max(0, more - known)
