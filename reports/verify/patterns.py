"""What ports of a pattern counted, held against their interfaces and against what each of them sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bmwg.methodology.records import TrialResult
from bmwg.methodology.trial.pattern import Pattern
from bmwg.reports.checker.findings import Shortfall


def counted_less(
    pattern: Pattern,
    names: Sequence[str],
    counters: Mapping[str, int],
    result: TrialResult,
    *,
    counting: bool,
) -> Iterator[Shortfall]:
    """Give each count of the tester that its ports' interfaces, or what its senders sent, do not allow.

    `names` are the ports in the testbed file's order. With `counting` every interface must have counted.
    """
    told = [name for name in names if f"{name}.sent_frames" in counters]
    if len(told) < pattern.ports:
        if counting:
            yield "streams", f"what each of {pattern.ports} ports sent", f"{len(told)} ports"
        return
    frames = [counters[f"{name}.sent_frames"] for name in told]
    held = [counters.get(f"{name}.held_frames", 0) for name in told]
    whole = [left + kept for left, kept in zip(frames, held, strict=True)]
    for number, (name, stream) in enumerate(zip(told, result.streams, strict=False)):
        meant = pattern.meant_for(number, whole)
        least = meant - sum(held[sender] for sender in pattern.senders_to(number))
        if not least <= stream.sent_frames <= meant:
            yield f"{name}: sent_frames", f"{least} to {meant}, as its senders sent", str(stream.sent_frames)
        if f"{name}.tx_packets" not in counters:
            if counting:
                yield name, "what its interface counted", "no counters"
            continue
        left = counters[f"{name}.tx_packets"] + counters.get(f"{name}.tx_dropped", 0)
        if frames[number] > left:
            yield f"{name}.tx_packets", f"at least {frames[number]} frames, as were sent", str(left)
        taken = stream.received_frames + stream.duplicate_frames + stream.flooded_frames
        came = counters.get(f"{name}.rx_packets", 0)
        if taken > came:
            yield f"{name}.rx_packets", f"at least {taken} frames, as were received", str(came)
