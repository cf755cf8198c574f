"""Registry of what each kind of load brings to a run. Use it; name no kind.

A kind offers a `Room` under the entry-point group `bmwg.rooms`. Ids: KIND-01 what is offered calls itself
otherwise, RUN-05 kinds of load that have no run together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.plan.shards import Work
from bmwg.methodology.profiles.narrowed import Narrowing
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.store import Run, RunHeader
from bmwg.resources.run.schedule import Schedule
from bmwg.resources.run.settings import Settings

if TYPE_CHECKING:
    from bmwg.resources.run.open_run import OpenRun

GROUP = "bmwg.rooms"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAsked:
    """What is to be planned: a testbed file (None: the embedded one), a profile, the seed of the order.

    `budget_s` asks what to cut so that the run fits these seconds; `narrowing` leaves out what is not meant.
    """

    testbed: Path | None
    profile: str
    seed: int
    budget_s: float | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)


class Bench(Protocol):
    """Measures the tests of one kind of load while a run is open."""

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        ...

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        ...

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already."""
        ...

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        ...

    def rest(self) -> None:
        """End what would work on while another kind is measured; what is needed again is made anew."""
        ...


class Share(Protocol):
    """What one kind of load asks of a run that is about to begin or go on; nothing is made of it yet.

    `words` say in the run's first line what is measured. `claims` are CPUs and ports that nobody else may use
    meanwhile, `awake` which CPUs are to be kept from halting. `elsewhere` tells where it measures, when that
    is not this machine; such a share has a run for itself.
    """

    @property
    def header(self) -> RunHeader:
        """What its own run's header would say."""
        ...

    @property
    def words(self) -> str: ...  # noqa: D102
    @property
    def claims(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def awake(self) -> tuple[KeepAwake, Collection[int]]: ...  # noqa: D102
    @property
    def elsewhere(self) -> str: ...  # noqa: D102
    @property
    def traffic_s(self) -> float:
        """Estimated seconds of traffic; 0 where they are not known before."""
        ...

    @property
    def work(self) -> Work:
        """Its tests with the seconds that each takes, for whoever shares them out (`methodology.shards`)."""
        ...

    @property
    def hosts(self) -> Sequence[HostSpec]:
        """The hosts over SSH that it measures on, or none."""
        ...

    @property
    def under_test(self) -> str:
        """Which of them is the machine under test, by name; empty for this machine."""
        ...

    def begin(self, run: OpenRun) -> Bench:
        """Make the bench of an open run; what it makes is removed with the run's stack."""
        ...


class Room(Protocol):
    """One kind of load as runs know it."""

    @property
    def kind(self) -> str:
        """The kind's name."""
        ...

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those of some test ids that it measures."""
        ...

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return what these tests would measure, in which order; starts nothing."""
        ...

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return what these tests ask of a run; `continued` is the one that goes on.

        What such a run would refuse before anything is made, is refused here.
        """
        ...


@cache
def _offered() -> tuple[tuple[Room, ...], Mapping[str, TestbedError]]:
    found, lost = kinds.offered(GROUP, "runs of the kind of load", lambda room: room.kind)
    return tuple(found[name] for name in kinds.names() if name in found), {**lost, **kinds.broken()}


def rooms() -> tuple[Room, ...]:
    """Return the rooms of all kinds that can be imported, in the order of the kinds. TestbedError KIND-01."""
    return _offered()[0]


def broken() -> Mapping[str, TestbedError]:
    """Return why kinds of load cannot be had that a distribution offers, by name."""
    return _offered()[1]


def warnings() -> list[str]:
    """Say in a line each which kinds of load are left out; empty when all can be imported."""
    return [
        f"warning: {error.error_id} {error.what} is left out: {error.found}; {error.hint}"
        for error in broken().values()
    ]


def room(kind: str) -> Room:
    """Return the room of a kind of load; raises the error of one that is broken."""
    if kind in broken():
        raise broken()[kind]
    return next(one for one in rooms() if one.kind == kind)


def refuse_apart(shares: Mapping[str, Share]) -> None:
    """ConfigError RUN-05 where kinds of load are measured on different machines: a run has one record."""
    away = {kind: share.elsewhere for kind, share in shares.items() if share.elsewhere}
    if away and len(shares) > 1:
        raise ConfigError(
            "RUN-05",
            f"tests of {' and '.join(shares)} in one run; nothing was started",
            expected="all of them measured on this machine",
            found="; ".join(f"{kind} on {place}" for kind, place in away.items()),
            hint="name the suites of one of them: a run of its own for each",
        )


def asked(selected: Collection[str]) -> dict[str, tuple[Room, frozenset[str]]]:
    """Return the kinds of load that some tests measure, each with its room and its tests.

    A test that no kind knows goes to the first kind, which refuses it by name. Where a kind could not be
    loaded, the test may be of that kind: its error is raised.
    """
    found = {room.kind: (room, tests) for room in rooms() if (tests := room.tests(selected))}
    unknown = frozenset(selected).difference(*(tests for _, tests in found.values()))
    if unknown and broken():
        raise next(iter(broken().values()))
    if unknown or not found:
        first = rooms()[0]
        found = {first.kind: (first, found.get(first.kind, (first, frozenset()))[1] | unknown), **found}
    return {kind: found[kind] for kind in kinds.names() if kind in found}
