"""The tester that a testbed file asks for; what it refuses is told with the file's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import TrafficDriver
from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.errors import ConfigError
from bmwg.schemas.document import parse

_TESTER = "tester"
_ELSEWHERE = {"watch_cpus": ("dut", "cpus")}  # what a tester is told of from another part of the file


def tester_of(testbed: Testbed, run_dir: Path, drain_s: float) -> TrafficDriver:
    """Make the tester; starts nothing.

    Raises what `registry.load` and the driver's `for_testbed` raise; a ConfigError names file and line.
    """
    try:
        made: TrafficDriver = tester_kind(testbed).for_testbed(testbed, run_dir, drain_s)
    except ConfigError as error:
        if testbed.file in error.what:
            raise
        name = error.what.removeprefix(f"{_TESTER} ").split(" ", 1)[0]
        location = _ELSEWHERE.get(name, (_TESTER, name))
        raise ConfigError(
            error.error_id,
            f"{place(testbed, location)}: {error.what}",
            expected=error.expected,
            found=error.found,
            hint=error.hint,
        ) from error
    return made


def tester_kind(testbed: Testbed) -> Any:
    """Return the tester's class, whatever the machine has for it. Raises what `registry.load` raises."""
    where = f"{place(testbed, (_TESTER, 'driver'))}: tester.driver"
    return registry.load(registry.TRAFFIC, testbed.tester.driver, where=where)


def place(testbed: Testbed, location: tuple[str, ...]) -> str:
    """Return `file:line` of a place in the testbed file; the file alone when it cannot be read any more."""
    try:
        document = parse(Path(testbed.file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return testbed.file
    return f"{testbed.file}:{document.line(location)}"
