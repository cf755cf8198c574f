"""What the embedded tester answered after a trial, as a record; and what the host did meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded import lanes, pattern
from bmwg.drivers.traffic.embedded.ports import PCI, SOCKET_KINDS, XDP
from bmwg.drivers.traffic.embedded.protocol import nonsense, read_stream, whole
from bmwg.drivers.traffic.renamed import renamed
from bmwg.methodology.records import RESIDUAL_WAIT, Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.trial_limits import MIN_FRAME_OCTETS

_XDP_WRAP_NS = 2**32 * 4  # stamps of 32 bits in units of 4 ns, or of 8 cycles (src/signature.h)
_LOOP_WRAP_CYCLES = 2**32 * 8

SAMPLE_RATE = "host.perf_event_max_sample_rate_hz"  # the watchdogs' clock is throttled above it
_SAMPLE_RATE_FILE = Path("/proc/sys/kernel/perf_event_max_sample_rate")


def plain(spec: TrialSpec) -> TrialSpec:
    """The same frames at one constant load, with nothing beside them; of a pattern those that teach it.

    None is undersized: a switch that filters such frames would learn nothing.
    """
    return TrialSpec(
        frame_octets=max(spec.frame_octets, MIN_FRAME_OCTETS),
        load_fps=spec.load_fps,
        duration_s=spec.duration_s,
        direction=spec.direction,
        frame_format=spec.frame_format,
        flows=spec.flows,
        vlan_id=spec.vlan_id,
        destination_networks=spec.destination_networks,
        pattern=pattern.learning(spec.pattern) if spec.pattern else None,
    )


_BROADCAST = (  # counts of the modifier, by direction
    "broadcast_sent_frames",
    "broadcast_received_frames",
    "broadcast_least_between_frames",
    "broadcast_most_between_frames",
)


def faulty(spec: TrialSpec, reason: str, wall_time_ns: int) -> TrialResult:
    """A trial in which the tester died or hung: its fault, and no counts."""
    directions = spec.pattern.ports if spec.pattern else 2 if spec.direction is Direction.BOTH else 1
    empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
    return TrialResult(spec=spec, streams=(empty,) * directions, wall_time_ns=wall_time_ns, fault=reason)


def beyond_stamps(result: TrialResult, ports: tuple[TesterPort, ...], tsc_hz: float) -> str | None:
    """Say that a stamp may have wrapped, so that delays are told shorter than they were.

    The longest delay of a device that lets frames out in turn falls by the time between two of them, and no
    frame is waited for as long as a stamp lasts. So one that wrapped has neighbours just below the wrap, and
    a longest delay below half of it has none.
    """
    kernel = all(port.io == XDP for port in ports)
    wrap_ns = _XDP_WRAP_NS if kernel else round(_LOOP_WRAP_CYCLES * 1e9 / tsc_hz)
    longest_ns = max((stream.latency.max_ns or 0 for stream in result.streams if stream.latency), default=0)
    if 2 * longest_ns < wrap_ns:
        return None
    return (
        f"a frame took {longest_ns / 1e9:.3g} s; this tester's time stamps begin anew after"
        f" {wrap_ns / 1e9:.3g} s, so delays above half of that are not told from short ones"
    )


def with_count(result: TrialResult, name: str, count: int) -> TrialResult:
    """Return a trial with one auxiliary count more."""
    return replace(result, auxiliary=tuple(sorted((*result.auxiliary, (name, count)))))


def read_result(
    spec: TrialSpec,
    ports: tuple[TesterPort, ...],
    reply: Any,
    steal_before_ns: Mapping[int, int],
) -> TrialResult:
    """The tester's counts as a record.

    DriverError TST-14 when they contradict each other, or are not what the protocol knows.
    """
    try:
        return _result(spec, ports, reply, steal_before_ns)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise nonsense(f"a trial's reply ({type(error).__name__}: {str(error)[:80]})", reply) from error


def _result(
    spec: TrialSpec,
    ports: tuple[TesterPort, ...],
    reply: Mapping[str, Any],
    steal_before_ns: Mapping[int, int],
) -> TrialResult:
    if spec.pattern is None:
        return _between_two(spec, ports[:2], reply, steal_before_ns)
    counted = _counters(reply)
    streams, told = pattern.read_ports(
        spec.pattern,
        ports,
        reply["pattern"],
        _kernels(ports, counted),
        _no_room(ports, counted),
        largest_gap_ns=whole(reply, "largest_gap_ns"),
    )
    for port, counters in zip(ports, counted, strict=True):
        told |= {f"{port.name}.{key}": value for key, value in counters.items()}
    return _whole_trial(spec, ports, reply, streams, told, steal_before_ns)


def _counters(reply: Mapping[str, Any]) -> list[dict[str, int]]:
    """Return what the interface of each port counted during the trial."""
    pairs = zip(reply["port_counters_before"], reply["port_counters"], strict=True)
    return [_counted(before, after) for before, after in pairs]


def _kernels(ports: Sequence[TesterPort], counted: Sequence[dict[str, int]]) -> list[dict[str, int]]:
    """Return what may take from what was sent: a device counts at moments of its own, and only tells."""
    return [{} if port.io == PCI else one for port, one in zip(ports, counted, strict=True)]


def _no_room(ports: Sequence[TesterPort], counted: Sequence[dict[str, int]]) -> list[int]:
    """Return what reached a device that had no room for it: the kernel counts other things by that name."""
    return [
        one.get("rx_dropped", 0) if port.io in (*SOCKET_KINDS, PCI) else 0
        for port, one in zip(ports, counted, strict=True)
    ]


def _between_two(
    spec: TrialSpec,
    ports: tuple[TesterPort, ...],
    reply: Mapping[str, Any],
    steal_before_ns: Mapping[int, int],
) -> TrialResult:
    gap_ns = whole(reply, "largest_gap_ns")
    streams = []
    auxiliary: dict[str, int] = {}
    beside_frames: dict[int, int] = {}  # by port: sent, and no frames of a stream
    for extra in reply["extras"]:
        beside_frames[extra["port"]] = beside_frames.get(extra["port"], 0) + whole(extra, "sent_frames")
        for key in ("sent_frames", "answered_frames", "verified_frames"):
            auxiliary[f"modifier.{key}"] = auxiliary.get(f"modifier.{key}", 0) + whole(extra, key)
        for key in ("first_after_frames", "least_between_ns", "most_between_ns"):
            auxiliary[f"modifier.{key}"] = whole(extra, key)
    if reply["extras"]:
        wrong = auxiliary["modifier.answered_frames"] - auxiliary["modifier.verified_frames"]
        auxiliary["modifier.wrong_frames"] = wrong
    counted = _counters(reply)[: len(ports)]  # of the two; more may be attached
    kernels, no_room = _kernels(ports, counted), _no_room(ports, counted)
    ends = zip(("forward", "reverse"), reply["streams"], kernels, reversed(kernels), strict=True)
    for number, (name, entry, sender, receiver) in enumerate(ends):
        if entry is None:
            continue
        stream = read_stream(entry, largest_gap_ns=gap_ns)
        held = _held_frames(
            stream, sender, whole(entry, "broadcast_sent_frames") + beside_frames.get(number, 0)
        )
        if ports[number].io == XDP and held < stream.sent_frames:
            auxiliary[f"{name}.queued_frames"] = held  # in the ring of the DUT's interface, which has them
            held = 0
        auxiliary[f"{name}.held_frames"] = held
        mine = max(0, min(no_room[1 - number], stream.lost_frames - held))  # others were not of this one
        by_queues = receiver.get("queue_rx_dropped", 0) + sender.get("queue_tx_refused", 0)
        if spec.broadcast_every is not None:
            for key in _BROADCAST:
                auxiliary[f"{name}.{key}"] = whole(entry, key)
        streams.append(
            replace(
                stream,
                sent_frames=stream.sent_frames - held,
                tester_dropped_frames=by_queues + mine,
            )
        )
        for key in ("stale_frames", "beyond_window_frames", "backpressure_bursts"):
            auxiliary[f"{name}.{key}"] = whole(entry, key)
    for port, counters, unassigned in zip(ports, counted, reply["unassigned_frames"], strict=True):
        auxiliary[f"{port.name}.unassigned_frames"] = whole(
            {"unassigned_frames": unassigned}, "unassigned_frames"
        )
        auxiliary |= {f"{port.name}.{key}": value for key, value in counters.items()}
    return _whole_trial(spec, ports, reply, tuple(streams), auxiliary, steal_before_ns)


def _whole_trial(
    spec: TrialSpec,
    ports: tuple[TesterPort, ...],
    reply: Mapping[str, Any],
    streams: tuple[StreamCounts, ...],
    auxiliary: dict[str, int],
    steal_before_ns: Mapping[int, int],
) -> TrialResult:
    """Return the record, with what trials of all kinds tell."""
    for number, port in enumerate(ports):
        if port.io == PCI and (link_mbps := int(reply["link_mbps"][number])):
            auxiliary[f"{port.name}.link_mbps"] = link_mbps
    if spec.loss_times:
        auxiliary["started_ns"] = whole(reply, "started_ns")  # of the machine's monotonic clock
    auxiliary |= lanes.told(reply)
    for key in ("gaps_over_1ms", "loop_passes", "no_buffer_events"):
        auxiliary[key] = whole(reply, key)
    auxiliary[RESIDUAL_WAIT] = whole(reply, "residual_wait_ns")
    auxiliary["tester_real_time"] = int(reply["real_time"] is True)
    watches = tuple(_watch(dog) for dog in reply["watchdogs"])
    concerned = {watch.cpu for watch in watches}
    steal_ns = {
        cpu: ns - steal_before_ns.get(cpu, ns)
        for cpu, ns in sorted(read_steal_ns().items())
        if cpu in concerned
    }
    if (sample_rate := read_sample_rate()) is not None:
        auxiliary[SAMPLE_RATE] = sample_rate
    return TrialResult(
        spec=spec,
        streams=streams,
        wall_time_ns=whole(reply, "wall_time_ns"),
        disturbance=HostDisturbance(
            steal_ns=tuple(steal_ns.items()),
            largest_stall_ns=tuple((watch.cpu, watch.longest_ns) for watch in watches if not watch.tester),
            watches=watches,
        ),
        fault="the trial was interrupted" if reply["aborted"] else renamed(streams),
        auxiliary=tuple(sorted(auxiliary.items())),
    )


def _watch(dog: Mapping[str, Any]) -> CpuWatch:
    ends = [whole({"ns": ns}, "ns") for ns in dog["intervals"]]
    return CpuWatch(
        cpu=whole(dog, "cpu"),
        tester=dog["busy"] is True,
        absences=whole(dog, "absences"),
        absent_ns=whole(dog, "absent_ns"),
        longest_ns=whole(dog, "largest_stall_ns"),
        intervals=tuple(zip(ends[::2], ends[1::2], strict=True)),
        throttled=whole(dog, "throttled"),
        lost=whole(dog, "lost"),
    )


def _counted(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, int]:
    """What an interface counted during the trial; empty for a device that is no interface."""
    if before is None or after is None:
        return {}
    return {key: whole(after, key) - whole(before, key) for key in after}


def _held_frames(stream: StreamCounts, counted: Mapping[str, int], beside_frames: int) -> int:
    """Frames that the device took and the interface never saw: they were not sent, and nobody lost them."""
    if "tx_packets" not in counted:
        return 0
    seen = counted["tx_packets"] + counted.get("tx_dropped", 0) - beside_frames
    return min(max(0, stream.sent_frames - seen), stream.sent_frames - stream.received_frames)


def read_sample_rate() -> int | None:
    """How many samples a second the kernel allows its clocks, None where it does not say."""
    try:
        return int(_SAMPLE_RATE_FILE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def read_steal_ns() -> dict[int, int]:
    """Time that the hypervisor took from each CPU since boot, in ns (/proc/stat, 10 ms grain)."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    steal: dict[int, int] = {}
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu" and len(words) > 8:
            steal[int(words[0][3:])] = int(words[8]) * tick_ns
    return steal
