"""What drivers of jobs have in common: a program that runs to its end in one place and says what it measured.

Ids: LOAD-02 no place is attached, LOAD-03 a job that the driver does not do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bmwg.drivers.api.protocols import Evidence, Node, ProgramPlace, WorkloadDriver
from bmwg.drivers.api.workload import ONE, Takes
from bmwg.drivers.workload.of_programs import OfPrograms
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.jobs.records import KIND, JobsResult, JobsSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """Where a job runs, with what the record says of it.

    `folder` is the one for its files as the program sees it, `on_node` as the node does. `own_programs` says
    that the place has programs of its own, and not the node's.
    """

    place: ProgramPlace
    folder: str
    on_node: str
    evidence: Evidence
    own_programs: bool = False


class JobsWorkload(WorkloadDriver[Sequence[JobPlace], JobsSpec, JobsResult], Protocol):
    """What runs jobs, found by a cell's workload among `bmwg.drivers.workload`."""

    def __init__(self, nodes: Sequence[Node]) -> None: ...


class OfJobs(OfPrograms[JobPlace]):
    """A driver whose program stands on the nodes, and in pods by their root file system."""

    kind: ClassVar[str] = KIND
    takes: ClassVar[Takes] = ONE
    jobs: ClassVar[Collection[str]]

    def learn(self, spec: JobsSpec, /) -> None:
        """Nothing: a job begins by itself."""

    @property
    def attached(self) -> JobPlace:
        """Where the job runs. Raises DriverError LOAD-02."""
        return self.all_attached("nothing was run")[0]

    def require(self, spec: JobsSpec) -> None:
        """Raise ConfigError LOAD-03 for a job, or a time, that this program does not do."""
        if not float(spec.duration_s).is_integer():
            raise ConfigError(
                "LOAD-03",
                f"workload {self.program}; nothing was run",
                expected="whole seconds",
                found=f"{spec.duration_s:g} s",
            )
        if spec.job not in self.jobs:
            raise ConfigError(
                "LOAD-03",
                f"workload {self.program}; nothing was run",
                expected=f"job {' or '.join(sorted(self.jobs))}",
                found=spec.job,
            )

    def ran(self, command: Sequence[str], within_s: float, **environment: str) -> dict[str, Any]:
        """Run a command to its end in the folder of its files; what `pod_programs.run` returns."""
        job = self.attached
        settings = [f"{name}={value}" for name, value in {"LC_ALL": "C", **environment}.items()]
        words = ["env", f"--chdir={job.folder}", *settings, *command]
        return self.ran_in(job.place, words, within_s)


def failed(program: str, ran: Mapping[str, Any]) -> JobsResult | None:
    """Return the execution of a program that did not end well; None for one that did."""
    process_ns = int(ran["process_ns"])
    if ran["fault"]:
        return JobsResult(process_ns=process_ns, faults=(str(ran["fault"]),))
    if ran["status"] != 0:
        words = " ".join((ran["errors"] or ran["output"]).split())[-200:]
        return JobsResult(process_ns=process_ns, faults=(f"{program}: exit status {ran['status']}: {words}",))
    return None
