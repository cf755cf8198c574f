"""The HPC Challenge as a workload of jobs: HPL for LINPACK and its STREAM, from the summary that it writes.

Each execution runs all of its tests by one process; its order of the matrix sizes STREAM's vectors, too.
Ids: HPCC-01 another version, HPCC-02 a summary that is not as that version writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bmwg.drivers.nodes import job_files, programs
from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import nanoseconds, rate
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

_IN, _OUT = "hpccinf.txt", "hpccoutf.txt"
_LINE = re.compile(r"^([A-Za-z_]\w*)=(\S+)$", re.MULTILINE)
_VERSION = ("1", "5")
_LAST = "End of Summary section."
_TERA, _GIGA = 1e12, 1e9


class Hpcc(OfJobs):
    """hpcc, one process an execution."""

    program: ClassVar[str] = "hpcc"
    jobs: ClassVar[frozenset[str]] = frozenset({"hpl", "stream"})

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Run it once. Raises TestbedError HPCC-01, DriverError HPCC-02, ConfigError LOAD-03."""
        self.require(spec)
        job = self.attached
        node = job.place.node
        node.call(job_files.remove, folder=job.on_node, names=[_OUT])  # it appends
        node.call(programs.write_files, folder=job.on_node, files={_IN: settings(spec)})
        threads = str(spec.threads)
        ran = self.ran(
            ["hpcc"], spec.within_s, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads, HOME="/tmp"
        )
        written = node.call(job_files.read, folder=job.on_node, name=_OUT)
        found = read(ran, written, spec)
        cache = node.call(job_files.last_cache_octets)
        return replace(found, effective={**found.effective, "last_cache_octets": cache})

    def describe(self) -> Mapping[str, Any]:
        """The program; it tells its version in its summary alone."""
        return {"program": self.program, "versions": "in each execution"}


def settings(spec: JobsSpec) -> str:
    """Return its file of settings: a value a line, one process, one matrix; two lines of heading first."""
    rows = [
        "settings of one execution",
        "written for it",
        "HPL.out",
        "8",  # where HPL writes: its file
        "1",
        str(spec.problem),
        "1",
        str(spec.block_octets),  # columns of a panel
        "0",
        "1",
        "1",
        "1",
        "16.0",
        *("1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "0"),
        *("2", "64", "0", "0", "1", "8"),
        "-",
        *("0", "100", "0", "40"),
    ]
    return "\n".join(rows) + "\n"


def read(ran: Mapping[str, Any], written: str, spec: JobsSpec) -> JobsResult:
    """Read the summary that hpcc wrote. Raises TestbedError HPCC-01, DriverError HPCC-02."""
    if (found := failed("hpcc", ran)) is not None:
        return found
    told = dict(_LINE.findall(written))
    try:
        version = (told["VersionMajor"], told["VersionMinor"])
        if version != _VERSION:
            raise TestbedError(
                "HPCC-01",
                "hpcc: its version",
                expected=".".join(_VERSION),
                found=".".join(version)[:40],
                hint="sh setup/install.sh workloads installs the distribution's",
            )
        if _LAST not in written:
            raise ValueError(f"no line {_LAST!r}")
        if told["Success"] != "1":
            faults = ("hpcc: it says that a test of its own failed",)
            return JobsResult(process_ns=int(ran["process_ns"]), faults=faults)
        asked = {"HPL_N": spec.problem, "HPL_NB": spec.block_octets, "CommWorldProcs": 1}
        asked |= {"STREAM_Threads": spec.threads}
        if differs := [f"{name} {told[name]}" for name, value in asked.items() if told[name] != str(value)]:
            raise ValueError(f"{', '.join(differs)}, asked {', '.join(map(str, asked.values()))}")
        figures, elapsed_ns = _figures(told, spec)
    except (KeyError, ValueError) as error:
        raise DriverError(
            "HPCC-02",
            f"hpcc {spec.job}: its summary",
            expected="the names and values that version 1.5 writes",
            found=f"{type(error).__name__}: {error}"[:200],
            hint="another hpcc may have been installed; nothing was concluded",
        ) from error
    return JobsResult(
        told=figures,
        elapsed_ns=elapsed_ns,
        process_ns=int(ran["process_ns"]),
        effective={
            "version": f"hpcc {'.'.join((*version, told['VersionMicro']))}",
            "stream_vector_octets": int(told["STREAM_VectorSize"]) * 8,
        },
    )


def _figures(told: Mapping[str, str], spec: JobsSpec) -> tuple[dict[str, float], int]:
    if spec.job == "hpl":
        return {"operations": rate(told["HPL_Tflops"]) * _TERA}, nanoseconds(told["HPL_time"])
    names = ("Copy", "Scale", "Add", "Triad")
    return {name.lower(): rate(told[f"SingleSTREAM_{name}"]) * _GIGA for name in names}, 0


_: type[JobsWorkload] = Hpcc
