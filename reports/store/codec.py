"""Plans, cells and answers to JSON and back: nothing else knows the names that stand in run.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.records import UNNAMED, Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.frame_codec import cell_of_fields, fields_to_json

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell that the run set out to assess, with the test and the metric it belongs to."""

    test_id: str
    metric: str
    cell: Cell


def plan_sha256(plan: Iterable[PlannedCell]) -> str:
    """Return the hash of what is planned, whatever the order in which it is measured."""
    return sha256_of(sorted([cell.test_id, cell.metric, cell.cell.cell_id] for cell in plan))


_TIMES = ("deployed_ns", "learning_ns", "learnt_ns", "began_ns", "ended_ns")


def times_to_json(times: TrialTimes) -> Json:
    """Write when the steps around a trial happened."""
    return {name: getattr(times, name) for name in _TIMES}


def times_from_json(data: Mapping[str, Any] | None) -> TrialTimes | None:
    """Read when the steps around a trial happened; None of a line from before they were written."""
    return None if data is None else TrialTimes(**{name: data[name] for name in _TIMES})


def cell_to_json(cell: Cell) -> Json:
    """Write a cell: one that names its kind of load with its axes, any other by its fields."""
    if cell.kind == UNNAMED:
        return fields_to_json(cell)
    return {
        "kind": cell.kind,
        "cell_id": cell.cell_id,
        "path": cell.path,
        "hosting": cell.hosting,
        "function": cell.function,
        "network": cell.network,
        "axes": dict(cell.axes),
    }


def cell_from_json(data: Mapping[str, Any]) -> Cell:
    """Read a cell. Raises ValueError when its id is not the one that its fields make.

    One of a kind of load that nothing registers is ConfigError STORE-03.
    """
    if data.get("kind", UNNAMED) == UNNAMED:
        return cell_of_fields(data)
    bare, neighbour = neighbours.split(data)
    cell = neighbours.beside(kinds.kind(data["kind"], f"cell {data['cell_id']}").cell(bare), neighbour)
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
