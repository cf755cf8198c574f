"""What the one journal, the one store and the one verification must know of a kind of load. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.matrix import Place
from bmwg.methodology.plan.turns import Turn
from bmwg.methodology.record.drift import Change
from bmwg.methodology.records import Cell, Outcome, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.methodology.trial.trial_times import TrialTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One execution of a load, as its line in the journal holds it: what each kind says in its own way.

    `spec` and `result` are builtins that keep to the kind's schema. `faults` are sentences; of an execution
    with any the counts may be partial. `host` is what the machine did meanwhile, by name.
    """

    kind: str
    spec: Mapping[str, Any]
    result: Mapping[str, Any]
    faults: tuple[str, ...] = ()
    host: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A line of the journal: what stands in each, and the body. `platform` is what it is bound to."""

    seq: int
    cell_id: str
    deployment_id: str
    metric: str
    test_id: str
    phase: str
    validity: Validity
    reason: str
    at: str
    body: Body
    platform: tuple[int, int, str] | None = None
    times: TrialTimes | None = None


class Kind(Protocol):
    """A kind of load other than frames, which do not implement this protocol.

    `unit` is that of its load, `schema` the JSON Schema of `spec` and `result`, `profile_format` that
    of a profile of this kind, `headline` the metrics by which runs are compared. What a kind's reports, rules
    and benches are stands in rooms of its own (`reports.rooms`, `resources.rooms`).
    """

    @property
    def name(self) -> str:
        """How a line of the journal and a cell name it."""
        ...

    @property
    def unit(self) -> str:
        """The unit of its load."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of `spec` and `result`; it refers to no other file."""
        ...

    @property
    def profile_format(self) -> str:
        """The format of its profiles."""
        ...

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics by which runs are compared."""
        ...

    @property
    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """Where its answers stand in the matrix of RFC 8172, by metric; empty for what is outside of it."""
        ...

    @property
    def cites_catalogue(self) -> bool:
        """Whether the deviations of its profiles are from rows of the catalogue."""
        ...

    @property
    def named_by_run(self) -> frozenset[str]:
        """Keys of a profile that a run adds to what the toolkit ships."""
        ...

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of these axes. Raises ValueError for axes that no cell of this kind has."""
        ...

    def assess(self, body: Body) -> Assessment:
        """Say whether an execution's procedure held."""
        ...

    def carried(self, body: Body) -> tuple[int, str] | None:
        """Return how many of what an execution carried, with their noun: that by which energy is divided."""
        ...

    def wrong_profile(self, profile: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by."""
        ...

    def plan(self, profile: Mapping[str, Any]) -> tuple[tuple[str, str, Cell], ...]:
        """Return all that a profile plans: test id, metric and cell of each answer."""
        ...

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Turn]:
        """Return the same as what takes turns: entries whose keys are the ids of their cells."""
        ...

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Say how a run's seed gave the order of these cells of a profile; empty where none was drawn."""
        ...

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return how often each cell is repeated, by cell id; cells that are not repeated so are left out.

        Their executions have a `number` in their spec, and may say by `wall_ns` in their result what they
        lasted.
        """
        ...

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of an execution and what was found, where these differ."""
        ...

    def answer(
        self,
        profile: Mapping[str, Any],
        stated: Outcome,
        executions: Sequence[Execution],
        changes: Sequence[Change],
    ) -> Outcome:
        """Compute from its executions what an outcome must say; `changes` of the platform make it invalid.

        Raises ValueError for executions that the procedure did not ask for.
        """
        ...
