"""How TRex is found and run: checked once, before anything is started.

The folder is a TRex release (or a build of its sources): the one that holds the server and, beside it, the
Python client that ships with it. It comes from `tester.options.dir` of the testbed file or from
BMWG_TREX_DIR. Ids: TREX-01 no folder, TREX-02 an option that is none, TREX-03 a folder without client or
server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.schemas.validation import near_hint

DIR_VARIABLE = "BMWG_TREX_DIR"
CLIENT = Path("automation/trex_control_plane/interactive")
SERVER = "_t-rex-64"
MODES = ("start", "attach")
_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrexOptions:
    """`tester.options` of a testbed file for driver `trex`.

    `mode`: `start` a server for the run, or `attach` to the one at `server`, whose ports `port_ids` are used.
    `user` owns the ports; ports of another user are refused, never taken. `ring_frames` and `slot_octets`
    size the packet sockets of TRex's ports on Linux interfaces (its own default is 256 frames, a stall of 3
    ms at 100,000 frames/s). `nice` is the priority of a server that the run starts: in its low-end mode it
    sleeps between frames, and one that waits for its turn sends late, in a burst. `start_deadline_s` and
    `reply_s` bound every wait for the server.
    """

    dir: str = ""
    mode: str = "start"
    server: str = "127.0.0.1"
    sync_port: int = 4501
    async_port: int = 4500
    user: str = "bmwg"
    port_ids: str = "0,1"
    ring_frames: int = 8192
    slot_octets: int = 2048
    memory_mib: int = 384
    nice: int = -20
    start_deadline_s: float = 60.0
    reply_s: float = 2.0

    @property
    def ports(self) -> tuple[int, int]:
        """The two port numbers of the server that are used, port 0 of the testbed first."""
        first, second = self.port_ids.split(",")
        return int(first), int(second)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrexConfig:
    """Everything that a run needs to know of its TRex; `watch_cpus` get a watchdog each."""

    folder: Path
    options: TrexOptions
    cpus: tuple[int, ...]
    watch_cpus: tuple[int, ...]
    run_dir: Path
    lab_ports: frozenset[str] = frozenset()
    drain_quiet_s: float = 0.05
    drain_limit_s: float = 2.0  # rfc2544-23: residual frames within two seconds

    @property
    def client(self) -> Path:
        """The folder that holds TRex's Python client."""
        return self.folder / CLIENT


def config_of(testbed: Testbed, run_dir: Path, drain_s: float) -> TrexConfig:
    """Read and check what a testbed file says of TRex; ConfigError TREX-01, TREX-02, TestbedError TREX-03."""
    options = read_options(testbed.tester.options, f"{testbed.file}: tester.options")
    return TrexConfig(
        folder=find_folder(options),
        options=options,
        cpus=testbed.tester.cpus,
        watch_cpus=testbed.dut.cpus if testbed.dut_cpus_here else (),
        run_dir=run_dir,
        lab_ports=frozenset(testbed.lab_ports),
        drain_quiet_s=max(drain_s, 0.01),
    )


def read_options(given: Mapping[str, Any], where: str) -> TrexOptions:
    """Check option names and types (TREX-02)."""
    known = {field.name: str(field.type) for field in fields(TrexOptions)}
    for name, value in given.items():
        if name not in known:
            raise _refused(where, name, f"one of {', '.join(known)}", name, near_hint(name, known))
        if not isinstance(value, _TYPES[known[name]]) or isinstance(value, bool):
            raise _refused(where, name, f"a value of type {known[name]}", repr(value))
    options = TrexOptions(**given)
    if options.mode not in MODES:
        raise _refused(where, "mode", " or ".join(MODES), repr(options.mode))
    parts = options.port_ids.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts) or parts[0] == parts[1]:
        raise _refused(where, "port_ids", "two different numbers, such as 0,1", repr(options.port_ids))
    for name in ("sync_port", "async_port"):
        if not 0 < getattr(options, name) < 65536:
            raise _refused(where, name, "1..65535", str(getattr(options, name)))
    for name, most in (("start_deadline_s", 600), ("reply_s", 60), ("memory_mib", 65536)):
        if not 0 < getattr(options, name) <= most:
            raise _refused(where, name, f"above 0, at most {most}", str(getattr(options, name)))
    if not -20 <= options.nice <= 19:
        raise _refused(where, "nice", "-20..19", str(options.nice))
    if options.slot_octets not in (2048, 4096, 16384) or not 256 <= options.ring_frames <= 65536:
        found = f"{options.ring_frames} frames of {options.slot_octets} octets"
        raise _refused(where, "ring_frames", "256..65536 frames of 2048, 4096 or 16384 octets", found)
    return options


def _refused(where: str, name: str, expected: str, found: str, hint: str = "") -> ConfigError:
    return ConfigError(
        "TREX-02", f"{where}.{name}; nothing was started", expected=expected, found=found, hint=hint
    )


def find_folder(options: TrexOptions) -> Path:
    """Return TRex's folder, with its client (and server, in mode `start`) in place."""
    named = options.dir or os.environ.get(DIR_VARIABLE, "")
    if not named:
        raise ConfigError(
            "TREX-01",
            "driver trex: no TRex folder is named; nothing was started",
            expected=f"tester.options.dir in the testbed file, or {DIR_VARIABLE}",
            found="neither",
            hint="it is the folder of a TRex release, with t-rex-64 and automation/ in it",
        )
    folder = Path(named)
    wanted = [CLIENT / "trex/stl/api.py"] + ([Path(SERVER)] if options.mode == "start" else [])
    for part in wanted:
        if not (folder / part).is_file():
            raise TestbedError(
                "TREX-03",
                f"driver trex: {folder}; nothing was started",
                expected=f"a TRex release of version 3, with {part}",
                found="no such file" if folder.is_dir() else "no such folder",
                hint="use the client that ships with the server; the one on PyPI is of 2019",
            )
    return folder.resolve()
