"""sysbench as a workload of jobs: CPU, threads, memory and files, read from what version 1.0 prints.

Events and the time that they took are counts; what it prints as rates is not used. Ids: SYSB-01 another
version, SYSB-02 an output that is not as that version writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import nanoseconds
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

_VERSION = re.compile(r"^sysbench (1\.0\.\d+)\b", re.MULTILINE)
_ANY_VERSION = re.compile(r"^sysbench (\S+)", re.MULTILINE)
_THREADS = r"^Number of threads: (\d+)$"
_TIME = r"^\s+total time:\s+([\d.]+)s$"
_EVENTS = r"^\s+total number of events:\s+(\d+)$"
_OPERATIONS = r"^Total operations: (\d+) \("
_TRANSFERRED = r"^([\d.]+) MiB transferred \("
_READS, _WRITES = r"^\s+reads/s:\s+([\d.]+)$", r"^\s+writes/s:\s+([\d.]+)$"
_PRIMES = r"^Prime numbers limit: (\d+)$"
_BLOCK = r"^\s+block size: (\d+)KiB$"
_TRANSACTIONS, _QUERIES = r"^\s+transactions:\s+(\d+)\s", r"^\s+queries:\s+(\d+)\s"
_LAST = r"^\s+execution time \(avg/stddev\):\s+([\d.]+)/[\d.]+\n"
_START_S = 10.0  # choice: what it takes to start and to print
_EXACT_RATIO = 0.01  # choice: it prints four digits of seconds and two of MiB
_PREPARE_S = 300.0


class Sysbench(OfJobs):
    """sysbench, one process an execution."""

    program: ClassVar[str] = "sysbench"
    jobs: ClassVar[frozenset[str]] = frozenset({"cpu", "threads", "memory", "fileio"})

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Run one test, on a file that is made before. Raises what `read` raises, ConfigError LOAD-03."""
        self.require(spec)
        if spec.job == "fileio":
            made = failed("sysbench", self.ran([*command(spec)[:-1], "prepare"], _PREPARE_S))
            if made is not None:
                return made
        return read(self.ran(command(spec), spec.within_s + _START_S), spec)


def command(spec: JobsSpec) -> list[str]:
    """Return the command of a test."""
    told = ["sysbench", spec.job, f"--threads={spec.threads}", f"--time={spec.duration_s:g}", "--events=0"]
    if spec.job == "cpu":
        told += [f"--cpu-max-prime={spec.problem}"]
    if spec.job == "memory":
        told += [f"--memory-block-size={spec.block_octets}", "--memory-total-size=1000T"]
    if spec.job == "fileio":
        told += [f"--file-total-size={spec.size_octets}", f"--file-block-size={spec.block_octets}"]
        told += ["--file-num=1", "--file-test-mode=rndrw", "--rand-seed=1"]
        told += ["--file-extra-flags=direct"] if spec.direct else []
    return [*told, "run"]


def read(ran: Mapping[str, Any], spec: JobsSpec) -> JobsResult:
    """Read what sysbench ended with; job `oltp` is its transactions on a database.

    Raises TestbedError SYSB-01, DriverError SYSB-02.
    """
    if (found := failed("sysbench", ran)) is not None:
        return found
    text = str(ran["output"])
    version = _version(text)
    try:
        _one(_LAST, text)  # else a number before it may be cut off
        if int(_one(_THREADS, text)) != spec.threads:
            raise ValueError(f"{_one(_THREADS, text)} threads, asked {spec.threads}")
        elapsed_ns = nanoseconds(_one(_TIME, text))
        counts, told = _counted(text, spec, elapsed_ns)
    except ValueError as error:
        raise DriverError(
            "SYSB-02",
            f"sysbench {spec.job}: its output",
            expected="the lines that version 1.0 writes",
            found=str(error)[:200],
            hint="another sysbench may have been installed; nothing was concluded",
        ) from error
    return JobsResult(
        counts=counts,
        told=told,
        elapsed_ns=elapsed_ns,
        process_ns=int(ran["process_ns"]),
        effective={"version": f"sysbench {version}"},
    )


def _version(text: str) -> str:
    if match := _VERSION.search(text):
        return match[1]
    other = _ANY_VERSION.search(text)
    raise TestbedError(
        "SYSB-01",
        "sysbench: its version",
        expected="1.0",
        found=other[1][:40] if other else "no line that tells it",
        hint="sh setup/install.sh workloads installs the distribution's",
    )


def _counted(text: str, spec: JobsSpec, elapsed_ns: int) -> tuple[dict[str, int], dict[str, float]]:
    events = int(_one(_EVENTS, text))
    if spec.job == "cpu" and int(_one(_PRIMES, text)) != spec.problem:
        raise ValueError(f"primes up to {_one(_PRIMES, text)}, asked {spec.problem}")
    if spec.job == "memory":
        if int(_one(_BLOCK, text)) * 1024 != spec.block_octets:
            raise ValueError(f"blocks of {_one(_BLOCK, text)} KiB, asked {spec.block_octets} octets")
        octets = int(_one(_OPERATIONS, text)) * spec.block_octets
        printed = float(_one(_TRANSFERRED, text)) * (1 << 20)
        if abs(octets - printed) > max(printed * _EXACT_RATIO, 1 << 20):
            raise ValueError(f"{octets} octets in its operations, {printed:.0f} in its line of MiB")
        return {"written": octets}, {}
    if spec.job == "fileio":
        # of reads and writes it prints rates alone; all operations together are counted
        reads, writes = float(_one(_READS, text)), float(_one(_WRITES, text))
        if (reads + writes) * elapsed_ns / 1e9 > events * (1 + _EXACT_RATIO) + 10:
            raise ValueError(f"{reads} reads and {writes} writes a second, {events} operations in all")
        return {"operations": events}, {
            "read": reads * spec.block_octets,
            "written": writes * spec.block_octets,
        }
    if spec.job == "oltp":
        transactions = int(_one(_TRANSACTIONS, text))
        if transactions != events:
            raise ValueError(f"{transactions} transactions, {events} events")
        return {"transactions": transactions, "queries": int(_one(_QUERIES, text))}, {}
    return {"events": events}, {}


def _one(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines like {pattern}")
    return str(found[0])


_: type[JobsWorkload] = Sysbench
