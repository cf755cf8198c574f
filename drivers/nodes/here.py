"""The machine that the runner is on, as a place where functions run: in this process, as it is."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.protocols import JsonValue, PlacedNode
from bmwg.drivers.nodes.agent import resolve

LOCAL: Mapping[str, JsonValue] = {"kind": "local"}  # its place, as a ledger keeps it


class Here(Calls):
    """This machine's own namespaces. It has no agent and no deadline: a call is a call."""

    name = "this machine"
    place = LOCAL

    @property
    def machine(self) -> Here:
        """Itself."""
        return self

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a function here."""
        return resolve(function)(**arguments)

    def describe(self) -> Mapping[str, JsonValue]:
        """What this place is."""
        return {"kind": "local", "name": self.name}


HERE = Here()
_: PlacedNode = HERE
