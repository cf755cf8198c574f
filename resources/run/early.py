"""Refuses what files say before a run has a folder: of networks, pods and functions, levels of factors.

The drivers themselves read it. Making one starts and writes nothing, which this module holds them to.
Ids: DRIVER-05 a driver that would make something when its options are read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import NetworkSpec, Testbed, with_settings
from bmwg.methodology.cells import axes
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import Cell
from bmwg.resources.run.tester import place
from bmwg.schemas.document import parse

_NO_FOLDER = Path("/nonexistent")  # no run has one yet
_NOWHERE: Mapping[str, JsonValue] = {}


class _NothingMade:
    """The ledger of no run: a driver that writes to it would make something."""

    def before(self, kind: str, _: Mapping[str, JsonValue] = _NOWHERE, /, **__: JsonValue) -> int:
        """Refuse: DriverError DRIVER-05."""
        raise DriverError(
            "DRIVER-05",
            "a driver of network or pods, when its options were read",
            expected="nothing to be made before the run begins",
            found=f"an undo of kind {kind} for the ledger",
        )

    def done(self, number: int, /) -> None:
        """Do nothing: there is no entry."""


def require_drivers(testbed: Testbed) -> None:
    """Raise what the network options and the pod runtime of a testbed file raise when they are made.

    A ConfigError (NET-04 for a wrong setting, DRIVER-01 for an unknown driver) names file and line.
    """
    for option in testbed.networks:
        where = ("networks", option.name)
        try:
            _make(option, place(testbed, (*where, "driver")))
        except ConfigError as error:
            raise _at(testbed, error, where) from error
    for name in testbed.functions:
        kind = registry.SWITCH if name in registry.names(registry.SWITCH) else registry.FUNCTION
        registry.load(kind, name, where=place(testbed, ("functions", name)))
    pods = testbed.pods
    try:
        registry.runtime(pods.runtime, run_dir=str(_NO_FOLDER), undo=_NothingMade(), options=pods.options)
    except ConfigError as error:
        location = ("pods", "runtime" if error.error_id == "DRIVER-01" else "options")
        raise _at(testbed, error, location) from error


def require_levels(testbed: Testbed, cells: Collection[Cell], profile: str) -> None:
    """Raise what a deployment of these cells would raise for the settings that their axes vary.

    So for functions that lack a setting. `profile` is what the user calls the profile. A ConfigError (CFG-03
    to CFG-05, NET-04, FUNC-01) names profile and cell, and the line of a profile's file.
    """
    functions, switches = registry.names(registry.FUNCTION), registry.names(registry.SWITCH)
    asked: dict[str, tuple[dict[tuple[str, ...], object], Cell]] = {}
    for cell in cells:
        settings = axes.settings(cell.axes)
        if settings or cell.function in (*functions, *switches):
            asked.setdefault(repr((sorted(settings.items()), cell.function)), (settings, cell))
    for settings, cell in asked.values():
        where = f"profile {profile}, cell {cell.cell_id},"
        try:
            varied = with_settings(testbed, settings, where) if settings else testbed
            for option in varied.networks:
                if option != testbed.network(option.name):
                    _make(option, testbed.file)
            bed = Bed(varied, _NothingMade(), _NO_FOLDER)
            if cell.function in functions:
                registry.function(cell.function, bed)
            if cell.function in switches:
                registry.switch(cell.function, bed)
        except ConfigError as error:
            raise _of_level(error, settings, profile, f"{testbed.file} as {where} sets it") from error


def _make(option: NetworkSpec, where: str) -> None:
    registry.network(option, run_dir=_NO_FOLDER, undo=_NothingMade(), where=where)


def _at(testbed: Testbed, error: ConfigError, location: tuple[str, ...]) -> ConfigError:
    """Return an error with the place in the testbed file that it speaks of, as near as its words tell."""
    if testbed.file in error.what:
        return error
    said = error.what.split(" ", 1)[0].rstrip(":")
    if said.startswith(start := f"{'.'.join(location)}."):
        location = (*location, *said.removeprefix(start).split("."))
    return _told(error, f"{place(testbed, location)}: {error.what}")


def _of_level(
    error: ConfigError, settings: Mapping[tuple[str, ...], object], profile: str, where: str
) -> ConfigError:
    """Return an error with the line of the axis that it speaks of, or the first axis."""
    names = [".".join(place) for place in settings]
    name = next((one for one in names if one in error.what), names[0] if names else "")
    what = error.what if where in error.what else f"{where}: {error.what}"
    return _told(error, f"{_line_of_axis(profile, name) if name else ''}{what}")


def _line_of_axis(profile: str, name: str) -> str:
    """Return `file:line: ` of the first axis of that name; empty for a profile of ours or one without it."""
    if not profile.endswith(".yaml"):
        return ""
    try:
        lines: Mapping[tuple[Any, ...], int] = parse(Path(profile).read_text(encoding="utf-8")).lines
    except (OSError, UnicodeDecodeError):
        return ""
    return next((f"{profile}:{line}: " for found, line in lines.items() if found[-2:] == ("axes", name)), "")


def _told(error: ConfigError, what: str) -> ConfigError:
    return ConfigError(error.error_id, what, expected=error.expected, found=error.found, hint=error.hint)
