"""A machine as a place where node functions run, by whatever its provider commands it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bmwg.drivers.api.machines import Machine
from bmwg.drivers.api.protocols import Calls, JsonValue


class InMachine(Calls):
    """The inside of a machine. A call that says nothing may take `deadline_s`."""

    deadline_s: ClassVar[float] = 60.0  # choice: its instructions may be translated

    def __init__(self, machine: Machine) -> None:
        self.name = machine.name
        self._machine = machine

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a node function inside."""
        return self._machine.call_named(function, arguments, deadline_s=deadline_s or self.deadline_s)

    def describe(self) -> Mapping[str, JsonValue]:
        """What the provider says of it."""
        return dict(self._machine.describe())
