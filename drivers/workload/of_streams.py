"""What drivers of streams have in common: a program in one pod asks a program in the other.

They are made of the nodes on which the pods at their two ends will stand. Ids: LOAD-02 no end is attached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from bmwg.drivers.api.protocols import Node, PodEnd, ServingPlace, WorkloadDriver
from bmwg.drivers.api.workload import TWO, Takes
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.nodes import programs
from bmwg.drivers.workload.of_programs import MEND, OfPrograms
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.streams.records import KIND, StreamsResult, StreamsSpec


class StreamsWorkload(WorkloadDriver[Sequence[PodEnd], StreamsSpec, StreamsResult], Protocol):
    """What offers streams between two pods, found by a cell's workload among `bmwg.drivers.workload`.

    The second end answers, the first asks; in which direction data goes is said by the spec.
    """

    def __init__(self, nodes: Sequence[Node]) -> None: ...


class OfStreams(OfPrograms[PodEnd]):
    """A driver whose program stands on the nodes, one process at each end for each execution."""

    kind: ClassVar[str] = KIND
    takes: ClassVar[Takes] = TWO

    def learn(self, spec: StreamsSpec, /) -> None:
        """Nothing: the pods' kernels learn neighbours by themselves, before a program counts."""

    @property
    def attached(self) -> tuple[PodEnd, PodEnd]:
        """Who asks and who answers. Raises DriverError LOAD-02."""
        asking, answering = self.all_attached("nothing was sent")
        return asking, answering

    @contextmanager
    def serving(self, end: PodEnd, command: list[str], *, port: int, transport: str) -> Iterator[str]:
        """Have the answering program listen while this is entered; gives the folder of its output.

        A place without an agent serves by itself. Raises TestbedError PROG-01, DriverError PROG-02, PROG-03
        (the port is taken), EXEC-01, EXEC-02, UNIK-03 (no server of this program in it).
        """
        if isinstance(end.pod, ServingPlace):
            if self.program not in end.pod.serves:
                raise DriverError(
                    "UNIK-03",
                    f"{self.program} in {end.pod.pod_id}",
                    expected=", ".join(end.pod.serves),
                    found="another",
                )
            yield ""
            return
        end.pod.inside(programs.require_free, address=end.address, port=port)
        with self.started(end, command) as folder:
            end.pod.inside(pod_programs.wait_listening, port=port, transport=transport)
            yield folder

    @contextmanager
    def started(self, end: PodEnd, command: list[str]) -> Iterator[str]:
        """Have a program run in a pod while this is entered; gives the folder of its output on the node.

        Raises TestbedError PROG-01, DriverError PROG-02, EXEC-01, EXEC-03.
        """
        pod = end.pod
        folder = f"/run/bmwg-streams/{pod.pod_id}"
        started = pod.node.call(pod_programs.start, command=command, folder=folder, mend=MEND, **pod.entry)
        try:
            yield folder
        finally:
            by = pod.entry.get("entered_by")
            pod.node.call(pod_programs.stop, folder=folder, **started, of=pod.pid, entered_by=by)

    def asked(self, end: PodEnd, command: list[str], within_s: float) -> dict[str, Any]:
        """Run the asking program to its end; what `pod_programs.run` returns."""
        return self.ran_in(end.pod, command, within_s)
