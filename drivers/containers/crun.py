"""Pods by crun: a container with a network namespace of its own, made before its program is started."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

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
    undone,
)
from bmwg.drivers.containers import oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.of_pods import OfPods
from bmwg.drivers.containers.plain_runtime import IMAGE, PlainRuntime
from bmwg.drivers.nodes import programs

UNDO_KIND = "pod"
_COMMAND_MOUNT, _COMMAND_FILE = "/run/bmwg-command", "command.sh"


class CrunPod(OfPods):
    """A pod of crun's. A restart gives it another first process and leaves its namespace."""

    def __init__(
        self,
        node: PlacedNode,
        pod_id: str,
        state_dir: str,
        *,
        pid: int,
        start_ticks: int,
        command: str = "",
    ) -> None:
        super().__init__(node, pod_id, pid=pid, start_ticks=start_ticks)
        self.start_steps_ns: dict[str, int] = {}
        self.end_steps_ns: dict[str, int] = {}
        self._command = command
        self._state_dir = state_dir

    @property
    def image(self) -> str:
        """What its root file system is."""
        return IMAGE

    def start(self, arguments: Sequence[str] = ()) -> None:
        """Start the pod's program; a shell takes arguments that are told only now from a file."""
        if self._command:
            told = {_COMMAND_FILE: "exec " + shlex.join(arguments) + "\n"}
            self.node.machine.call(programs.write_files, folder=self._command, files=told, shared=False)
        self.node.call(oci.start, pod_id=self.pod_id, state_dir=self._state_dir)
        self.start_steps_ns["container_running"] = time.monotonic_ns()

    def said(self) -> list[str]:
        """Return the last lines of its program's output."""
        return self.node.call(oci.said, pod_id=self.pod_id)

    def restart(self) -> dict[str, JsonValue]:
        """End the container and start it anew in the pod's own network namespace, as a kubelet does."""
        made = self.node.call_within(
            50.0, oci.restart, pod_id=self.pod_id, state_dir=self._state_dir, pid=self.pid
        )
        self.pid, self.start_ticks = made["pid"], made["start_ticks"]
        return {"began_ns": made["began_ns"], "ended_ns": made["ended_ns"]}

    def sample(self) -> Sample:
        """What all processes of the pod use."""
        return Sample(**self.node.call(oci.sample, pod_id=self.pod_id))

    def fault(self) -> str | None:
        """Say why the pod's first process no longer runs; None while it does."""
        return self.node.call(oci.fault, pod_id=self.pod_id, pid=self.pid, start_ticks=self.start_ticks)

    def describe(self) -> dict[str, JsonValue]:
        """Return the pod as the kernel has it."""
        return self.node.call(oci.describe, pod_id=self.pod_id, state_dir=self._state_dir)


class CrunRuntime(PlainRuntime):
    """Makes pods by crun on the nodes of a run; their state lies below the run's folder."""

    name = "crun"

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        super().__init__(run_dir=run_dir, undo=undo, options=options)
        self._state_dir = f"{run_dir}/pods"
        self._commands = f"{run_dir}/commands"

    def probe(self, node: Node) -> Missing | None:
        """Return what the node lacks for pods: crun, cgroups."""
        return Missing.told(node.call(oci.probe))

    def describe(self) -> Mapping[str, JsonValue]:
        """Its name; each pod tells the version."""
        return {"runtime": "crun"}

    @contextmanager
    def made(self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()) -> Iterator[Pod]:
        """Make a pod and attach its networks, its program not started; remove it on leaving."""
        undo: dict[str, JsonValue] = {"pod_id": spec.pod_id, "state_dir": self._state_dir}
        asked_ns = time.monotonic_ns()
        ends: dict[str, int] = {}
        with ExitStack() as stack:
            stack.callback(_noted, ends, "container_removed")
            command = ""
            if spec.told_at_start:
                command = stack.enter_context(self._command_folder(node, spec.pod_id))
                mount = (command, _COMMAND_MOUNT, False)
                arguments = ("/bin/sh", f"{_COMMAND_MOUNT}/{_COMMAND_FILE}")
                spec = replace(spec, arguments=arguments, binds=(*spec.binds, mount))
            delete = partial(node.call, oci.delete, **undo)
            stack.enter_context(undone(self._undo, UNDO_KIND, node.place, delete, **undo))
            made = node.call(oci.create, spec=spec.as_builtins(), state_dir=self._state_dir)
            pod = CrunPod(
                node,
                spec.pod_id,
                self._state_dir,
                pid=made["pid"],
                start_ticks=made["start_ticks"],
                command=command,
            )
            pod.end_steps_ns = ends
            stack.callback(_noted, ends, "networks_detached")
            pod.start_steps_ns |= {"pod_asked": asked_ns, "container_created": time.monotonic_ns()}
            pod.attach(stack, networks)
            pod.start_steps_ns["networks_attached"] = time.monotonic_ns()
            yield pod

    def resize(self, pod: Pod, *, quota_us: int = 0, memory_octets: int = 0) -> None:
        """Have crun change the pod's limits."""
        pod.node.call(
            oci.update,
            pod_id=pod.pod_id,
            state_dir=self._state_dir,
            quota_us=quota_us,
            memory_octets=memory_octets,
        )

    @contextmanager
    def _command_folder(self, node: PlacedNode, pod_id: str) -> Iterator[str]:
        """Yield where a pod's shell will find its program; the folder goes on leaving."""
        folder, machine = f"{self._commands}/{pod_id}", node.machine
        remove = partial(machine.call, programs.remove_folder, folder=folder)
        with undone(self._undo, "folder", machine.place, remove, folder=folder):
            machine.call(programs.write_files, folder=folder, files={}, shared=False)
            yield folder


def _noted(steps: dict[str, int], name: str) -> None:
    steps[name] = time.monotonic_ns()


_: type[ResizingRuntime] = CrunRuntime
