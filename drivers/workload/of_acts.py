"""What drivers of acts have in common: the path that they make and remove, and the tester's two ports.

Ids: LOAD-02 no path is attached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from bmwg.drivers.api.protocols import ClusterRuntime, JsonValue, Missing, TesterPort, WorkloadDriver
from bmwg.drivers.api.workload import ONE, Attaches, Takes
from bmwg.drivers.paths import path_driver, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.workload.failed_starts import failure_of
from bmwg.drivers.workload.offered_frames import Seen
from bmwg.methodology.errors import DriverError, ToolkitError
from bmwg.methodology.kinds.acts.experiments import PATH, POLICY_PATH, SERVER_PATH
from bmwg.methodology.kinds.acts.records import KIND, ActsResult, ActsSpec, Failure, Life
from bmwg.methodology.records import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where pods are made and removed: an open testbed, and the cell of frames whose path they are.

    `mode` is that of the acts which are asked for there; empty of those without one.
    """

    bed: Bed
    cell: Cell
    mode: str = ""

    @property
    def ports(self) -> tuple[TesterPort, TesterPort]:
        """The tester's ports, known before the path is there. Raises ConfigError PATH-01."""
        first, second = self.bed.sides()
        return routed_port(self.bed, first), routed_port(self.bed, second)

    @property
    def routers(self) -> int:
        """How many routers forward a frame on the whole path: a server, or pod and node around it."""
        if self.cell.path == SERVER_PATH:
            return 1
        if self.cell.path == POLICY_PATH:  # from pod to pod: by the node, or through its bridge
            return int(self.bed.network(self.cell.network).spec.uplink == uplinks.ROUTED)
        return 3 if self.bed.network(self.cell.network).spec.uplink == uplinks.ROUTED else 1


def life_of(
    seen: Seen,
    began_ns: int,
    *,
    asked_ns: int,
    steps: Mapping[str, int],
    moments: Mapping[str, int],
    removal_steps: Mapping[str, int] | None = None,
) -> Life:
    """Return a life from what came of its frames and from moments of the clock."""

    def since(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns - began_ns

    return Life(
        asked_ns=asked_ns - began_ns,
        steps={name: at_ns - began_ns for name, at_ns in steps.items()},
        removal_steps={name: at_ns - began_ns for name, at_ns in (removal_steps or {}).items()},
        not_before_ns=since(seen.not_before_ns),
        first_frame_ns=since(seen.first_ns),
        last_frame_ns=since(seen.last_ns),
        offered_frames=seen.offered,
        received_frames=seen.received,
        reordered_frames=seen.reordered,
        bypassed_frames=seen.bypassed,
        ready_ns=since(moments.get("ready_ns")),
        remove_asked_ns=since(moments.get("remove_asked_ns")),
        removed_ns=since(moments.get("removed_ns")),
    )


def failed_life(seen: Seen, began_ns: int, *, asked_ns: int, error: ToolkitError) -> Life:
    """Return the life of a start that ended in an error, which is one of a start's."""
    kind = failure_of(error)
    assert kind is not None
    life = life_of(seen, began_ns, asked_ns=asked_ns, steps={}, moments={})
    return replace(life, failed=kind.value, failed_by=error.error_id)


def without_frame(life: Life) -> Life:
    """Return a life that ran, and of which no frame came out in time, as one that failed."""
    return replace(life, failed=Failure.NO_FRAME.value)


class ActsWorkload(WorkloadDriver[Sequence[Ground], ActsSpec, ActsResult], Protocol):
    """What makes and removes pods, found by a cell's workload among `bmwg.drivers.workload`."""

    def __init__(self, ground: Ground) -> None: ...


class OfActs(Attaches[Ground]):
    """A driver that is made of the ground of its cell. `with_pods`: pods live and end there."""

    kind: ClassVar[str] = KIND
    paths: ClassVar[tuple[str, ...]] = (PATH,)
    function: ClassVar[str] = "kernel-l3"
    tells: ClassVar[str] = "how many routers its frames pass, by which they are known to have passed it"
    takes: ClassVar[Takes] = ONE
    with_pods: ClassVar[bool] = True

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def probe(self) -> Missing | None:
        """Return what is missing: the path, or ports that are interfaces of this machine."""
        if self._ground.bed.testbed.lab_ports:
            return Missing(
                what="the start of a pod or server, timed by frames, at lab ports",
                reason="frames are offered at interfaces of this machine from before the path is made",
                mend="a testbed whose links are made by the run (testbeds/embedded.yaml)",
            )
        if self._ground.cell.path not in self.paths or self._ground.cell.function != self.function:
            return Missing(
                what=f"an act, timed on path {self._ground.cell.path}, {self._ground.cell.function}",
                reason=f"{self.tells}, is known of path {' or '.join(self.paths)} with {self.function}",
                mend=f"path: {' or '.join(self.paths)} and function: {self.function} in the profile",
            )
        runtime = self._ground.bed.runtime
        users = None
        if self.with_pods and isinstance(runtime, ClusterRuntime):
            users = runtime.own_alone("the start of a pod, timed by frames")
        return users or path_driver(self._ground.cell, self._ground.bed).probe()

    def learn(self, spec: ActsSpec, /) -> None:
        """Nothing: what a start must learn is part of it."""

    def run(self, spec: ActsSpec, /) -> ActsResult:
        """Have so many lives; what failed is in the result, and ends it. Raises DriverError LOAD-02."""
        ground = self.attached
        lives: list[Life] = []
        faults: tuple[str, ...] = ()
        began_ns = time.monotonic_ns()
        try:
            self._live(ground, spec, began_ns, lives)
        except ToolkitError as error:
            faults = (f"{error.error_id} {error.what}: {error.found or 'no word'}",)
        return ActsResult(
            lives=tuple(lives),
            wall_ns=time.monotonic_ns() - began_ns,
            faults=(*faults, *self._left_behind(ground)),
        )

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        """Put each life into `lives` when it has ended; those before one that fails count."""
        raise NotImplementedError

    def _left_behind(self, ground: Ground) -> tuple[str, ...]:
        """Say what pods have left that their runtime knows of; none where it cannot tell."""
        runtime = ground.bed.runtime
        found = runtime.left() if self.with_pods and isinstance(runtime, ClusterRuntime) else []
        return (f"left behind: {', '.join(found[:20])}",) if found else ()

    def describe(self) -> Mapping[str, JsonValue]:
        """What offers the frames."""
        return {"program": "the runner's own packet sockets on the tester's ports", "versions": {}}

    @property
    def attached(self) -> Ground:
        """The ground. Raises DriverError LOAD-02."""
        if not self.ends:
            raise DriverError("LOAD-02", "no path is attached; nothing was made", hint="attach() comes first")
        return self.ends[0]
