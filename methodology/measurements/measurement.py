"""The interface of a measurement, for planning, the bench and `verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from bmwg.methodology.answers import throughput
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import Place
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, run_steps
from bmwg.methodology.trial.judging import JudgedTrial

Found = TypeVar("Found")
TakeTrial = Callable[[TrialSpec, str], JudgedTrial]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One cell to measure. `trial` runs, records and judges one single trial of a phase; it does not repeat.

    `max_load_fps` is the highest load to try (frames/s per port and direction), `envelope_fps` the load up to
    which the tester is qualified for this traffic (None while it is being qualified). `throughput` is the
    standing outcome of the same cell, for a measurement that needs one. `medium_fps` is the medium's
    theoretical rate for this traffic (None: it has none). `refuse` raises LackingError where the tester
    cannot do a trial, or has not what else is named: for a measurement whose first trial would not tell.
    `forget` waits until a switch has
    forgotten all addresses.
    """

    profile: Profile
    cell: Cell
    outcome_id: str
    trial: TakeTrial
    max_load_fps: int
    envelope_fps: int | None = None
    throughput: Outcome | None = None
    medium_fps: int | None = None
    refuse: Callable[..., None] = lambda spec, *also: None
    forget: Callable[[], None] = lambda: None

    @property
    def maximum_fps(self) -> int:
        """The maximum rate (RFC 2544 20, 26.3, RFC 9004 5): the medium's, else the highest load to try."""
        return self.max_load_fps if self.medium_fps is None else self.medium_fps

    def run(self, procedure: Procedure[Found]) -> Run[Found]:
        """Run a procedure of steps to its end."""
        return run_steps(procedure, lambda step: self.trial(step.spec, step.phase))

    @property
    def load_fps(self) -> int:
        """The highest load without loss of the throughput outcome; ValueError when there is none."""
        if self.throughput is None or self.throughput.lower is None:
            raise ValueError("throughput: expected an outcome with a lower bound, found none")
        return self.throughput.lower.load_fps

    @property
    def streams_fps(self) -> int:
        """The load for streams at the throughput, as `throughput.streams_fps`; ValueError without one."""
        found = None if self.throughput is None else throughput.streams_fps(self.throughput)
        return self.load_fps if found is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The outcomes of one measurement, one for each of its metrics; `error` is what stopped a measurer."""

    outcomes: tuple[Outcome, ...]
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a measurement of one cell takes: valid trials, their seconds of traffic, and its own waits."""

    trials: float
    traffic_s: float
    waits_s: float = 0.0


@runtime_checkable
class Measurement(Protocol):
    """One kind of answer. `name` is its key in profiles and in `suites.cases()`.

    With `needs_throughput` it runs at the load that the throughput of the same cell proves. `reads_latency`
    says that its outcomes need the histograms of its trials. `modifier` names what stands on the
    DUT meanwhile (RFC 2544 section 11; empty: nothing). `places` are where its answers stand in the matrix
    of RFC 8172 section 4.4.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def needs_throughput(self) -> bool: ...  # noqa: D102
    @property
    def reads_latency(self) -> bool: ...  # noqa: D102
    @property
    def modifier(self) -> str: ...  # noqa: D102
    @property
    def places(self) -> tuple[Place, ...]: ...  # noqa: D102

    @property
    def families(self) -> tuple[str, ...]:
        """Everything that `recorded_as` may be."""
        ...

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Whether a profile wants this cell measured at all."""
        ...

    def recorded_as(self, profile: Profile, cell: Cell) -> str:
        """Return the metric that the journal names beside each trial."""
        ...

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """Return the metric of each outcome, in order: `recorded_as`, or that with a point and a part."""
        ...

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Estimate what one cell takes, repeats of trials that are not valid left out."""
        ...

    def measure(self, asked: Asked) -> Answered:
        """Measure one cell; an exception of `asked.trial` is kept in the answer."""
        ...


@runtime_checkable
class WithAct(Protocol):
    """A measurement whose trials do something to the DUT: `act` is its name among the actuators."""

    @property
    def act(self) -> str: ...  # noqa: D102


class OneMetric:
    """What a measurement of one metric is: each trial is recorded as it, and its one outcome is of it."""

    __slots__ = ()
    needs_throughput: bool = False
    reads_latency: bool = False
    modifier: str = ""

    if TYPE_CHECKING:  # a field or a property of the measurement; a dataclass would take this for its default

        @property
        def metric(self) -> str: ...  # noqa: D102

    @property
    def families(self) -> tuple[str, ...]:
        """Its metric."""
        return (self.metric,)

    def recorded_as(self, profile: Profile, cell: Cell) -> str:
        """Its metric."""
        return self.metric

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """Its metric alone."""
        return (self.metric,)


def settings(profile: Profile, name: str) -> dict[str, Any]:
    """Return what a profile says of one benchmark; what it does not say is as its document has it."""
    return dict(profile.benchmarks.get(name, {}))


def wanted_size(profile: Profile, name: str, cell: Cell) -> bool:
    """Whether a profile measures this benchmark at the cell's frame size: at all where it lists none."""
    sizes = profile.benchmarks.get(name, {}).get("frame_octets")
    return sizes is None or cell.frame_octets in sizes


def between_two(profile: Profile, name: str, cell: Cell) -> bool:
    """As `wanted_size`, of a benchmark whose trials go between two ports: a cell of a pattern has none."""
    return patterns.of(cell.axes) is None and wanted_size(profile, name, cell)


def invalid(asked: Asked, metric: str, reason: str, trials: tuple[JudgedTrial, ...] = ()) -> Outcome:
    """Return the outcome of a procedure that did not hold."""
    return Outcome(
        outcome_id=asked.outcome_id,
        metric=metric,
        cell=asked.cell,
        type=OutcomeType.INVALID,
        trials=tuple(trial.seq for trial in trials),
        reason=reason,
    )
