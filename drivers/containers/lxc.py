"""Pods by LXC: system containers' own runtime, whose monitor watches each one; no daemon stands.

The pods are those of crun by their spec; programs of jobs and streams enter them by lxc-attach. They have no
function of the toolkit: what forwards frames is left to crun and Kubernetes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.protocols import (
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    Pod,
    PodNetwork,
    PodRuntime,
    UndoLog,
)
from bmwg.drivers.containers import lxc_pods, oci
from bmwg.drivers.containers.bundle import SLEEPER, PodSpec
from bmwg.drivers.containers.of_pods import OfPods
from bmwg.methodology.errors import ConfigError, DriverError

UNDO_KIND = "lxc"
_CALL_S = 60.0


class LxcPod(OfPods):
    """A pod whose container LXC holds. One with a network of its own sleeps from the beginning."""

    def __init__(self, node: PlacedNode, spec: PodSpec) -> None:
        super().__init__(node, spec.pod_id)
        self.start_steps_ns: dict[str, int] = {}
        self.end_steps_ns: dict[str, int] = {}
        self._spec = spec

    def run(self) -> None:
        """Make its container and start it: LXC does both at once."""
        made = self.node.call_within(_CALL_S, lxc_pods.start, spec=self._spec.as_builtins())
        self.pid, self.start_ticks = made["pid"], made["start_ticks"]

    @property
    def image(self) -> str:
        """What its root file system is."""
        return "the node's root file system, read-only"

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Programs enter it by lxc-attach."""
        attach = ["lxc-attach", *lxc_pods.named(self.pod_id), "--"]
        by = {"command": attach, "cgroup": oci.cgroup_of(self.pod_id)}
        return {**super().entry, "entered_by": by}

    def start(self, arguments: Sequence[str] = ()) -> None:
        """Start a container that joined a network; any other one runs already, and its program sleeps."""
        if self._spec.netns:
            self.run()
        self.start_steps_ns["container_running"] = time.monotonic_ns()

    def said(self) -> list[str]:
        """Return the last lines of its program's output."""
        return self.node.call(lxc_pods.said, pod_id=self.pod_id)

    def restart(self) -> dict[str, JsonValue]:
        """Refuse: pods that are restarted are those of functions. Raises DriverError POD-05."""
        raise DriverError("POD-05", f"pod {self.pod_id}: restart", found="no part of this runtime")

    def sample(self) -> Sample:
        """What all processes of the pod use."""
        return Sample(**self.node.call(lxc_pods.sample, pod_id=self.pod_id))

    def fault(self) -> str | None:
        """Say why the pod's first process no longer runs; None while it does."""
        return self.node.call(lxc_pods.fault, pod_id=self.pod_id, pid=self.pid, start_ticks=self.start_ticks)

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        return self.node.call(lxc_pods.describe, pod_id=self.pod_id, pid=self.pid)


class LxcRuntime:
    """Makes pods by LXC on the nodes of a run; their files lie in each node's own /run."""

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        if options:
            raise ConfigError(
                "CFG-04",
                "pods.options of the testbed file",
                expected="none: lxc has no settings here",
                found=", ".join(options),
            )
        self._undo = undo
        self._version: JsonValue = None

    def probe(self, node: Node) -> Missing | None:
        """Return what the node lacks for LXC."""
        found = node.call(lxc_pods.probe)
        return Missing(**found) if found else None

    def refuses(self, network: NetworkDriver) -> Missing | None:
        """Every network attaches to a process's namespace."""
        return None

    def side_by_side(self, functions: int) -> Missing | None:
        """No pod of these has a function."""
        return Missing(
            what="functions in pods by lxc",
            reason="its pods are made for programs of jobs and streams",
            mend="pods.runtime: crun",
        )

    def no_further_container(self) -> Missing | None:
        """A container may join any network namespace."""
        return None

    def standing(
        self,
        nodes: Mapping[str, PlacedNode],
        *,
        cpus: str,
        kept_off: Sequence[Sequence[int]] = (),
        networks: Sequence[NetworkDriver] = (),
    ) -> AbstractContextManager[None]:
        """Nothing: LXC has no service."""
        return nullcontext()

    def ready(self, node: PlacedNode) -> AbstractContextManager[None]:
        """Nothing: a pod waits for no service."""
        return nullcontext()

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()) -> Iterator[Pod]:
        """Make a pod with its networks; remove it on leaving.

        Raises ConfigError POD-01 for a pod with a network and a program of its own.
        """
        if spec.told_at_start or not (spec.netns or tuple(spec.arguments) == SLEEPER):
            raise ConfigError(
                "POD-01", f"pod {spec.pod_id} by lxc", expected="one that sleeps", found="a program"
            )
        asked_ns = time.monotonic_ns()
        with ExitStack() as stack:
            stack.enter_context(self._removed(node, spec.pod_id))
            self._version = self._version or node.call(lxc_pods.version)
            pod = LxcPod(node, spec)
            if not spec.netns:  # a network is attached to its process
                pod.run()
            pod.start_steps_ns |= {"pod_asked": asked_ns, "container_created": time.monotonic_ns()}
            pod.attach(stack, networks)
            pod.start_steps_ns["networks_attached"] = time.monotonic_ns()
            yield pod

    @contextmanager
    def _removed(self, node: PlacedNode, pod_id: str) -> Iterator[None]:
        entry = self._undo.before(UNDO_KIND, node.place, pod_id=pod_id)
        try:
            yield
        finally:
            node.call_within(_CALL_S, lxc_pods.delete, pod_id=pod_id)
            self._undo.done(entry)

    def describe(self) -> Mapping[str, JsonValue]:
        """Its name and its version, as it told it."""
        return {"runtime": "lxc", "versions": {"lxc": self._version}}


_: type[PodRuntime] = LxcRuntime
