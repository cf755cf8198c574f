"""Pods by crun: a container with a network namespace of its own, made before its program is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api import JsonValue, Missing, Node, PlacedNode, Pod, PodRuntime, UndoLog
from bmwg.drivers.hosting.bundle import PodSpec
from bmwg.drivers.hosting.instance import Sample

UNDO_KIND = "pod"
_OCI = "bmwg.drivers.hosting.oci"


class CrunPod:
    """A pod of crun's. A restart gives it another first process and leaves its namespace."""

    def __init__(self, node: PlacedNode, pod_id: str, state_dir: str, *, pid: int, start_ticks: int) -> None:
        self.node = node
        self.pod_id = pod_id
        self.pid = pid
        self.start_ticks = start_ticks
        self._state_dir = state_dir

    @property
    def netns_path(self) -> str:
        """The pod's network namespace, valid while its first process runs."""
        return f"/proc/{self.pid}/ns/net"

    def start(self) -> None:
        """Start the pod's program."""
        self.node.call(f"{_OCI}:start", pod_id=self.pod_id, state_dir=self._state_dir)

    def restart(self) -> dict[str, JsonValue]:
        """End the container and start it anew in the pod's own network namespace, as a kubelet does."""
        made = self.node.call(
            f"{_OCI}:restart",
            deadline_s=50.0,
            pod_id=self.pod_id,
            state_dir=self._state_dir,
            pid=self.pid,
        )
        self.pid, self.start_ticks = made["pid"], made["start_ticks"]
        return {"began_ns": made["began_ns"], "ended_ns": made["ended_ns"]}

    def inside(self, function: str, *, within_s: float = 10.0, **arguments: JsonValue) -> JsonValue:
        """Run a function on the node, in the pod's network namespace."""
        return self.node.call(
            "bmwg.drivers.hosting.inside:run",
            deadline_s=within_s + 20.0,
            pid=self.pid,
            function=function,
            arguments=arguments,
            within_s=within_s,
        )

    def sample(self) -> Sample:
        """What all processes of the pod use."""
        return Sample(**self.node.call(f"{_OCI}:sample", pod_id=self.pod_id))

    def fault(self) -> str | None:
        """Say why the pod's first process no longer runs; None while it does."""
        found: str | None = self.node.call(
            f"{_OCI}:fault", pod_id=self.pod_id, pid=self.pid, start_ticks=self.start_ticks
        )
        return found

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        found: dict[str, JsonValue] = self.node.call(
            f"{_OCI}:describe", pod_id=self.pod_id, state_dir=self._state_dir
        )
        return found


class CrunRuntime:
    """Makes pods by crun on the nodes of a run; their state lies below the run's folder."""

    def __init__(self, *, run_dir: str, undo: UndoLog) -> None:
        self._state_dir = f"{run_dir}/pods"
        self._undo = undo

    def probe(self, node: Node) -> Missing | None:
        """Return what the node lacks for pods: crun, cgroups."""
        found = node.call(f"{_OCI}:probe")
        return Missing(**found) if found else None

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec) -> Iterator[Pod]:
        """Make a pod, its program not started; remove it on leaving."""
        undo: dict[str, JsonValue] = {"pod_id": spec.pod_id, "state_dir": self._state_dir}
        entry = self._undo.before(UNDO_KIND, node.place, **undo)
        try:
            made = node.call(f"{_OCI}:create", spec=spec.as_builtins(), state_dir=self._state_dir)
            yield CrunPod(
                node, spec.pod_id, self._state_dir, pid=made["pid"], start_ticks=made["start_ticks"]
            )
        finally:
            node.call(f"{_OCI}:delete", **undo)
            self._undo.done(entry)


_: type[PodRuntime] = CrunRuntime
