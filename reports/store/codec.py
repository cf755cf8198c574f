"""Records to JSON and back, in one place: nothing else knows the names that stand in the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bmwg.methodology.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.frame_times import LatencyHistogram, LossRun, LossTimes
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Body
from bmwg.methodology.records import (
    FRAMES,
    Bound,
    Cell,
    Direction,
    FrameFormat,
    Outcome,
    OutcomeType,
    Quantity,
    StreamCounts,
    TrialResult,
    TrialSpec,
)
from bmwg.methodology.repeated_bursts import BurstTimes
from bmwg.methodology.trial_times import TrialTimes

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell that the run set out to assess, with the test and the metric it belongs to."""

    test_id: str
    metric: str
    cell: Cell


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
    }


def _networks_to_json(networks: int) -> Json:
    """Write how many networks frames go to, where it is more than one."""
    return {"destination_networks": networks} if networks != 1 else {}


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
    return [number for group in groups for number in group]


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
                {"watches": [_watch_to_json(one) for one in disturbance.watches]}
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
            watches=tuple(_watch_from_json(one) for one in disturbance.get("watches", ())),
        ),
        fault="; ".join(line["faults"]) if line["faults"] else None,
        auxiliary=tuple(sorted({**data["auxiliary"], **line["host"]}.items())),
    )


def _watch_to_json(watch: CpuWatch) -> Json:
    plain = {name: getattr(watch, name) for name in CpuWatch.__dataclass_fields__ if name != "intervals"}
    return {**plain, "intervals": _flat(watch.intervals)}


def _watch_from_json(data: Mapping[str, Any]) -> CpuWatch:
    return CpuWatch(**{**data, "intervals": _pairs(data["intervals"])})


_TIMES = ("deployed_ns", "learning_ns", "learnt_ns", "began_ns", "ended_ns")


def times_to_json(times: TrialTimes) -> Json:
    """Write when the steps around a trial happened."""
    return {name: getattr(times, name) for name in _TIMES}


def times_from_json(data: Mapping[str, Any] | None) -> TrialTimes | None:
    """Read when the steps around a trial happened; None of a line from before they were written."""
    return None if data is None else TrialTimes(**{name: data[name] for name in _TIMES})


def cell_to_json(cell: Cell) -> Json:
    """Write a cell: its fields and the id that they make; one of another kind than frames with its axes."""
    if cell.kind != FRAMES:
        return {
            "kind": cell.kind,
            "cell_id": cell.cell_id,
            "path": cell.path,
            "hosting": cell.hosting,
            "function": cell.function,
            "network": cell.network,
            "axes": dict(cell.axes),
        }
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


def cell_from_json(data: Mapping[str, Any]) -> Cell:
    """Read a cell. Raises ValueError when its id is not the one that its fields make.

    One of a kind of load that nothing registers is ConfigError STORE-03.
    """
    if data.get("kind", FRAMES) != FRAMES:
        return _other_cell(data)
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


def _other_cell(data: Mapping[str, Any]) -> Cell:
    cell = kinds.kind(data["kind"], f"cell {data['cell_id']}").cell(data)
    if (made := cell_to_json(cell)) != dict(data):
        differ = [name for name in made if made[name] != data.get(name)]
        raise ValueError(f"cell {data['cell_id']}: expected {made[differ[0]]} as {differ[0]}, found another")
    return cell


def planned_to_json(planned: PlannedCell) -> Json:
    """Write one entry of the plan."""
    return {"test": planned.test_id, "metric": planned.metric, "cell": cell_to_json(planned.cell)}


def planned_from_json(data: Mapping[str, Any]) -> PlannedCell:
    """Read one entry of the plan."""
    return PlannedCell(test_id=data["test"], metric=data["metric"], cell=cell_from_json(data["cell"]))


def _bound_to_json(bound: Bound | None) -> Json | None:
    return None if bound is None else {"load_fps": bound.load_fps, "trials": list(bound.trials)}


def _bound_from_json(data: Mapping[str, Any] | None) -> Bound | None:
    return None if data is None else Bound(load_fps=data["load_fps"], trials=tuple(data["trials"]))


def outcome_to_json(outcome: Outcome, mend: str) -> Json:
    """Write an outcome; `mend` is the line that would supply what a not assessed cell lacked."""
    return {
        "id": outcome.outcome_id,
        "metric": outcome.metric,
        "cell": cell_to_json(outcome.cell),
        "type": outcome.type.value,
        "values": [
            {"metric": value.metric, "number": value.number, "unit": value.unit} for value in outcome.values
        ],
        "bounds": {"lower": _bound_to_json(outcome.lower), "upper": _bound_to_json(outcome.upper)},
        "trials": list(outcome.trials),
        "statement": outcome.statement,
        "reason": outcome.reason,
        "mend": mend,
        "requirements": list(outcome.requirements),
        "quality": list(outcome.quality),
    }


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Read an outcome, without its mend."""
    return Outcome(
        outcome_id=data["id"],
        metric=data["metric"],
        cell=cell_from_json(data["cell"]),
        type=OutcomeType(data["type"]),
        values=tuple(
            Quantity(metric=value["metric"], number=value["number"], unit=value["unit"])
            for value in data["values"]
        ),
        lower=_bound_from_json(data["bounds"]["lower"]),
        upper=_bound_from_json(data["bounds"]["upper"]),
        trials=tuple(data["trials"]),
        statement=data["statement"],
        reason=data["reason"],
        requirements=tuple(data["requirements"]),
        quality=tuple(data["quality"]),
    )
