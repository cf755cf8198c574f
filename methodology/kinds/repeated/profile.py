"""Profiles of kinds whose cells are answered by repetitions: by name, by schema, and the plan. Pure.

A kind says how its file becomes cells; finding, checking and planning are the same for all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.plan.plan_size import bounded
from bmwg.methodology.profiles.profile_files import ProfileFiles
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.schemas.validation import problems


class Spec(Protocol):
    """One execution as asked for, a frozen dataclass. `number` counts those of a cell, 0 in a plan."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def workload(self) -> str:
        """The name of what offers it, among `bmwg.drivers.workload`."""
        ...

    @property
    def number(self) -> int:
        """Which execution of its cell it is, from 1."""
        ...

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds."""
        ...

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], /) -> Self:
        """Read what `as_builtins` gave."""
        ...


SpecT = TypeVar("SpecT", bound=Spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Generic[SpecT]):
    """A cell with its test, what each of its executions asks for, and how many are wanted.

    Of a kind whose options take turns (`plan.turns`), `deployment` is what has to stand for it and `block`
    what it has in common with the cells that it is compared with.
    """

    test_id: str
    metric: str
    cell: Cell
    spec: SpecT
    asked: Repetitions
    deployment: Hashable = None
    block: Hashable = None

    @property
    def key(self) -> str:
        """The id of its cell, of which each run has one answer."""
        return self.cell.cell_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Generic[SpecT]):
    """A profile; `data` is its file, as the run's header keeps it, `cells` says what it plans."""

    name: str
    data: Mapping[str, Any]
    cells: Callable[[Mapping[str, Any]], Iterable[Planned[SpecT]]]

    @property
    def keep_awake(self) -> KeepAwake:
        """What keeps CPUs from halting in its runs."""
        return KeepAwake(self.data["keep_awake"])

    def plan(self) -> tuple[Planned[SpecT], ...]:
        """Return every cell, in the order in which its kind measures them, beside each neighbour in turn.

        Raises ValueError for a neighbour that is none, ConfigError PRF-10 for too many cells.
        """
        return tuple(
            replace(planned, cell=neighbours.beside(planned.cell, name))
            for planned in bounded(self.cells(self.data))
            for name in neighbours.listed(self.data)
        )


class Profiles(Generic[SpecT]):
    """The profiles of one kind."""

    def __init__(
        self,
        absent_id: str,
        wrong_id: str,
        *,
        suites: str,
        schema: str,
        folder: str,
        cells: Callable[[Mapping[str, Any]], Iterable[Planned[SpecT]]],
        once: Collection[str] = (),
    ) -> None:
        """Take the ids of its two errors, the words for its suites, schema, package of files, and the plan.

        `cells` may raise ValueError for a file that keeps to the schema and cannot be planned by. Experiments
        in `once` stand in a file once: turns, tables and ratios know their cells by the experiment.
        """
        self._files = ProfileFiles(absent_id, wrong_id, folder, suites)
        self._wrong_id = wrong_id
        self._schema = schema
        self._cells = cells
        self._once = frozenset(once)
        self._planned: tuple[str, Mapping[str, Planned[SpecT]]] = ("", {})
        self._judged = ("", "")

    def of(self, data: Mapping[str, Any]) -> Profile[SpecT]:
        """Return the profile of a file's content, unchecked."""
        return Profile(name=data["name"], data=data, cells=self._cells)

    def planned(self, data: Mapping[str, Any]) -> Mapping[str, Planned[SpecT]]:
        """Return what a profile plans, by cell id.

        The last plan is kept: whoever holds a run against its profile asks for each line of the journal.
        """
        said = repr(data)  # not by equality, for which 1 and true are the same
        if self._planned[0] != said:
            found = {planned.cell.cell_id: planned for planned in self.of(data).plan()}
            self._planned = (said, MappingProxyType(found))
        return self._planned[1]

    def wrong(self, data: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by. The last answer is kept, too."""
        said = repr(data)
        if self._judged[0] != said:
            self._judged = (said, self._found_wrong(data))
        return self._judged[1]

    def _found_wrong(self, data: Mapping[str, Any]) -> str:
        if found := problems(data, self._schema):
            return str(found[0])
        asked = Counter(entry["id"] for entry in data.get("experiments", ()))
        if again := next((name for name in asked if name in self._once and asked[name] > 1), ""):
            return f"experiment {again} stands {asked[again]} times: another profile has its other settings"
        try:
            plan = self.of(data).plan()
        except (ValueError, ConfigError) as error:
            return str(error)
        names = Counter(planned.cell.cell_id for planned in plan)
        twice = next((name for name, count in names.items() if count > 1), "")
        return f"cell {twice} is planned twice" if twice else ""

    def names(self) -> list[str]:
        """Return the names of the profiles that there are."""
        return self._files.names()

    def load(self, name: str) -> Profile[SpecT]:
        """Read a profile, or a file. Raises ConfigError, ToolkitBug for a wrong file of our own."""
        data = self._files.read(name)
        if found := self.wrong(data):
            raise self.refusal(name, found)
        return self.of(data)

    def refusal(self, name: str, found: str) -> ToolkitError:
        """Return the error for a wrong content; the toolkit's own file is a bug of the toolkit."""
        return self._files.refusal(name, found)

    def of_header(self, data: Mapping[str, Any]) -> Profile[SpecT]:
        """Return the profile of a run that goes on. Raises ConfigError for one that cannot be planned by."""
        if found := self.wrong(data):
            raise ConfigError(self._wrong_id, "run.json: profile", expected="one of its schema", found=found)
        return self.of(data)


def repetitions_of(profile: Mapping[str, Any]) -> Repetitions:
    """Return how many executions of each cell a profile wants; fewer do where a limit of time ends it."""
    wanted = profile["repetitions"]
    return Repetitions(
        wanted=wanted,
        least=min(profile.get("least_repetitions", wanted), wanted),
        max_invalid=profile["max_invalid"],
        limit_s=float(profile.get("cell_limit_s", math.inf)),
    )
