"""A kind of load of the vendor's own: blocks of octets that a program hashes, counted over a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bmwg.methodology.answers import repeated
from bmwg.methodology.answers.repeated import Repetitions, Tried
from bmwg.methodology.answers.student import interval
from bmwg.methodology.kinds.kind import Body, Execution, Kind
from bmwg.methodology.matrix import Place
from bmwg.methodology.plan.turns import Turn
from bmwg.methodology.record.drift import Change, reason
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, Outcome, OutcomeType, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas.validation import problems_of

KIND = "blocks"
METRIC = "hash_rate"
TEST_ID = "TOY-HASH-1"
FORMAT = "blocks_profile/1.0"
PROFILES: dict[str, dict[str, Any]] = {
    "quick": {
        "schema": FORMAT,
        "name": "quick",
        "indicative": True,
        "deviations": [],
        "workload": "hashing",
        "block_octets": [64, 4096],
        "duration_s": 0.05,
        "repetitions": 3,
    }
}
_PROFILE = {
    "type": "object",
    "additionalProperties": False,
    "required": list(PROFILES["quick"]),
    "properties": {
        "schema": {"const": FORMAT},
        "name": {"type": "string", "minLength": 1},
        "indicative": {"type": "boolean"},
        "deviations": {"type": "array", "maxItems": 0},
        "workload": {"type": "string", "minLength": 1},
        "block_octets": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}},
        "duration_s": {"type": "number", "exclusiveMinimum": 0},
        "repetitions": {"type": "integer", "minimum": 1},
    },
}
_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:vendor-toy:blocks:1.0",
    "type": "object",
    "additionalProperties": False,
    "required": ["spec", "result"],
    "properties": {
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["workload", "block_octets", "duration_s", "number"],
            "properties": {
                "workload": {"type": "string"},
                "block_octets": {"type": "integer", "minimum": 1},
                "duration_s": {"type": "number", "exclusiveMinimum": 0},
                "number": {"type": "integer", "minimum": 1},
            },
        },
        "result": {
            "type": "object",
            "additionalProperties": False,
            "required": ["blocks", "elapsed_ns"],
            "properties": {
                "blocks": {"type": "integer", "minimum": 0},
                "elapsed_ns": {"type": "integer", "minimum": 0},
            },
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksSpec:
    """What one execution is asked for; `number` counts those of a cell from 1."""

    workload: str
    block_octets: int
    duration_s: float
    number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksResult:
    """How many blocks were hashed, and how long that took."""

    blocks: int
    elapsed_ns: int

    @property
    def per_s(self) -> float:
        """Blocks a second."""
        return self.blocks / (self.elapsed_ns / 1e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A cell, what its executions ask for, and how many are wanted."""

    cell: Cell
    spec: BlocksSpec
    asked: Repetitions


def plan_of(profile: Mapping[str, Any]) -> dict[str, Planned]:
    """Return what a profile plans, by cell id."""
    wanted = profile["repetitions"]
    found = {}
    for octets in profile["block_octets"]:
        spec = BlocksSpec(workload=profile["workload"], block_octets=octets, duration_s=profile["duration_s"])
        cell = _cell(octets)
        asked = Repetitions(wanted=wanted, least=wanted, max_invalid=wanted)
        found[cell.cell_id] = Planned(cell=cell, spec=spec, asked=asked)
    return found


def _cell(block_octets: int) -> Cell:
    return Cell(
        kind=KIND,
        path="host",
        hosting=BAREMETAL,
        function=NOTHING,
        network=NOTHING,
        axes=(("block_octets", block_octets),),
        name=f"host/hash/{block_octets}o",
    )


def body_of(spec: BlocksSpec, result: BlocksResult) -> Body:
    """Return an execution as a line of the journal holds it."""
    return Body(kind=KIND, spec=asdict(spec), result=asdict(result))


def assessed(spec: BlocksSpec, result: BlocksResult) -> Assessment:
    """Say whether an execution lasted as long as it was asked for."""
    if result.blocks < 1 or result.elapsed_ns < spec.duration_s * 1e9:
        return Assessment(validity=Validity.INCOMPLETE, reason="it ended before its time")
    return Assessment(validity=Validity.VALID)


def tried(seq: int, body: Body) -> Tried[BlocksResult]:
    """Return an execution as a repetition of its cell."""
    result = BlocksResult(**body.result)
    found = assessed(BlocksSpec(**body.spec), result)
    return Tried(seq=seq, result=result, problems=(found.reason,) if found.reason else ())


def answered(planned: Planned, executions: Sequence[Tried[BlocksResult]]) -> Outcome:
    """Return what a cell's executions answer."""
    found = repeated.answered(executions, planned.asked)
    values = ()
    if found.type is OutcomeType.MEASURED:
        values = repeated.quantities(METRIC, interval([one.result.per_s for one in found.valid]), BLOCKS.unit)
    return Outcome(
        outcome_id=f"{TEST_ID}:{planned.cell.cell_id}",
        metric=METRIC,
        cell=planned.cell,
        type=found.type,
        values=values,
        trials=found.trials,
        reason=found.reason,
        quality=found.quality,
    )


class _Blocks:
    """Blocks among the kinds of load."""

    name = KIND
    unit = "blocks/s"
    schema = _SCHEMA
    profile_format = FORMAT
    headline = (f"{METRIC}.mean",)
    places: Mapping[str, tuple[Place, ...]] = {METRIC: ()}
    cites_catalogue = False
    named_by_run: frozenset[str] = frozenset()

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        if list(axes["axes"]) != ["block_octets"]:
            raise ValueError(f"axes: expected block_octets, found {', '.join(axes['axes'])}")
        return _cell(axes["axes"]["block_octets"])

    def assess(self, body: Body) -> Assessment:
        """Say whether an execution's procedure held."""
        return assessed(BlocksSpec(**body.spec), BlocksResult(**body.result))

    def carried(self, body: Body) -> tuple[int, str] | None:
        """Return the blocks."""
        return BlocksResult(**body.result).blocks, "block"

    def wrong_profile(self, profile: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by."""
        found = problems_of(profile, _PROFILE)
        return str(found[0]) if found else ""

    def plan(self, profile: Mapping[str, Any]) -> tuple[tuple[str, str, Cell], ...]:
        """Return all that a profile plans: test id, metric and cell of each answer."""
        return tuple((TEST_ID, METRIC, one.cell) for one in plan_of(profile).values())

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Turn]:
        """Return nothing: cells are measured one after the other."""
        return ()

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Return nothing: no order is drawn."""
        return ""

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return how often each cell is repeated, by cell id."""
        return {cell_id: planned.asked for cell_id, planned in plan_of(profile).items()}

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of an execution and what was found, where these differ."""
        planned = plan_of(profile).get(execution.cell_id)
        if planned is None:
            return "a cell that the profile plans", execution.cell_id
        spec = replace(BlocksSpec(**execution.body.spec), number=1)
        return None if spec == planned.spec else (str(planned.spec), str(spec))

    def answer(
        self,
        profile: Mapping[str, Any],
        stated: Outcome,
        executions: Sequence[Execution],
        changes: Sequence[Change],
    ) -> Outcome:
        """Compute from its executions what an outcome must say. Raises ValueError."""
        planned = plan_of(profile).get(stated.cell.cell_id)
        if planned is None:
            raise ValueError(f"{stated.cell.cell_id}: not planned by the profile")
        found = answered(planned, [tried(one.seq, one.body) for one in executions])
        if not changes:
            return found
        return replace(found, type=OutcomeType.INVALID, values=(), quality=(), reason=reason(changes))


BLOCKS: Kind = _Blocks()
