"""NBench (BYTEmark) as a workload of jobs: its three indexes for Linux, from the user's own program.

No distribution has it. The variable BMWG_NBENCH names the program; its file NNET.DAT lies beside it, and both
are copied to the job's folder, because it reads that from where it runs. It tells three indexes (against an
AMD K6 of 233 MHz) with three decimals. Where it doubts the result of a test (it is not 95 %
certain), it says so, and so does the execution. Ids: NBEN-01 another version, NBEN-02 an output that is not
as that version writes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import job_files
from bmwg.drivers.workload.of_jobs import JobsWorkload, OfJobs, failed
from bmwg.drivers.workload.printed import rate
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.jobs.records import DOUBTED, JobsResult, JobsSpec

VARIABLE = "BMWG_NBENCH"
_DATA = "NNET.DAT"
_VERSION = re.compile(r"^BYTEmark\* Native Mode Benchmark ver\. (\S+) \(", re.MULTILINE)
_TRIED = "2"
_ORIGINAL, _LINUX = "ORIGINAL BYTEMARK RESULTS", "LINUX DATA BELOW"
_INDEX = re.compile(r"^(MEMORY|INTEGER|FLOATING-POINT) INDEX *: *(\S+) *$", re.MULTILINE)
# where it doubts a test's result, it says so between the name and the values
_DOUBTED = r"((?:\n\*\* WARNING: [^\n]*)+\n +:)?"
_TEST = re.compile(rf"^([A-Z][A-Z ]+[A-Z]) +:{_DOUBTED} +(\S+) +: +\S+ +: +\S+ *$", re.MULTILINE)
_TESTS = (
    "NUMERIC SORT",
    "STRING SORT",
    "BITFIELD",
    "FP EMULATION",
    "FOURIER",
    "ASSIGNMENT",
    "IDEA",
    "HUFFMAN",
    "NEURAL NET",
    "LU DECOMPOSITION",
)
_LAST = "* Trademarks are property of their respective holder."
_NAMES = {
    "MEMORY": "memory_index",
    "INTEGER": "integer_index",
    "FLOATING-POINT": "floating_point_index",
}


class Nbench(OfJobs):
    """nbench of the user's, once an execution."""

    program: ClassVar[str] = "nbench"
    jobs: ClassVar[frozenset[str]] = frozenset({"indexes"})

    def probe(self) -> Missing | None:
        """Tell whether the user's program and its data can be read on all nodes."""
        path = os.environ.get(VARIABLE, "")
        if not path:
            return Missing(
                what="program nbench",
                reason="no distribution has it",
                mend=f"build NBench 2.2.3 and set {VARIABLE}=/path/to/nbench (docs/hosts.md)",
            )
        for file in (path, str(Path(path).with_name(_DATA))):
            for node in self._nodes:
                if not node.call(job_files.readable, file=file):
                    return Missing(
                        what="program nbench",
                        reason=f"{Path(file).name} cannot be read there, on node {node.name}",
                        mend=f"{VARIABLE}=/path/to/nbench, with {_DATA} beside it",
                    )
        return None

    def run(self, spec: JobsSpec, /) -> JobsResult:
        """Run it once. Raises TestbedError NBEN-01, DriverError NBEN-02, ConfigError LOAD-03."""
        self.require(spec)
        job = self.attached
        path = Path(os.environ[VARIABLE])
        for file, name in ((path, "nbench"), (path.with_name(_DATA), _DATA)):
            job.place.node.call(job_files.copy, file=str(file), folder=job.on_node, name=name)
        return read(self.ran(["./nbench"], spec.within_s), spec)

    def describe(self) -> Mapping[str, Any]:
        """The program by the hash of its file; its version stands in each execution."""
        path = os.environ.get(VARIABLE, "")
        told = {node.name: node.call(job_files.sha256, file=path) for node in self._nodes}
        return {"program": self.program, "versions": "in each execution", "sha256": told}


def read(ran: Mapping[str, Any], spec: JobsSpec) -> JobsResult:
    """Read what nbench printed. Raises TestbedError NBEN-01, DriverError NBEN-02."""
    if (found := failed("nbench", ran)) is not None:
        return found
    output = ran["output"]
    version = _VERSION.search(output)
    if version is None or version[1] != _TRIED:
        raise TestbedError(
            "NBEN-01",
            "nbench: its version",
            expected=f"BYTEmark* Native Mode Benchmark ver. {_TRIED}",
            found=repr(output[:80]),
            hint="NBench 2.2.3 prints it",
        )
    try:
        return JobsResult(
            told=_indexes(output),
            process_ns=int(ran["process_ns"]),
            effective={"version": f"BYTEmark {version[1]}", **_doubts(output)},
        )
    except (KeyError, ValueError) as error:
        raise DriverError(
            "NBEN-02",
            "nbench: its output",
            expected="ten tests, and three indexes for Linux, as version 2.2.3 prints them",
            found=f"{type(error).__name__}: {error}"[:200],
            hint="another nbench may have been built; nothing was concluded",
        ) from error


def _indexes(output: str) -> dict[str, float]:
    """Return the indexes of the last part: the first part has two of the same names, on another scale."""
    if _LAST not in output:
        raise ValueError("its last line is not there")
    tests = {name: float(value) for name, _, value in _TEST.findall(output)}
    if missing := [name for name in _TESTS if name not in tests]:
        raise ValueError(f"no line of {missing[0]}")
    before, mark, linux = output.partition(_LINUX)
    if not mark or _ORIGINAL not in before:
        raise ValueError(f"expected {_ORIGINAL}, then {_LINUX}")
    lines = _INDEX.findall(linux)
    if sorted(name for name, _ in lines) != sorted(_NAMES):
        raise ValueError(f"expected each index once, found {', '.join(name for name, _ in lines) or 'none'}")
    return {_NAMES[name]: rate(value) for name, value in lines}


def _doubts(output: str) -> dict[str, str]:
    named = [name for name, doubt, _ in _TEST.findall(output) if doubt]
    return {DOUBTED: ", ".join(named)} if named else {}


_: type[JobsWorkload] = Nbench
