"""What offers a load, whatever its kind: a part of `drivers.api`, which imports it.

Ids: LOAD-01 a number of endpoints that a driver does not take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from bmwg.methodology.errors import ConfigError

if TYPE_CHECKING:
    from bmwg.drivers.api.protocols import Missing

JsonValue = Any  # as in drivers.api
EndT = TypeVar("EndT")
EndsT = TypeVar("EndsT", contravariant=True)
SpecT = TypeVar("SpecT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """How many endpoints a driver takes at once; `most` None: as many as there are."""

    least: int
    most: int | None

    def refuse(self, driver: str, endpoints: Sized) -> None:
        """Raise ConfigError LOAD-01 for endpoints that the driver does not take; nothing was sent."""
        if self.least <= len(endpoints) and (self.most is None or len(endpoints) <= self.most):
            return
        raise ConfigError(
            "LOAD-01",
            f"workload {driver}: its endpoints; nothing was sent",
            expected=str(self),
            found=str(len(endpoints)),
        )

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


ONE = Takes(least=1, most=1)
TWO = Takes(least=2, most=2)


class WorkloadDriver(Protocol[EndsT, SpecT, ResultT]):
    """What offers one kind of load. It executes one spec and counts; it never searches, repeats or judges.

    `kind` is the kind of load, `takes` says how many endpoints there are at once. `probe` returns what the
    places where it runs lack; it starts nothing. Entering starts what stays up over attachments, leaving ends
    it. `attach` binds the endpoints of a deployment that stands (after `detach` of the former ones) and sends
    no load. `learn` sends what a deployment must have seen before it is measured; a driver that has no such
    thing does nothing. `run` executes one spec: what failed is in the result, as a sentence, with the counts
    as far as they are known. `describe` is evidence: names, versions, settings.
    """

    kind: ClassVar[str]
    takes: ClassVar[Takes]

    def probe(self) -> Missing | None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...
    def attach(self, endpoints: EndsT, /) -> object: ...
    def detach(self) -> None: ...
    def learn(self, spec: SpecT, /) -> None: ...
    def run(self, spec: SpecT, /) -> ResultT: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


class Attaches(Generic[EndT]):
    """A driver that has nothing up over attachments: it keeps its endpoints while they are attached."""

    takes: ClassVar[Takes]
    ends: tuple[EndT, ...] = ()

    @property
    def named(self) -> str:
        """What errors call it."""
        return type(self).__name__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

    def attach(self, endpoints: Sequence[EndT], /) -> None:
        """Use these from now on. Raises ConfigError LOAD-01."""
        self.takes.refuse(self.named, endpoints)
        self.ends = tuple(endpoints)

    def detach(self) -> None:
        """Forget them: between executions nothing runs."""
        self.ends = ()
