"""Bonnie++ as a workload of jobs, from its line of values.

A file written, rewritten and read in blocks, or its whole: characters, seeks and many small files.

Ids: BONN-01 another version, BONN-02 a line that is not as that version writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import rate
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec

_FORMAT, _VERSION = "1.98", "2.00"
_FIELDS = 50
_FILES, _WHOLE = "files", "whole"
# where each figure stands in a line of format 1.98: octets in KiB a second, then what is counted a second
_OCTETS = {
    _FILES: {"written": 11, "rewritten": 13, "read": 17},
    _WHOLE: {"characters_written": 9, "characters_read": 15},
}
_COUNTED = {
    _FILES: {},
    _WHOLE: {
        "seeks": 19,
        "created": 26,
        "deleted": 30,
        "created_at_random": 32,
        "deleted_at_random": 36,
    },
}
_SIZE, _CHUNK, _SEEKS_AT, _FILES_AT = 5, 6, 7, 21
_BLOCK_OCTETS = 8192
_SEEKS = 32_768  # choice: four times its own number, which a file in memory has in less than half a second
_CHARACTERS_MIB = 20  # its own: each character is a system call
_TOO_FAST = "+"  # it prints plus signs for what took too short a time
_MIB = 1 << 20


class Bonnie(OfJobs):
    """Bonnie++, one process an execution; as `files` without its tests of characters and small files."""

    program: ClassVar[str] = "bonnie++"
    jobs: ClassVar[frozenset[str]] = frozenset({_FILES, _WHOLE})

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Run it once. Raises TestbedError BONN-01, DriverError BONN-02, ConfigError LOAD-03."""
        self.require(spec)
        if spec.block_octets != _BLOCK_OCTETS or spec.threads != 1:
            raise ConfigError(
                "LOAD-03",
                "workload bonnie++; nothing was run",
                expected=f"one thread and blocks of {_BLOCK_OCTETS} octets, its own",
                found=f"{spec.threads}, {spec.block_octets}",
            )
        if spec.job == _WHOLE and spec.direct:
            raise ConfigError(
                "LOAD-03",
                "workload bonnie++; nothing was run",
                expected="characters through the page cache (direct: false), for none can go round it",
                found="direct",
            )
        return read(self.ran(command(spec), spec.within_s), spec)

    def describe(self) -> Mapping[str, Any]:
        """The program; it tells its version in its line alone."""
        return {"program": self.program, "versions": "in each execution"}


def command(spec: JobsSpec) -> list[str]:
    """Return its command: a file of so many MiB, with a memory said to be half of it.

    The whole has `problem` times 1,024 small files, and so many seeks in the large one.
    """
    mib, whole = spec.size_octets // _MIB, spec.job == _WHOLE
    size = f"{mib}m:{_BLOCK_OCTETS}:{_SEEKS}" if whole else f"{mib}m"
    told = ["bonnie++", "-d", ".", "-s", size, "-r", str(mib // 2), "-n", str(spec.problem if whole else 0)]
    told += [f"-f{min(mib, _CHARACTERS_MIB)}m" if whole else "-f"]
    return [*told, "-q", "-u", "root", "-m", "bmwg", "-z", "1", *(["-D"] if spec.direct else [])]


def read(ran: Mapping[str, Any], spec: JobsSpec) -> JobsResult:
    """Read the line of values that it ended with. Raises TestbedError BONN-01, DriverError BONN-02."""
    if (found := failed("bonnie++", ran)) is not None:
        return found
    lines = [line for line in str(ran["output"]).splitlines() if line.count(",") > 2]
    try:
        (line,) = lines
        fields = line.split(",")
        if fields[0] != _FORMAT or not fields[1].startswith(_VERSION):
            raise TestbedError(
                "BONN-01",
                "bonnie++: format and version",
                expected=f"{_FORMAT}, {_VERSION}",
                found=f"{fields[0]}, {fields[1]}"[:60],
                hint="sh setup/install.sh workloads installs the distribution's",
            )
        if len(fields) != _FIELDS:
            raise ValueError(f"{len(fields)} values, expected {_FIELDS}")
        if fields[_SIZE] != _size(spec.size_octets // _MIB):
            raise ValueError(f"a file of {fields[_SIZE]}, asked {spec.size_octets // _MIB} MiB")
        if fields[_CHUNK] not in ("", str(_BLOCK_OCTETS)):
            raise ValueError(f"blocks of {fields[_CHUNK]}")
        if spec.job == _WHOLE and (fields[_SEEKS_AT], fields[_FILES_AT]) != (str(_SEEKS), str(spec.problem)):
            raise ValueError(f"{fields[_SEEKS_AT]} seeks, {fields[_FILES_AT]} thousands of files")
        told = {
            name: rate(fields[at]) * unit
            for unit, each in ((1024, _OCTETS), (1, _COUNTED))
            for name, at in each[spec.job].items()
            if not fields[at].startswith(_TOO_FAST)
        }
    except ValueError as error:
        raise DriverError(
            "BONN-02",
            "bonnie++: its line of values",
            expected=f"one line of format {_FORMAT}",
            found=str(error)[:200],
            hint="another bonnie++ may have been installed; nothing was concluded",
        ) from error
    return JobsResult(
        told=told, process_ns=int(ran["process_ns"]), effective={"version": f"bonnie++ {fields[1]}"}
    )


def _size(mib: int) -> str:
    """Return a size as it prints it: in whole GiB where it is one."""
    return f"{mib // 1024}G" if mib % 1024 == 0 else f"{mib}M"


_: type[JobsWorkload] = Bonnie
