"""A pod of a path: made, given its interfaces, started, removed; and calls inside its network namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bmwg.drivers.api import JsonValue, PodParts
from bmwg.drivers.hosting.bundle import SLEEPER, PodSpec
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.paths.bed import Bed

UNDO_KIND = "pod"
_SLEEPS = PodParts()
_OCI = "bmwg.drivers.hosting.oci"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that exists; `start` runs its program."""

    pod_id: str
    pid: int
    node: NamespaceNode
    state_dir: str
    made: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def netns_path(self) -> str:
        """The pod's network namespace, valid while the pod is there."""
        return f"/proc/{self.pid}/ns/net"

    def start(self) -> None:
        """Start the pod's program."""
        self.node.call(f"{_OCI}:start", pod_id=self.pod_id, state_dir=self.state_dir)

    def inside(self, function: str, **arguments: JsonValue) -> JsonValue:
        """Run a function of this package on the node, in the pod's network namespace."""
        return self.node.call(
            "bmwg.drivers.hosting.inside:run", pid=self.pid, function=function, arguments=arguments
        )

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        found: dict[str, JsonValue] = self.node.call(
            f"{_OCI}:describe", pod_id=self.pod_id, state_dir=self.state_dir
        )
        return found


@contextmanager
def created_pod(
    bed: Bed,
    node: NamespaceNode,
    *,
    name: str,
    parts: PodParts = _SLEEPS,
) -> Iterator[Pod]:
    """Make a pod of the testbed's size on `node`, its program not started; remove it on leaving."""
    limits = bed.testbed.pods
    spec = PodSpec(
        pod_id=name,
        cpus=limits.cpuset,
        memory_octets=limits.memory_octets,
        hugepages_2mi=limits.hugepages_2mi,
        forwarding=parts.forwarding,
        arguments=parts.arguments or SLEEPER,
        binds=parts.binds,
    )
    state_dir = str(bed.run_dir / "pods")
    undo: dict[str, JsonValue] = {"pod_id": name, "state_dir": state_dir}
    entry = bed.undo.before(UNDO_KIND, node.place, **undo)
    try:
        made = node.call(f"{_OCI}:create", spec=spec.as_builtins(), state_dir=state_dir)
        bed.pods[name] = (node.name, made["pid"], made["start_ticks"])
        yield Pod(pod_id=name, pid=made["pid"], node=node, state_dir=state_dir, made=made)
    finally:
        bed.pods.pop(name, None)
        node.call(f"{_OCI}:delete", **undo)
        bed.undo.done(entry)
