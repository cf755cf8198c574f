"""What instances of all forms are: a program in a place, looked at from outside, removed with all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Protocol

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.instance import Instance, Program, Sample
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import programs


class Part(Protocol):
    """What of an instance must stand: a pod, a machine, a container, a program in one of them."""

    def fault(self) -> str | None:
        """Say why it no longer stands."""


class PlacedInstance:
    """One program, reached at `endpoint`.

    `parts` are by name, which a fault begins with (none where it is empty). `sampled` tells what the program
    uses, `told` is evidence beside name and endpoint; `undo` ends and removes all of it.
    """

    def __init__(
        self,
        name: str,
        endpoint: tuple[str, int],
        parts: Mapping[str, Part],
        *,
        sampled: Callable[[], Sample],
        told: Callable[[], Mapping[str, JsonValue]],
        undo: ExitStack,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self._parts = parts
        self._sampled = sampled
        self._told = told
        self._undo = undo

    def sample(self) -> Sample:
        """What the program uses."""
        return self._sampled()

    def fault(self) -> str | None:
        """Say which part no longer stands, and why."""
        for name, part in self._parts.items():
            if found := part.fault():
                return f"{name}: {found}" if name else found
        return None

    def stop(self) -> None:
        """End and remove it; all of it is tried. Idempotent."""
        undo, self._undo = self._undo, ExitStack()
        undo.close()

    def describe(self) -> Mapping[str, JsonValue]:
        """Where it is reached, and what its form tells of it."""
        return {"name": self.name, "endpoint": list(self.endpoint), **self._told()}


class AgentsProgram:
    """A program that our agent at a place has started, with its files in a folder there."""

    def __init__(self, place: Calls, program: Program, folder: str) -> None:
        """Write the files and start it. Raises TestbedError PROG-01, DriverError PROG-02."""
        self._place = place
        self._folder = folder
        place.call(programs.write_files, folder=folder, files=dict(program.files))
        self._process = place.call(
            programs.start, command=list(program.command), folder=folder, packages=list(program.packages)
        )

    def sample(self) -> Sample:
        """What it and its children use, as the kernel there counts it."""
        return Sample(**self._place.call(programs.sample, pid=self._process["pid"]))

    def fault(self) -> str | None:
        """Say why it no longer runs."""
        return self._place.call(programs.fault, folder=self._folder, **self._process)

    def hold(self, *, held: bool) -> None:
        """Stop all its processes where they are, or have them go on."""
        self._place.call(programs.hold, held=held, **self._process)

    def stop(self) -> None:
        """End it, and remove its folder."""
        self._place.call(programs.stop, folder=self._folder, **self._process)


_: type[Instance] = PlacedInstance
