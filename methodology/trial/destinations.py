"""How evenly the frames of trials went to their destination networks (RFC 2544 section 12). Pure.

A tester draws one network for each frame and counts what it sent to each. Chance spreads so many frames over
so many networks within known limits: outside of them, on either side, they were not drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bmwg.methodology.records import StreamCounts

SEED = "tester.destination_seed"  # auxiliary count: the number by which a trial's destinations were drawn
FEWEST_FRAMES = 5  # a network, on average: below it the statistic is no longer that of its table
MOST_DEVIATIONS = 5.0  # choice: beyond it chance goes once in two million runs


def contradiction(stream: StreamCounts, networks: int) -> str:
    """Say what of the counts by network cannot be; empty where all agree."""
    if networks == 1:
        return "counts by network of a trial with one network" if stream.sent_by_network else ""
    sent, received = stream.sent_by_network, stream.received_by_network
    if len(sent) != networks or len(received) != networks:
        return f"counts of {len(sent)} and {len(received)} networks where the trial has {networks}"
    if min((*sent, *received)) < 0:
        return f"{min((*sent, *received))} frames to a network"
    # frames that the device took and the interface never saw are within these, and not within `sent_frames`
    if not stream.sent_frames <= sum(sent) <= stream.intended_frames:
        return f"{sum(sent)} frames sent to networks, {stream.sent_frames} in all"
    if sum(received) != stream.received_frames:
        return f"{sum(received)} frames received of networks, {stream.received_frames} in all"
    if any(came > left for left, came in zip(sent, received, strict=True)):
        return "more frames received of a network than were sent to it"
    return ""


def total(streams: Iterable[StreamCounts]) -> tuple[int, ...]:
    """Return the frames sent to each network, over streams that spread theirs over equally many."""
    counted = [stream.sent_by_network for stream in streams if stream.sent_by_network]
    return tuple(map(sum, zip(*counted, strict=True)))


def deviations(frames: Sequence[int]) -> float:
    """Return how far counts are from an even draw, in standard deviations of chi-square (Wilson-Hilferty).

    Positive: less even than chance; negative: more even than chance, as of networks in turn. ValueError
    below `FEWEST_FRAMES` a network.
    """
    if len(frames) < 2 or sum(frames) < FEWEST_FRAMES * len(frames):
        raise ValueError(f"frames: expected {FEWEST_FRAMES} a network, found {sum(frames)} in all")
    mean, freedom = sum(frames) / len(frames), len(frames) - 1
    square = sum((count - mean) ** 2 for count in frames) / mean
    spread = 2 / (9 * freedom)
    return float(((square / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5)
