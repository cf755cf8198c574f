"""Whether the counts of a trial can all be true: what was intended, sent and received, tags and histograms.

Pure. Counts that contradict each other are a fault of the tester, whatever the DUT did.
"""

from __future__ import annotations

from bmwg.methodology.records import LARGEST_COUNT, Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial import destinations
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.pattern import Pattern


def contradiction(result: TrialResult) -> str:
    """Say how the counts of a trial contradict each other or its specification; empty where they do not."""
    if (pattern := result.spec.pattern) is not None:
        return _of_pattern(result, pattern)
    wanted = 2 if result.spec.direction is Direction.BOTH else 1
    if len(result.streams) != wanted:
        return f"{len(result.streams)} streams for direction {result.spec.direction}, expected {wanted}"
    for stream in result.streams:
        if stream.flooded_frames:
            return f"{stream.flooded_frames} frames flooded where no frame has a port to be at"
        if reason := _stream_contradiction(stream, result.spec, result.spec.intended_frames):
            return reason
    return ""


def _of_pattern(result: TrialResult, pattern: Pattern) -> str:
    """Hold each port's counts against the frames that its senders meant for it."""
    if len(result.streams) != pattern.ports:
        return f"{len(result.streams)} streams for a pattern of {pattern.ports} ports"
    each = [result.spec.intended_frames] * pattern.ports
    for port, stream in enumerate(result.streams):
        if reason := _stream_contradiction(stream, result.spec, pattern.meant_for(port, each)):
            return f"port {port}: {reason}"
    return ""


def _stream_contradiction(stream: StreamCounts, spec: TrialSpec, intended: int) -> str:
    for name in StreamCounts.__dataclass_fields__:
        value = getattr(stream, name)
        if isinstance(value, int) and not 0 <= value <= LARGEST_COUNT:
            return f"{name} is {value}"
    if abs(stream.intended_frames - intended) > 1:
        return f"{stream.intended_frames} frames intended where the load gives {intended}"
    if stream.sent_frames > stream.intended_frames:
        return f"sent {stream.sent_frames} of {stream.intended_frames} intended frames"
    if stream.received_frames > stream.sent_frames:
        return f"received {stream.received_frames} of {stream.sent_frames} sent frames"
    if stream.reordered_frames > stream.received_frames:
        return f"{stream.reordered_frames} of {stream.received_frames} received frames reordered"
    if len(stream.tagged_ns) != len(spec.tag_frames):
        return f"{len(stream.tagged_ns)} tagged frames where the trial has {len(spec.tag_frames)}"
    if stream.tagged_at_ns and len(stream.tagged_at_ns) != len(stream.tagged_ns):
        return f"{len(stream.tagged_at_ns)} times of sending of {len(stream.tagged_ns)} tagged frames"
    arrived = [value for value in stream.tagged_ns if value is not None]
    if len(arrived) > stream.received_frames or len(stream.tagged_ns) - len(arrived) > max(
        0, stream.intended_frames - stream.received_frames
    ):
        return f"{len(arrived)} of {len(stream.tagged_ns)} tagged frames, received {stream.received_frames}"
    return destinations.contradiction(stream, spec.destination_networks) or _histogram_contradiction(stream)


def _histogram_contradiction(stream: StreamCounts) -> str:
    """Hold a histogram against itself and the count of frames, in one pass: it is most of a trial's data."""
    latency = stream.latency
    if not latency.buckets:
        return ""
    frames = lowest_sum = highest_sum = 0
    highest = -1
    disorder = ""
    for low, high, count in latency.buckets:
        if not highest < low <= high or count < 1:
            disorder = disorder or f"histogram bucket {low}..{high} ns with {count} frames out of order"
        highest = high
        frames += count
        lowest_sum += low * count
        highest_sum += high * count
    if frames != stream.received_frames:
        return f"histogram of {frames} frames, received {stream.received_frames}"
    if disorder:
        return disorder
    if max(highest, latency.sum_ns) > LARGEST_COUNT:
        return "latency that no counter of 64 bits holds"
    if not lowest_sum <= latency.sum_ns <= highest_sum:
        return f"latency sum of {latency.sum_ns} ns outside what its histogram allows"
    return _end_contradiction(latency)


def _end_contradiction(latency: LatencyHistogram) -> str:
    """Hold least and largest latency against the first and last bucket: percentiles end at the largest."""
    first, last = latency.buckets[0], latency.buckets[-1]
    for word, found, (low, high, _) in (("least", latency.min_ns, first), ("largest", latency.max_ns, last)):
        if found is not None and not low <= found <= high:
            return f"{word} latency of {found} ns outside its bucket, {low} to {high} ns"
    return ""
