"""Trials of frames to JSON and back: nothing else knows the names that stand in their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from bmwg.methodology.kinds.kind import Body
from bmwg.methodology.records import (
    FRAMES,
    Cell,
    Direction,
    FrameFormat,
    StreamCounts,
    TrialResult,
    TrialSpec,
)
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossRun, LossTimes
from bmwg.methodology.trial.pattern import Pattern
from bmwg.methodology.trial.repeated_bursts import BurstTimes

Json = dict[str, Any]

_LATER_SPEC = (
    "burst",
    "then_load_fps",
    "then_duration_s",
    "loss_times",
    "broadcast_every",
    "modifier",
    "act",
    "act_at_s",
    "tag_after_s",
    "tags",
    "burst_frames",
    "burst_fps",
)


def spec_to_json(spec: TrialSpec) -> Json:
    """Write a trial as intended; what came within trial/1.0 only where it is asked for."""
    later = {name: getattr(spec, name) for name in _LATER_SPEC}
    return {
        "frame_octets": spec.frame_octets,
        "load_fps": spec.load_fps,
        "duration_s": spec.duration_s,
        "direction": spec.direction.value,
        "frame_format": spec.frame_format.value,
        "flows": spec.flows,
        "vlan_id": spec.vlan_id,
        **{name: value for name, value in later.items() if value is not None and value is not False},
        **({"mix_octets": list(spec.mix_octets)} if spec.mix_octets else {}),
        **_networks_to_json(spec.destination_networks),
        **({"pattern": _pattern_to_json(spec.pattern)} if spec.pattern else {}),
        **({"added_tags": spec.added_tags} if spec.added_tags else {}),
    }


def _pattern_to_json(pattern: Pattern) -> Json:
    return {
        "to": [list(receivers) for receivers in pattern.to],
        "sources": pattern.sources,
        "destinations": pattern.destinations,
        "broadcast": pattern.broadcast,
        **({"unprepared": True} if pattern.unprepared else {}),
    }


def _pattern_from_json(data: Mapping[str, Any]) -> Pattern:
    return Pattern(**{**data, "to": tuple(tuple(receivers) for receivers in data["to"])})


def spec_from_json(data: Mapping[str, Any]) -> TrialSpec:
    """Read a trial as intended."""
    return TrialSpec(
        frame_octets=data["frame_octets"],
        load_fps=data["load_fps"],
        duration_s=data["duration_s"],
        direction=Direction(data["direction"]),
        frame_format=FrameFormat(data["frame_format"]),
        flows=data["flows"],
        vlan_id=data["vlan_id"],
        **{name: data[name] for name in _LATER_SPEC if name in data},
        mix_octets=tuple(data.get("mix_octets", ())),
        destination_networks=data.get("destination_networks", 1),
        pattern=_pattern_from_json(data["pattern"]) if "pattern" in data else None,
        added_tags=data.get("added_tags", 0),
    )


_STREAM_COUNTS = (
    "intended_frames",
    "sent_frames",
    "received_frames",
    "duplicate_frames",
    "reordered_frames",
    "corrupt_frames",
    "foreign_frames",
    "tester_dropped_frames",
    "largest_burst_frames",
    "largest_gap_ns",
    "largest_lateness_ns",
    "effective_duration_ns",
)


_LATER = ("tester_dropped_frames",)  # came within trial/1.0; a line without it counted none


def _flat(groups: Iterable[Sequence[int]]) -> list[int]:
    return list(chain.from_iterable(groups))


def _pairs(flat: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _stream_to_json(stream: StreamCounts) -> Json:
    data: Json = {name: getattr(stream, name) for name in _STREAM_COUNTS}
    latency = stream.latency
    data["latency"] = {
        "buckets": _flat(latency.buckets),
        "sum_ns": latency.sum_ns,
        "min_ns": latency.min_ns,
        "max_ns": latency.max_ns,
    }
    if stream.flooded_frames:
        data["flooded_frames"] = stream.flooded_frames
    if stream.losses is not None:
        data["losses"] = _losses_to_json(stream.losses)
    if stream.tagged_ns:
        data["tagged_ns"] = list(stream.tagged_ns)
    if stream.tagged_at_ns:
        data["tagged_at_ns"] = list(stream.tagged_at_ns)
    if stream.sent_by_network:
        data["sent_by_network"] = list(stream.sent_by_network)
        data["received_by_network"] = list(stream.received_by_network)
    if stream.bursts is not None:
        data["bursts"] = asdict(stream.bursts)
    return data


def _losses_to_json(losses: LossTimes) -> Json:
    return {
        "runs": losses.runs,
        "first_received_frames": losses.first_received_frames,
        "longest": [[run.first_frame, run.frames, run.before_ns, run.after_ns] for run in losses.longest],
        "reduced_at_ns": losses.reduced_at_ns,
        "last_lost_ns": losses.last_lost_ns,
    }


def _losses_from_json(data: Mapping[str, Any]) -> LossTimes:
    return LossTimes(
        runs=data["runs"],
        first_received_frames=data["first_received_frames"],
        longest=tuple(
            LossRun(first_frame=first, frames=frames, before_ns=before, after_ns=after)
            for first, frames, before, after in data["longest"]
        ),
        reduced_at_ns=data["reduced_at_ns"],
        last_lost_ns=data["last_lost_ns"],
    )


def _stream_from_json(data: Mapping[str, Any]) -> StreamCounts:
    latency = data["latency"]
    flat = latency["buckets"]
    return StreamCounts(
        **{name: data[name] for name in _STREAM_COUNTS if name not in _LATER or name in data},
        latency=LatencyHistogram(
            buckets=tuple(zip(flat[::3], flat[1::3], flat[2::3], strict=True)),
            sum_ns=latency["sum_ns"],
            min_ns=latency["min_ns"],
            max_ns=latency["max_ns"],
        ),
        flooded_frames=data.get("flooded_frames", 0),
        losses=_losses_from_json(data["losses"]) if "losses" in data else None,
        tagged_ns=tuple(data.get("tagged_ns", ())),
        tagged_at_ns=tuple(data.get("tagged_at_ns", ())),
        sent_by_network=tuple(data.get("sent_by_network", ())),
        received_by_network=tuple(data.get("received_by_network", ())),
        bursts=BurstTimes(**data["bursts"]) if "bursts" in data else None,
    )


_HOST = "host."  # how the names begin of what the machine did meanwhile, beside a tester's own counters


def frames_body(result: TrialResult) -> Body:
    """Return a trial of frames as a line of the journal holds it."""
    return Body(
        kind=FRAMES,
        spec=spec_to_json(result.spec),
        result=result_to_json(result),
        faults=() if result.fault is None else (result.fault,),
        host={name: count for name, count in result.auxiliary if name.startswith(_HOST)},
    )


def result_to_json(result: TrialResult) -> Json:
    """Write a trial as it was, without its spec, faults and what the machine did."""
    disturbance = result.disturbance
    return {
        "streams": [_stream_to_json(stream) for stream in result.streams],
        "wall_time_ns": result.wall_time_ns,
        "disturbance": None
        if disturbance is None
        else {
            "steal_ns": _flat(disturbance.steal_ns),
            "largest_stall_ns": _flat(disturbance.largest_stall_ns),
            **(
                {"watches": [_watch_to_json(watch) for watch in disturbance.watches]}
                if disturbance.watches
                else {}
            ),
        },
        "auxiliary": {name: count for name, count in result.auxiliary if not name.startswith(_HOST)},
    }


def result_from_json(line: Mapping[str, Any]) -> TrialResult:
    """Read a trial of frames from a line of today's form. Raises ValueError on a broken list of groups."""
    data = line["result"]
    disturbance = data["disturbance"]
    return TrialResult(
        spec=spec_from_json(line["spec"]),
        streams=tuple(_stream_from_json(stream) for stream in data["streams"]),
        wall_time_ns=data["wall_time_ns"],
        disturbance=None
        if disturbance is None
        else HostDisturbance(
            steal_ns=_pairs(disturbance["steal_ns"]),
            largest_stall_ns=_pairs(disturbance["largest_stall_ns"]),
            watches=tuple(_watch_from_json(watch) for watch in disturbance.get("watches", ())),
        ),
        fault="; ".join(line["faults"]) if line["faults"] else None,
        auxiliary=tuple(sorted({**data["auxiliary"], **line["host"]}.items())),
    )


def _watch_to_json(watch: CpuWatch) -> Json:
    plain = {name: getattr(watch, name) for name in CpuWatch.__dataclass_fields__ if name != "intervals"}
    return {**plain, "intervals": _flat(watch.intervals)}


def _watch_from_json(data: Mapping[str, Any]) -> CpuWatch:
    return CpuWatch(**{**data, "intervals": _pairs(data["intervals"])})


def _networks_to_json(networks: int) -> Json:
    """Write how many networks frames go to, where it is more than one."""
    return {"destination_networks": networks} if networks != 1 else {}


def fields_to_json(cell: Cell) -> Json:
    """Write a cell of frames: its fields and the id that they make."""
    return {
        "cell_id": cell.cell_id,
        "path": cell.path,
        "hosting": cell.hosting,
        "function": cell.function,
        "network": cell.network,
        "frame_octets": cell.frame_octets,
        "direction": cell.direction.value,
        "frame_format": cell.frame_format.value,
        "flows": cell.flows,
        "vlan_id": cell.vlan_id,
        **({"imix": cell.imix} if cell.imix else {}),
        **({"axes": dict(cell.axes)} if cell.axes else {}),
        **_networks_to_json(cell.destination_networks),
    }


def cell_of_fields(data: Mapping[str, Any]) -> Cell:
    """Read a cell of frames. Raises ValueError when its id is not the one that its fields make."""
    cell = Cell(
        path=data["path"],
        hosting=data["hosting"],
        function=data["function"],
        network=data["network"],
        frame_octets=data["frame_octets"],
        direction=Direction(data["direction"]),
        frame_format=FrameFormat(data["frame_format"]),
        flows=data["flows"],
        vlan_id=data["vlan_id"],
        imix=data.get("imix", ""),
        axes=tuple(sorted(data.get("axes", {}).items())),
        destination_networks=data.get("destination_networks", 1),
    )
    if cell.cell_id != data["cell_id"]:
        raise ValueError(f"cell_id: expected {cell.cell_id}, found {data['cell_id']}")
    return cell
