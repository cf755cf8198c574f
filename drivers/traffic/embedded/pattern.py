"""Trials between more ports than two: the order, what is learned before one, and what each port counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, TesterPort
from bmwg.drivers.traffic.embedded.protocol import nonsense, read_stream, whole
from bmwg.drivers.traffic.of_frames import BY_FRAMES
from bmwg.methodology.records import StreamCounts, TrialSpec
from bmwg.methodology.trial.pattern import FIRST_SENT, Pattern, between

_OF_PORT = ("stale_frames", "beyond_window_frames", "backpressure_bursts")


def order_of(spec: TrialSpec, attached: int, seed: int, mac_step: int) -> dict[str, Any] | None:
    """Return the part of an order that says who sends to whom; further attached ports listen.

    By `seed` the rhythms of several senders move against each other (src/phase.h); numbered addresses of a
    port are `mac_step` apart.
    """
    pattern = spec.pattern
    if pattern is None:
        return None
    silent: list[list[int]] = [[]] * (attached - pattern.ports)
    return {
        "receivers": [*(list(receivers) for receivers in pattern.to), *silent],
        "broadcast": pattern.broadcast,
        "sources": pattern.sources,
        "destinations": pattern.destinations,
        "seed": seed,
        "mac_step": mac_step,
    }


def described(mac_step: int) -> dict[str, JsonValue]:
    """Return what the tester says of its loads, and of its trials between several ports."""
    patterns: dict[str, JsonValue] = {
        "received_by": ["destination address", "signature"],  # at another port the frame is flooded
        "learning_frames": "ten of each port, and one from each of its addresses where it has more",
        "mac_format": f"02:b6, the port, 24 bits that are the address's number times {mac_step}",
    }
    return {**BY_FRAMES, "patterns": patterns}


def learning(pattern: Pattern) -> Pattern:
    """Return the pattern by which a switch learns every address that frames of another one go to."""
    taking_part = {*pattern.senders, *pattern.receivers}
    to = between(taking_part, taking_part, ports=pattern.ports)
    return Pattern(to=to, sources=pattern.destinations)


def read_ports(
    pattern: Pattern,
    ports: Sequence[TesterPort],
    found: Mapping[str, Any],
    interfaces: Sequence[Mapping[str, int]],
    no_room: Sequence[int],
    *,
    largest_gap_ns: int,
) -> tuple[tuple[StreamCounts, ...], dict[str, int]]:
    """Return what came to each port, and counts by the ports' names.

    `interfaces` is what the kernel counted meanwhile, `no_room` what a device dropped that had no place for
    it. A frame that stands in the tester's own queue was not sent: it is one that nobody received.
    """
    told: dict[str, int] = {}
    sent = [0] * pattern.ports  # for each port, by all that send to it
    if len(found["senders"]) < pattern.ports or len(found["ports"]) != len(found["senders"]):
        raise nonsense("ports of a pattern", len(found["ports"]))
    for number, (port, sender) in enumerate(zip(ports, found["senders"], strict=True)):
        frames = whole(sender, "sent_frames")
        received = [whole({"frames": count}, "frames") for count in sender["received_frames"]]
        arrived = max(received, default=0) if pattern.broadcast else sum(received)
        counted = interfaces[number]
        held = 0
        if "tx_packets" in counted:
            seen = counted["tx_packets"] + counted.get("tx_dropped", 0)
            held = min(max(0, frames - seen), frames - arrived)
        if number < pattern.ports:
            for to, left in _left_for(pattern, number, frames, held, received):
                sent[to] += left
        told[f"{port.name}.sent_frames"] = frames - held
        if frames:
            told[f"{port.name}{FIRST_SENT}"] = whole(sender, "first_sent_ns")
        told[f"{port.name}.held_frames"] = held
        told[f"{port.name}.returned_frames"] = whole(sender, "returned_frames")
    streams = []
    for number, (port, entry) in enumerate(zip(ports, found["ports"], strict=True)):
        for key in _OF_PORT:
            told[f"{port.name}.{key}"] = whole(entry, key)
        if number >= pattern.ports:
            continue
        stream = read_stream(entry, largest_gap_ns=largest_gap_ns if pattern.senders_to(number) else 0)
        stream = replace(stream, sent_frames=sent[number])
        refused = sum(interfaces[one].get("queue_tx_refused", 0) for one in pattern.senders_to(number))
        dropped = interfaces[number].get("queue_rx_dropped", 0) + min(no_room[number], stream.lost_frames)
        streams.append(
            replace(
                stream,
                flooded_frames=whole(entry, "flooded_frames"),
                tester_dropped_frames=refused + dropped,
            )
        )
    return tuple(streams), told


def _left_for(
    pattern: Pattern, sender: int, frames: int, held: int, received: Sequence[int]
) -> list[tuple[int, int]]:
    """Return how many frames left a port for each of its receivers, of `frames` of which `held` did not.

    Which ones are held is not known but that none of them was received; the last ones are taken first.
    """
    receivers = pattern.to[sender]
    if pattern.broadcast:
        return [(to, frames - held) for to in receivers]
    left = [(frames + len(receivers) - 1 - turn) // len(receivers) for turn in range(len(receivers))]
    for back in range(len(receivers)):
        turn = (frames - 1 - back) % len(receivers)
        taken = min(held, left[turn] - received[turn])
        left[turn] -= taken
        held -= taken
    return list(zip(receivers, left, strict=True))
