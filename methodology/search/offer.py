"""What a search needs of a kind of load: trials to ask for, and what came of each. Nothing here knows kinds.

A load is a whole number in the unit of its kind, per sender where there are several. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bmwg.methodology.records import Bound, Validity


class Spec(Protocol):
    """One trial as asked for: a constant load for a time. Equal ones ask for the same trial."""

    @property
    def load(self) -> int:
        """The load, in `unit`."""
        ...

    @property
    def unit(self) -> str:
        """The unit of the load, as sentences say it."""
        ...

    @property
    def duration_s(self) -> float:
        """How long it is offered, seconds."""
        ...

    @property
    def intended(self) -> int:
        """How many of what the load counts each sender is to send."""
        ...

    @property
    def words(self) -> str:
        """All of it in words."""
        ...


class Tried(Protocol):
    """A trial that was recorded and judged, as far as searches read it."""

    @property
    def seq(self) -> int:
        """Its number in the journal."""
        ...

    @property
    def spec(self) -> Spec:
        """What was asked for."""
        ...

    @property
    def load(self) -> int:
        """The load that was asked for."""
        ...

    @property
    def validity(self) -> Validity:
        """Whether the procedure held."""
        ...

    @property
    def reason(self) -> str:
        """Why it did not."""
        ...

    @property
    def valid(self) -> bool:
        """Whether it may be part of a bound."""
        ...

    @property
    def lossless(self) -> bool:
        """Valid, and nothing was lost."""
        ...

    @property
    def sent(self) -> int:
        """How many were sent, by all senders."""
        ...

    @property
    def lost(self) -> int:
        """How many of these were lost."""
        ...

    @property
    def loss_ratio(self) -> float:
        """Share of the sent ones that was lost, 0..1."""
        ...

    @property
    def sent_per_s(self) -> float:
        """How many the slowest sender sent in a second of the time that it took."""
        ...

    @property
    def carried_per_s(self) -> float:
        """How many came through in a second, of the worst sender's."""
        ...


class Offer(Protocol):
    """What a search offers: a kind of load with everything fixed but load and duration."""

    @property
    def unit(self) -> str:
        """The unit of its load."""
        ...

    @property
    def thing(self) -> str:
        """What the load counts, one of it."""
        ...

    def spec(self, load: int, duration_s: float) -> Spec:
        """Return the trial at a load for a time."""
        ...


def proven(trials: Sequence[Tried], load: int | None, *, lossless: bool) -> Bound | None:
    """Return the bound with the valid trials that prove it; a load that was only sent short proves none."""
    proof = tuple(
        trial.seq for trial in trials if trial.valid and trial.load == load and trial.lossless is lossless
    )
    return Bound(load_fps=load, trials=proof) if load is not None and proof else None
