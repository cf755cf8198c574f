"""Pods by LXC: system containers' own runtime, whose monitor watches each one; no daemon stands.

The pods are those of crun by their spec; programs of jobs and streams enter them by lxc-attach. They have no
function of the toolkit: what forwards frames is left to crun and Kubernetes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.protocols import (
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    Pod,
    PodNetwork,
    PodRuntime,
    undone,
)
from bmwg.drivers.containers import lxc_pods, oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.plain_runtime import SleepingPod, SleepingRuntime

UNDO_KIND = "lxc"
_CALL_S = 60.0


class LxcPod(SleepingPod):
    """A pod whose container LXC holds."""

    def run(self) -> None:
        """Make its container and start it: LXC does both at once."""
        made = self.node.call_within(_CALL_S, lxc_pods.start, spec=self._spec.as_builtins())
        self.pid, self.start_ticks = made["pid"], made["start_ticks"]

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Programs enter it by lxc-attach."""
        attach = [*lxc_pods.NOTHING_INHERITED, "lxc-attach", *lxc_pods.named(self.pod_id), "--"]
        by = {"command": attach, "cgroup": oci.cgroup_of(self.pod_id)}
        return {**super().entry, "entered_by": by}

    def said(self) -> list[str]:
        """Return the last lines of its program's output."""
        return self.node.call(lxc_pods.said, pod_id=self.pod_id)

    def sample(self) -> Sample:
        """What all processes of the pod use."""
        return Sample(**self.node.call(lxc_pods.sample, pod_id=self.pod_id))

    def fault(self) -> str | None:
        """Say why the pod's first process no longer runs; None while it does."""
        return self.node.call(lxc_pods.fault, pod_id=self.pod_id, pid=self.pid, start_ticks=self.start_ticks)

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        return self.node.call(lxc_pods.describe, pod_id=self.pod_id, pid=self.pid)


class LxcRuntime(SleepingRuntime):
    """Makes pods by LXC on the nodes of a run; their files lie in each node's own /run."""

    name = "lxc"
    _version: JsonValue = None

    def probe(self, node: Node) -> Missing | None:
        """Return what the node lacks for LXC."""
        return Missing.told(node.call(lxc_pods.probe))

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()) -> Iterator[Pod]:
        """Make a pod with its networks; remove it on leaving.

        Raises ConfigError POD-01 for a pod with a network and a program of its own.
        """
        self.require_sleeper(spec)
        asked_ns = time.monotonic_ns()
        with ExitStack() as stack:
            delete = partial(node.call_within, _CALL_S, lxc_pods.delete, pod_id=spec.pod_id)
            stack.enter_context(undone(self._undo, UNDO_KIND, node.place, delete, pod_id=spec.pod_id))
            self._version = self._version or node.call(lxc_pods.version)
            pod = LxcPod(node, spec)
            pod.stand_up(stack, networks, asked_ns)
            yield pod

    def describe(self) -> Mapping[str, JsonValue]:
        """Its name and its version, as it told it."""
        return {"runtime": "lxc", "versions": {"lxc": self._version}}


_: type[PodRuntime] = LxcRuntime
