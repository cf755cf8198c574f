"""dd as a workload of jobs: a file written from zeros or read, from the line that it ends with.

Ids: DD-02 an output that is not as GNU coreutils write it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import nanoseconds
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

_LINE = re.compile(r"^(\d+) bytes(?: \([^)]*\))* copied, ([\d.e+-]+) s, ", re.MULTILINE)
_FILE = "dd.data"
_START_S = 10.0


class Dd(OfJobs):
    """dd, one process an execution."""

    program: ClassVar[str] = "dd"
    jobs: ClassVar[frozenset[str]] = frozenset({"write", "read"})

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Copy once; a file that is read is written before. Raises DriverError DD-02, ConfigError LOAD-03."""
        self.require(spec)
        if spec.job == "read":
            made = failed("dd", self.ran(command(spec, "write"), spec.within_s + _START_S))
            if made is not None:
                return made
        return read(self.ran(command(spec, spec.job), spec.within_s + _START_S), spec)


def command(spec: JobsSpec, job: str) -> list[str]:
    """Return the command of a copy; what is written is on the disk when it ends."""
    count = spec.size_octets // spec.block_octets
    sizes = [f"bs={spec.block_octets}", f"count={count}"]
    if job == "write":
        flags = [*(["oflag=direct"] if spec.direct else []), "conv=fsync"]
        return ["dd", "if=/dev/zero", f"of={_FILE}", *sizes, *flags]
    return ["dd", f"if={_FILE}", "of=/dev/null", *sizes, *(["iflag=direct"] if spec.direct else [])]


def read(ran: Mapping[str, Any], spec: JobsSpec) -> JobsResult:
    """Read what dd ended with. Raises DriverError DD-02."""
    if (found := failed("dd", ran)) is not None:
        return found
    lines = _LINE.findall(str(ran["errors"]))
    whole = spec.size_octets // spec.block_octets * spec.block_octets
    try:
        ((octets, seconds),) = lines
        elapsed_ns = nanoseconds(seconds)
        if int(octets) != whole:
            raise ValueError(f"{octets} octets, asked {whole}")
    except ValueError as error:
        raise DriverError(
            "DD-02",
            f"dd {spec.job}: its output",
            expected="one line of octets copied and seconds, as GNU coreutils write it",
            found=str(error)[:200],
            hint="another dd may be first in PATH; nothing was concluded",
        ) from error
    return JobsResult(
        counts={"written" if spec.job == "write" else "read": int(octets)},
        elapsed_ns=elapsed_ns,
        process_ns=int(ran["process_ns"]),
        effective={"octets": int(octets)},
    )


_: type[JobsWorkload] = Dd
