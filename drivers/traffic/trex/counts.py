"""From the structures that TRex's client returns to our counts; what cannot be a count is said by name.

A number that is missing, NaN, negative or no whole number is a contradiction, as is a counter that goes
back: the trial then carries a `fault` and is never part of a bound. TRex gives latencies in microseconds
(its documents say so); ours are nanoseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from bmwg.drivers.traffic.trex import hdr
from bmwg.methodology.trial.frame_times import LatencyHistogram

_US_NS = 1000


class ContradictionError(Exception):
    """A returned structure cannot be what a trial counts; its text says which value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortCounters:
    """What TRex counts on one of its ports since its counters were cleared, frames."""

    sent: int
    received: int
    send_errors: int
    receive_errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounters:
    """What TRex counts of one stream: frames sent and received, and what its sequence numbers say."""

    sent: int
    received: int
    duplicates: int
    out_of_order: int
    sequence_too_high: int
    sequence_too_low: int
    latency: LatencyHistogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All counters at one moment."""

    ports: tuple[PortCounters, PortCounters]
    groups: tuple[GroupCounters, ...]
    queue_full: int
    stray_frames: int

    @property
    def still(self) -> tuple[int, ...]:
        """The counts that must stand still on both sides before they are believed."""
        return tuple(number for port in self.ports for number in (port.sent, port.received)) + tuple(
            number for group in self.groups for number in (group.sent, group.received)
        )


def whole(tree: Mapping[str, Any], *path: object) -> int:
    """The count under a path of keys; ContradictionError when there is none."""
    value: Any = tree
    for key in path:
        if not isinstance(value, Mapping) or str(key) not in value:
            raise ContradictionError(f"TRex gave no {' / '.join(map(str, path))}")
        value = value[str(key)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ContradictionError(f"{' / '.join(map(str, path))} is {value!r:.80}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ContradictionError(f"{' / '.join(map(str, path))} is {value!r:.80}")
    if value < 0 or value != int(value):
        raise ContradictionError(f"{' / '.join(map(str, path))} is {value!r:.80}, no count")
    return int(value)


def read(stats: Any, ports: tuple[int, int], groups: tuple[tuple[int, int, int], ...]) -> Reading:
    """One reading of `get_stats`. `groups` are (id, sending port, receiving port) of the streams."""
    if not isinstance(stats, Mapping):
        raise ContradictionError(f"TRex's statistics are {type(stats).__name__}, no table")
    stray = 0
    latency = stats.get("latency")
    if isinstance(latency, Mapping) and "global" in latency:
        stray = whole(stats, "latency", "global", "old_flow") + whole(stats, "latency", "global", "bad_hdr")
    first, second = (
        PortCounters(
            sent=whole(stats, port, "opackets"),
            received=whole(stats, port, "ipackets"),
            send_errors=whole(stats, port, "oerrors"),
            receive_errors=whole(stats, port, "ierrors"),
        )
        for port in ports
    )
    return Reading(
        ports=(first, second),
        groups=tuple(_group(stats, *group) for group in groups),
        queue_full=whole(stats, "global", "queue_full"),
        stray_frames=stray,
    )


def _group(stats: Mapping[str, Any], group: int, sender: int, receiver: int) -> GroupCounters:
    received = whole(stats, "flow_stats", group, "rx_pkts", receiver)
    errors = ("latency", group, "err_cntrs")
    duplicates = whole(stats, *errors, "dup")  # so there is such a group
    latency = stats["latency"][str(group)].get("latency", {})
    if not isinstance(latency, Mapping):
        raise ContradictionError(f"latency of group {group} is {latency!r}")
    return GroupCounters(
        sent=whole(stats, "flow_stats", group, "tx_pkts", sender),
        received=received,
        duplicates=duplicates,
        out_of_order=whole(stats, *errors, "out_of_order"),
        sequence_too_high=whole(stats, *errors, "seq_too_high"),
        sequence_too_low=whole(stats, *errors, "seq_too_low"),
        latency=histogram(latency, received),
    )


def histogram(latency: Mapping[str, Any], received: int) -> LatencyHistogram:
    """TRex's latencies in nanoseconds, in whole microseconds where the server gives them (see hdr.py).

    Empty unless every received frame is in it. TRex gives no sum, so `sum_ns` is that of the buckets'
    middles; the driver's description says so. Its `total_max` is not used: it leaves out a stream's first
    frames, and those of the running half second.
    """
    fine = _fine(latency.get("hdrh"))
    buckets = fine if sum(frames for _, _, frames in fine) == received else _coarse(latency)
    if not buckets or sum(frames for _, _, frames in buckets) != received:
        return LatencyHistogram()
    return LatencyHistogram(
        buckets=tuple(buckets),
        sum_ns=sum((low + high) // 2 * frames for low, high, frames in buckets),
        max_ns=buckets[-1][1],
    )


def merged(groups: Sequence[GroupCounters]) -> GroupCounters:
    """The streams of one direction as one: sizes of a mix are streams of their own."""
    if len(groups) == 1:
        return groups[0]
    frames: Counter[tuple[int, int]] = Counter()
    for group in groups:
        for low, high, count in group.latency.buckets:
            frames[low, high] += count
    buckets = tuple((low, high, frames[low, high]) for low, high in sorted(frames))
    apart = all(before[1] < after[0] for before, after in pairwise(buckets))
    latency = LatencyHistogram()
    if buckets and apart and all(group.latency.frames == group.received for group in groups):
        sum_ns = sum(group.latency.sum_ns for group in groups)
        latency = LatencyHistogram(buckets=buckets, sum_ns=sum_ns, max_ns=buckets[-1][1])
    counts = {
        field.name: sum(getattr(group, field.name) for group in groups)
        for field in fields(GroupCounters)
        if field.name != "latency"
    }
    return GroupCounters(latency=latency, **counts)


def _fine(text: Any) -> list[tuple[int, int, int]]:
    if text is None:
        return []
    try:
        found = hdr.decode(str(text))
    except hdr.FormError as error:
        raise ContradictionError(f"TRex's fine latency histogram: {error}") from error
    return [(low * _US_NS, high * _US_NS + _US_NS - 1, frames) for low, high, frames in found]


def _coarse(latency: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """TRex's own table: a key of `100` are 100 to 200 us, of `0` less than 10 us."""
    table = latency.get("histogram") or {}
    if not isinstance(table, Mapping):
        raise ContradictionError(f"latency histogram is {table!r}")
    if not all(isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 10 for key in table):
        raise ContradictionError(f"latency histogram with the bounds {list(table)[:8]!r}")
    buckets = []
    for low_us, frames in sorted((int(key), whole(table, key)) for key in table):
        if frames:
            width_us = 10 ** max(1, len(str(low_us)) - 1) if low_us else 10
            buckets.append((low_us * _US_NS, (low_us + width_us) * _US_NS - 1, frames))
    return buckets


def backwards(before: Reading, after: Reading) -> str:
    """Which counter went back between two readings; empty when none did."""
    for earlier, later in zip(before.still, after.still, strict=True):
        if later < earlier:
            return f"a counter of TRex went back from {earlier} to {later}"
    return ""
