"""The tester of frames in an agent on its own host: node functions around one driver, used one at a time.

What crosses is what the journal writes of trials, and ports as data. The driver's process ends with this one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficDriver
from bmwg.drivers.testbed.file import parse_testbed
from bmwg.methodology.errors import DriverError
from bmwg.reports.store.frame_codec import frames_body, spec_from_json
from bmwg.reports.store.redact import redact
from bmwg.resources.run.tester import tester_of

_LOG_OCTETS = 1 << 16  # choice: the last of what DPDK says, which is some lines
_standing = ExitStack()
_drivers: list[TrafficDriver] = []  # the one that stands


def require_able(*, testbed: str, file: str, drain_s: float) -> None:
    """Node function: start the tester of a testbed file and end it; it has no ports meanwhile.

    Raises what the driver raises for what this host lacks.
    """
    with (
        tempfile.TemporaryDirectory(prefix="bmwg-tester-") as folder,
        _made(testbed, file, folder, drain_s),
    ):
        pass


def begin(*, testbed: str, file: str, run_dir: str, drain_s: float) -> None:
    """Node function: start the tester of a testbed file, for the calls that follow."""
    end()
    _drivers.append(_standing.enter_context(_made(testbed, file, run_dir, drain_s)))


def _made(testbed: str, file: str, run_dir: str, drain_s: float) -> TrafficDriver:
    return tester_of(parse_testbed(testbed, Path(file)).at_the_tester, Path(run_dir), drain_s)


def end() -> None:
    """Node function: end the tester. Idempotent."""
    _drivers.clear()
    _standing.close()


def logs(*, run_dir: str) -> dict[str, str]:
    """Node function: the end of each log that testers have written in a folder here, by file name."""
    found = {}
    for file in sorted(Path(run_dir).glob("*.log")):
        if octets := file.read_bytes()[-_LOG_OCTETS:]:
            found[file.name] = octets.decode(errors="replace")
    return found


def _driver() -> TrafficDriver:
    if not _drivers:
        raise DriverError(
            "TST-33", "the tester on its host; no traffic was sent", expected="one that stands", found="none"
        )
    return _drivers[0]


def attach(*, ports: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Node function: bind ports; what they carry, as data."""
    limits = _driver().attach(tuple(TesterPort(**port) for port in ports))
    return {
        "min_frame_octets": limits.min_frame_octets,
        "max_frame_octets": limits.max_frame_octets,
        "capabilities": sorted(capability.value for capability in limits.capabilities),
    }


def detach() -> None:
    """Node function: let go of both ports."""
    _driver().detach()


def learn(*, spec: Mapping[str, JsonValue]) -> None:
    """Node function: send learning frames."""
    _driver().learn(spec_from_json(spec))


def run(*, spec: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Node function: one trial, with what this host did meanwhile, as a line of the journal has it."""
    result = _driver().run(spec_from_json(spec))
    if result.fault is not None:  # by the names that this host has, which the runner does not know
        result = replace(result, fault=redact(result.fault))
    body = frames_body(result)
    return {
        "spec": dict(body.spec),
        "result": dict(body.result),
        "faults": list(body.faults),
        "host": dict(body.host),
    }


def describe() -> dict[str, Any]:
    """Node function: what the driver tells of itself."""
    return dict(_driver().describe())
