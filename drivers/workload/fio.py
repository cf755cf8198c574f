"""fio as a workload of jobs: files written and read, from its JSON report.

Ids: FIO-01 another version, FIO-02 a report that is not as that version writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import count
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

_VERSION = re.compile(r"fio-3\.(\d+)")
_START_S = 30.0  # choice: the file is laid out before the time begins
_NS_PER_MS = 1_000_000
_SIDES = {"write": ("write", "written"), "read": ("read", "read"), "randread": ("read", "read")}


class Fio(OfJobs):
    """fio, one process an execution."""

    program: ClassVar[str] = "fio"
    jobs: ClassVar[frozenset[str]] = frozenset(_SIDES)

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Run one job. Raises TestbedError FIO-01, DriverError FIO-02, ConfigError LOAD-03."""
        self.require(spec)
        return read(self.ran(command(spec), spec.within_s + _START_S), spec)


def command(spec: JobsSpec) -> list[str]:
    """Return the command of a job."""
    told = ["fio", "--name=bmwg", "--filename=fio.data", f"--rw={spec.job}", "--ioengine=psync", "--thread"]
    told += [f"--size={spec.size_octets}", f"--bs={spec.block_octets}", f"--numjobs={spec.threads}"]
    told += [f"--direct={int(spec.direct)}", "--randseed=1", "--group_reporting"]
    told += ["--time_based", f"--runtime={spec.duration_s:g}"] if spec.duration_s else []
    return [*told, "--output-format=json"]


def read(ran: Mapping[str, Any], spec: JobsSpec) -> JobsResult:
    """Read what fio ended with. Raises TestbedError FIO-01, DriverError FIO-02."""
    if (found := failed("fio", ran)) is not None:
        return found
    text = str(ran["output"])
    try:
        report = json.loads(text[text.index("{") :])  # what it notes of its own stands before
        version = str(report["fio version"])
        match = _VERSION.match(version)
        if match is None:
            raise TestbedError(
                "FIO-01",
                "fio: its version",
                expected="3",
                found=version[:40],
                hint="sh setup/install.sh workloads installs the distribution's",
            )
        (job,) = report["jobs"]
        if job["error"] != 0:
            return JobsResult(process_ns=int(ran["process_ns"]), faults=(f"fio: error {job['error']}",))
        if (asked := job["job options"]["rw"]) != spec.job:
            raise ValueError(f"a job {asked}, asked {spec.job}")
        side, figure = _SIDES[spec.job]
        return JobsResult(
            counts={figure: count(job[side]["io_bytes"])},
            elapsed_ns=count(job[side]["runtime"]) * _NS_PER_MS,
            process_ns=int(ran["process_ns"]),
            effective={"version": version, "operations": count(job[side]["total_ios"])},
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DriverError(
            "FIO-02",
            f"fio {spec.job}: its JSON report",
            expected="one job as version 3 writes it",
            found=f"{type(error).__name__}: {error}"[:200],
            hint="another fio may have been installed; nothing was concluded",
        ) from error


_: type[JobsWorkload] = Fio
