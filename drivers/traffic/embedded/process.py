"""The embedded tester's process: started once a run, commanded over a socket pair, ended by its pid."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from bmwg.drivers.traffic.embedded import pci
from bmwg.drivers.traffic.embedded.build import ensure_built
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, check_cpus
from bmwg.drivers.traffic.embedded.ports import MEMORY_MIB
from bmwg.drivers.traffic.embedded.protocol import Channel, RefusalError, TesterGoneError, TesterLateError
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError

START_DEADLINE_S = 30.0
STOP_DEADLINE_S = 3.0
KILLED_DEADLINE_S = 10.0  # choice: a killed one goes when it gets a CPU; one in a driver's hands may never


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedConfig:
    """How the tester is run.

    `cpus` holds the CPU of each lane; `watch_cpus` get a watchdog each; `run_dir` receives the program's
    log; `lab_ports` are interfaces of the initial namespace or PCI addresses that traffic may use.
    `burst_frames` is the most that leave at once when the sender woke late. `memory_mib` is DPDK's heap,
    `descriptors` are those of each queue. With `pci` its memory is hugepages, as ports need them.
    `line_rate_bps` is the medium's, `mac_step` from one numbered address of a port to the next.
    """

    cpus: tuple[int, ...] = (0,)
    watch_cpus: tuple[int, ...] = ()
    run_dir: Path = Path("/run/bmwg")
    lab_ports: frozenset[str] = frozenset()
    burst_frames: int = 32
    memory_mib: int = MEMORY_MIB
    descriptors: int = DESCRIPTORS
    drain_quiet_s: float = 0.05
    drain_limit_s: float = 2.0  # rfc2544-23: residual frames within two seconds
    resolve_deadline_s: float = 5.0
    pci: bool = False
    line_rate_bps: int | None = None
    mac_step: int = 1
    binary: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what the machine cannot be (TST-23)."""
        check_cpus(self.cpus)
        online = set(range(os.cpu_count() or 1))
        strange = [cpu for cpu in self.watch_cpus if cpu not in online]
        if strange:
            raise ConfigError(
                "TST-23", "tester watch_cpus", expected=f"CPUs of {sorted(online)}", found=str(strange)
            )
        if not 1 <= self.burst_frames <= 64:
            raise ConfigError("TST-23", "tester burst_frames", expected="1..64", found=str(self.burst_frames))
        for name in ("drain_quiet_s", "drain_limit_s", "resolve_deadline_s"):
            value = getattr(self, name)
            if not 0 < value <= 60:
                raise ConfigError(
                    "TST-23", f"tester {name}", expected="above 0, at most 60", found=str(value)
                )


class TesterProcess:
    """One running tester. The kernel kills it when the thread that called `start` ends."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._log: IO[bytes] | None = None
        self.broken: str | None = None

    def start(self) -> Mapping[str, Any]:
        """Start the program and return its greeting; TST-10 without root, TST-03 if it refuses."""
        if os.geteuid() != 0:
            raise TestbedError(
                "TST-10", "the embedded tester was not started", expected="root", found=f"user {os.geteuid()}"
            )
        binary = self._config.binary or ensure_built()
        self._config.run_dir.mkdir(parents=True, exist_ok=True)
        self._log = (self._config.run_dir / f"tester-{os.getpid()}.log").open("ab")
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        try:
            self._process = subprocess.Popen(
                self._argv(binary, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                start_new_session=True,  # Ctrl-C at the terminal is the runner's to handle
                # libxdp's dispatcher would pin programs in a bpf file system and outlive us.
                env={**os.environ, "LIBXDP_SKIP_DISPATCHER": "1"},
            )
            theirs.close()
            hello: Mapping[str, Any] = self.request("hello", {}, deadline_s=START_DEADLINE_S)
        except RefusalError as refusal:
            self.stop()
            raise TestbedError(
                "TST-03",
                "the embedded tester was not started",
                expected="DPDK's environment on this machine",
                found=refusal.text,
                hint=f"its log: {self.log_path}",
            ) from refusal
        except BaseException:
            theirs.close()
            self.stop()
            raise
        return hello

    def _argv(self, binary: Path, fd: int) -> list[str]:
        memory = ["--no-huge", "--no-shconf", "--no-pci", "-m", str(self._config.memory_mib)]
        eal = [*(pci.EAL if self._config.pci else memory), "--no-telemetry"]
        lanes = ",".join(f"{lane}@{cpu}" for lane, cpu in enumerate(self._config.cpus))
        eal += ["--lcores", lanes, "--log-level", "warning"]
        watched = {"sut": list(self._config.watch_cpus), "tester": list(self._config.cpus)}
        return [str(binary), str(fd), str(os.getpid()), json.dumps(watched), *eal]

    def stop(self) -> None:
        """End the program: by closing its channel, then by its pid."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None
        if self._log is not None:
            self._log.close()

    def kill(self) -> None:
        """End the program now; one that the kernel holds is not waited for beyond the deadline."""
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(KILLED_DEADLINE_S)

    @property
    def pid(self) -> int | None:
        """Process id while it was not stopped."""
        return self._process.pid if self._process else None

    @property
    def log_path(self) -> str:
        """Where the program's own messages are."""
        return str(self._log.name) if self._log else str(self._config.run_dir)

    def request(self, command: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        """One command. RefusalError with the tester's reason; DriverError TST-12 (dead), TST-13 (hung)."""
        if self.broken is not None or self._channel is None:
            raise DriverError(
                "TST-12",
                f"embedded tester: {command}; no traffic was sent",
                expected="a running tester",
                found=self.broken or "it is not started",
                hint="start a new tester; a dead one is not revived within a run",
            )
        try:
            return self._channel.request(command, arguments, deadline_s=deadline_s)
        except TesterGoneError as error:
            self._fail(f"the tester died during {command} ({self._end()})", "TST-12", error)
        except TesterLateError as error:
            self.kill()
            self._fail(f"no answer to {command} within {deadline_s:.1f} s", "TST-13", error)

    def _fail(self, found: str, error_id: str, cause: Exception) -> NoReturn:
        self.broken = found
        raise DriverError(
            error_id, "embedded tester", expected="an answer", found=found, hint=f"its log: {self.log_path}"
        ) from cause

    def _end(self) -> str:
        if self._process is None:
            return "not running"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_DEADLINE_S)
        code = self._process.returncode
        if code is None:
            return "channel closed, process still there"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
