"""The watch as a process: built once for each state of its sources, armed and read around each trial.

Ids: WATCH-01 it cannot be built, WATCH-02 it does not answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from bmwg.drivers.traffic.embedded.build import SOURCE_FOLDER as EMBEDDED_SOURCES
from bmwg.drivers.traffic.embedded.build import cache_folder, complaint
from bmwg.drivers.traffic.embedded.process import KILLED_DEADLINE_S
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance

SOURCE = Path(__file__).resolve().parent / "src" / "main.c"
REPLY_S = 5.0
REPLY_LIMIT_OCTETS = 1 << 20  # choice: a reply is a few hundred octets
BUILD_DEADLINE_S = 120.0
_NEEDS = ("watchdog.c", "watchdog.h")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSight:
    """What an interface carried during a trial, frames, and when it sent (grain about 0.5 ms).

    `sending_ns` is from the first to the last frame that left; `longest_pause_ns` the longest time between.
    """

    rx_packets: int
    rx_dropped: int
    tx_packets: int
    tx_dropped: int
    sending_ns: int
    longest_pause_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the watch saw of one trial: stalls by CPU number (ns), and its interfaces by name."""

    stalls_ns: Mapping[int, int]
    ports: Mapping[str, PortSight]
    watches: tuple[CpuWatch, ...] = ()

    def largest_stall_ns(self, cpus: Sequence[int]) -> int:
        """The longest stall of any of these CPUs, 0 when none was watched."""
        return max((self.stalls_ns.get(cpu, 0) for cpu in cpus), default=0)


def ensure_built() -> Path:
    """Path of the program, compiled now if this state of its sources never was; TestbedError WATCH-01."""
    sources = [SOURCE, *(EMBEDDED_SOURCES / name for name in _NEEDS)]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:32]
    binary = cache_folder() / f"watch-{digest}"
    if binary.exists():
        return binary
    partial = binary.with_name(f"{binary.name}.{os.getpid()}")
    argv = ["cc", "-O2", "-Wall", "-D_GNU_SOURCE", f"-I{EMBEDDED_SOURCES}", "-o", str(partial)]
    argv += [str(SOURCE), str(EMBEDDED_SOURCES / "watchdog.c"), "-ljansson", "-lpthread"]
    if found := complaint(argv, BUILD_DEADLINE_S):
        raise TestbedError(
            "WATCH-01",
            "the watch on CPUs cannot be built; nothing was started",
            expected="a C compiler and jansson's development files",
            found=found,
            hint="apt-get install -y gcc libjansson-dev",
        )
    partial.replace(binary)
    return binary


class Watch:
    """One running watch, in the network namespace of the interfaces that it looks at."""

    def __init__(
        self, cpus: Sequence[int], *, netns: str | None = None, interfaces: Sequence[str] = (), log: IO[bytes]
    ) -> None:
        """Start it; TestbedError WATCH-01, DriverError WATCH-02."""
        argv = [str(ensure_built()), json.dumps(sorted(set(cpus))), *interfaces]
        if netns is not None:
            argv = ["nsenter", f"--net={netns}", "--", *argv]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd="/", start_new_session=True
        )
        self._buffer = b""
        try:
            self._line("its start")
        except DriverError:
            self.close()
            raise

    def arm(self) -> None:
        """Begin to look."""
        self._ask(b"arm\n")

    def read(self) -> Sight:
        """End looking and return what was seen since `arm`."""
        return read_sight(self._ask(b"read\n"))

    def _ask(self, word: bytes) -> bytes:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(word)
            self._process.stdin.flush()
        except OSError as error:
            raise self._silent(word.decode().strip()) from error
        return self._line(word.decode().strip())

    def _line(self, what: str) -> bytes:
        assert self._process.stdout is not None
        end_s = time.monotonic() + REPLY_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left_s = end_s - time.monotonic()
                received = b""
                if left_s > 0 and selector.select(left_s):
                    received = os.read(self._process.stdout.fileno(), 1 << 16)
                if not received:
                    raise self._silent(what)
                self._buffer += received
                if len(self._buffer) > REPLY_LIMIT_OCTETS:
                    raise self._silent(what)
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _silent(self, what: str) -> DriverError:
        """End it: what it still says would be taken for the answer to a later question."""
        self._process.kill()
        return DriverError(
            "WATCH-02",
            f"the watch on CPUs: {what}",
            expected=f"an answer within {REPLY_S:.0f} s",
            found="none",
        )

    def close(self) -> None:
        """End it by its pid."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may be in the kernel's hands
            self._process.wait(KILLED_DEADLINE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def read_sight(line: bytes) -> Sight:
    """What the watch answered to `read`; DriverError WATCH-02 when it is something else."""
    try:
        seen = json.loads(line)
        return Sight(
            stalls_ns={_count(dog["cpu"]): _count(dog["largest_stall_ns"]) for dog in seen["watchdogs"]},
            watches=tuple(_watch(dog) for dog in seen["watchdogs"]),
            ports={
                str(port["interface"]): PortSight(
                    **{name: _count(port[name]) for name in PortSight.__dataclass_fields__}
                )
                for port in seen["ports"]
            },
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise DriverError(
            "WATCH-02",
            "the watch on CPUs: read",
            expected="stalls by CPU and counts by interface",
            found=repr(line[:200]),
        ) from error


def _watch(dog: Mapping[str, Any]) -> CpuWatch:
    """What one watchdog saw, without intervals: a generator tells no time to count them from."""
    return CpuWatch(
        cpu=_count(dog["cpu"]),
        tester=False,
        absences=_count(dog["absences"]),
        absent_ns=_count(dog["absent_ns"]),
        longest_ns=_count(dog["largest_stall_ns"]),
        throttled=_count(dog["throttled"]),
        lost=_count(dog["lost"]),
    )


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def disturbance(
    sight: Sight, steal_before_ns: Mapping[int, int], steal_after_ns: Mapping[int, int], cpus: Sequence[int]
) -> HostDisturbance:
    """Evidence that CPUs were taken away: watchdogs, steal time of watched CPUs. `cpus` are the SUT's."""
    watched = {*sight.stalls_ns, *cpus}
    steal = {
        cpu: ns - steal_before_ns.get(cpu, ns)
        for cpu, ns in sorted(steal_after_ns.items())
        if cpu in watched or not watched
    }
    stalls = tuple((cpu, ns) for cpu, ns in sorted(sight.stalls_ns.items()) if cpu in set(cpus))
    watches = tuple(replace(watch, tester=watch.cpu not in set(cpus)) for watch in sight.watches)
    return HostDisturbance(steal_ns=tuple(steal.items()), largest_stall_ns=stalls, watches=watches)
