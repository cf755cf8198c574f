"""A hosting form of proxies: processes of the node that give way to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bmwg.drivers.api.instance import Hosting, Instance, Limits, Program
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.places.native import NativeHosting

_NICE = ("nice", "-n", "5")


class NicedHosting(NativeHosting):
    """The native form with another niceness."""

    def start(self, program: Program, number: int, limits: Limits) -> Instance:
        """Start the program by `nice`."""
        return super().start(replace(program, command=(*_NICE, *program.command)), number, limits)

    def describe(self) -> Mapping[str, JsonValue]:
        """What the form is."""
        return {"form": self.form, "runs": f"a process on the node by {' '.join(_NICE)}"}


_: type[Hosting] = NicedHosting
