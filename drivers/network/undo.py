"""What is needed of the run's ledger: an undo is written before the act, ticked off after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from bmwg.drivers.api import JsonValue, Node


class UndoLog(Protocol):
    """The part of `drivers.ledger.Ledger` that is used here."""

    def before(self, kind: str, place: Mapping[str, JsonValue] = ..., /, **arguments: JsonValue) -> int:
        """Store durably how to undo what is about to be made; return the entry's number."""

    def done(self, number: int, /) -> None:
        """Tick the entry off: it is undone, or was never made."""


class PlacedNode(Node, Protocol):
    """A node that can say, as data, where it is, so that an undo finds it after this process has ended."""

    @property
    def place(self) -> Mapping[str, JsonValue]:
        """The node's kind, name and whatever finds it again."""
