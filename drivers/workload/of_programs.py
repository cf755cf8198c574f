"""What drivers have in common whose program stands on the nodes of a testbed.

They are made of the nodes. Between executions no program of theirs runs. Ids: LOAD-02 no place is attached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing, Node, ProgramPlace
from bmwg.drivers.api.workload import Attaches, EndT
from bmwg.drivers.containers import pod_programs
from bmwg.methodology.errors import DriverError

MEND = "sh setup/install.sh workloads"
_CALL_MARGIN_S = 20.0


class OfPrograms(Attaches[EndT]):
    """A driver of one program, which runs at the ends that are attached."""

    program: ClassVar[str]

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(dict.fromkeys(nodes))

    @property
    def named(self) -> str:
        """The program."""
        return self.program

    def probe(self) -> Missing | None:
        """Tell whether the program is on all nodes."""
        for node in self._nodes:
            if node.call(pod_programs.missing, program=self.program):
                return Missing(what=self.program, reason=f"not on node {node.name}", mend=MEND)
        return None

    def describe(self) -> Mapping[str, JsonValue]:
        """The program, as the nodes tell its version."""
        told = {node.name: node.call(pod_programs.version, program=self.program) for node in self._nodes}
        return {"program": self.program, "versions": told}

    def all_attached(self, nothing: str) -> tuple[EndT, ...]:
        """Return what is attached. Raises DriverError LOAD-02, which says in `nothing` what was not done."""
        if not self.ends:
            raise DriverError(
                "LOAD-02",
                f"workload {self.program}: nothing is attached; {nothing}",
                hint="attach() comes first",
            )
        return self.ends

    def ran_in(self, place: ProgramPlace, command: Sequence[str], within_s: float) -> dict[str, Any]:
        """Run a program in a place to its end; what `pod_programs.run` returns."""
        return place.node.call_within(
            within_s + _CALL_MARGIN_S,
            pod_programs.run,
            command=list(command),
            within_s=within_s,
            mend=MEND,
            **place.entry,
        )
