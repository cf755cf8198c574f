"""Pods by an engine with Docker's API: dockerd, or podman's REST socket, of the run's own on the pod's node.

The pods are those of crun by their spec; the programs of jobs and streams enter them by the engine's API.
They have no function of the toolkit: what forwards frames is left to crun and Kubernetes.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from bmwg.drivers.api.instance import Sample
from bmwg.drivers.api.protocols import (
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    Pod,
    PodNetwork,
    ResizingRuntime,
    UndoLog,
)
from bmwg.drivers.containers import docker_daemon, engine_pods
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.daemon import daemon
from bmwg.drivers.containers.plain_runtime import SleepingPod, SleepingRuntime

_CALL_S = 60.0


class EnginePod(SleepingPod):
    """A pod whose container an engine holds."""

    def __init__(self, node: PlacedNode, spec: PodSpec, token: str, container: str) -> None:
        super().__init__(node, spec)
        self._token = token
        self._container = container
        self._cgroup = ""

    def run(self) -> None:
        """Start its container."""
        made = self.node.call_within(
            _CALL_S,
            engine_pods.start,
            token=self._token,
            container=self._container,
            spec=self._spec.as_builtins(),
        )
        self.pid, self.start_ticks, self._cgroup = made["pid"], made["start_ticks"], made["cgroup"]

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Programs enter it by the engine's API."""
        by = {"token": self._token, "container": self._container, "cgroup": self._cgroup}
        return {**super().entry, "entered_by": by}

    def said(self) -> list[str]:
        """Nothing: a program that sleeps says nothing."""
        return []

    def sample(self) -> Sample:
        """What all processes of the pod use."""
        return Sample(**self.node.call(engine_pods.sample, cgroup=self._cgroup))

    def fault(self) -> str | None:
        """Say why the pod's first process no longer runs; None while it does."""
        return self.node.call(
            engine_pods.fault,
            token=self._token,
            container=self._container,
            pid=self.pid,
            start_ticks=self.start_ticks,
        )

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        return self.node.call(
            engine_pods.describe,
            token=self._token,
            container=self._container,
            pid=self.pid,
            cgroup=self._cgroup,
        )


class EngineRuntime(SleepingRuntime):
    """Makes pods by one engine. On each node that has a pod a daemon of the run's own stands meanwhile."""

    _version: JsonValue = None

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        super().__init__(run_dir=run_dir, undo=undo, options=options)
        self._ready: dict[str, str] = {}  # by node: the token of a daemon that stands for all of its pods

    def probe(self, node: Node) -> Missing | None:
        """Return what the node lacks for the engine."""
        return Missing.told(node.call(docker_daemon.probe, engine=self.name))

    @contextmanager
    def ready(self, node: PlacedNode) -> Iterator[None]:
        """Have a daemon with its image stand on the node, which makes all of its pods meanwhile."""
        token = f"{self.name[0]}{secrets.token_hex(3)}"
        with self._daemon(node, token):
            node.call_within(_CALL_S, engine_pods.prepare, token=token)
            self._ready[node.name] = token
            try:
                yield
            finally:
                del self._ready[node.name]

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()) -> Iterator[Pod]:
        """Make a pod, by a daemon of its own unless one is ready, with its networks; remove it on leaving.

        Raises ConfigError POD-01 for a pod with a network and a program of its own.
        """
        self.require_sleeper(spec)
        token = self._ready.get(node.name) or spec.pod_id.removeprefix("bmwg-")
        with ExitStack() as stack:
            if node.name not in self._ready:
                stack.enter_context(self._daemon(node, token))
                node.call_within(_CALL_S, engine_pods.prepare, token=token)
            asked_ns = time.monotonic_ns()  # the daemon and its image are no part of a pod's start
            made = node.call_within(_CALL_S, engine_pods.create, token=token, spec=spec.as_builtins())
            stack.callback(node.call_within, _CALL_S, engine_pods.delete, token=token, container=made)
            pod = EnginePod(node, spec, token, made)
            pod.stand_up(stack, networks, asked_ns)
            yield pod

    def resize(self, pod: Pod, *, quota_us: int = 0, memory_octets: int = 0) -> None:
        """Have the daemon change the pod's limits."""
        by = pod.entry["entered_by"]
        pod.node.call_within(
            _CALL_S,
            engine_pods.update,
            token=by["token"],
            container=by["container"],
            engine=self.name,
            quota_us=quota_us,
            memory_octets=memory_octets,
        )

    @contextmanager
    def _daemon(self, node: PlacedNode, token: str) -> Iterator[None]:
        root = f"{self._run_dir}/{self.name}-{token}"
        with daemon(
            node, self._undo, token=token, data_root=root, engine=self.name, nat=False
        ) as self._version:
            yield

    def describe(self) -> Mapping[str, JsonValue]:
        """Its name and its parts' versions, as the daemon told them."""
        return {"runtime": self.name, "versions": self._version}


class DockerRuntime(EngineRuntime):
    """Pods by dockerd, containerd and runc."""

    name = "docker"


class PodmanRuntime(EngineRuntime):
    """Pods by podman, conmon and runc."""

    name = "podman"


_: tuple[type[ResizingRuntime], ...] = (DockerRuntime, PodmanRuntime)
