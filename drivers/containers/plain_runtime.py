"""What runtimes share whose pods are processes of a node: any network attaches, and no service stands."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    JsonValue,
    Missing,
    NetworkDriver,
    PlacedNode,
    PodNetwork,
    UndoLog,
)
from bmwg.drivers.containers.bundle import SLEEPER, PodSpec
from bmwg.drivers.containers.of_pods import OfPods
from bmwg.methodology.errors import ConfigError, DriverError

IMAGE = "the node's root file system, read-only"


class PlainRuntime:
    """A runtime without settings. `name` is by what it makes its pods."""

    name: ClassVar[str]

    def __init__(
        self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
    ) -> None:
        if options:
            raise ConfigError(
                "CFG-04",
                "pods.options of the testbed file",
                expected=f"none: {self.name} has no settings here",
                found=", ".join(options),
            )
        self._run_dir = run_dir
        self._undo = undo

    def refuses(self, network: NetworkDriver) -> Missing | None:
        """Every network attaches to a process's namespace."""
        return None

    def side_by_side(self, functions: int) -> Missing | None:
        """Pods share the CPUs that they are given."""
        return None

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
        """Nothing stands before the first pod."""
        return nullcontext()

    def ready(self, node: PlacedNode) -> AbstractContextManager[None]:
        """Nothing: a pod waits for no service."""
        return nullcontext()


class SleepingRuntime(PlainRuntime):
    """A runtime of pods without a function, which programs of jobs and streams enter."""

    def side_by_side(self, functions: int) -> Missing | None:
        """No pod of these has a function."""
        return Missing(
            what=f"functions in pods by {self.name}",
            reason="its pods are made for programs of jobs and streams",
            mend="pods.runtime: crun",
        )

    def require_sleeper(self, spec: PodSpec) -> None:
        """Raise ConfigError POD-01 for a pod with a network and a program of its own."""
        if spec.told_at_start or not (spec.netns or tuple(spec.arguments) == SLEEPER):
            raise ConfigError(
                "POD-01", f"pod {spec.pod_id} by {self.name}", expected="one that sleeps", found="a program"
            )


class SleepingPod(OfPods):
    """A pod that programs enter. One with a network of its own sleeps from the beginning."""

    def __init__(self, node: PlacedNode, spec: PodSpec) -> None:
        super().__init__(node, spec.pod_id)
        self.start_steps_ns: dict[str, int] = {}
        self.end_steps_ns: dict[str, int] = {}
        self._spec = spec

    def run(self) -> None:
        """Start its container."""
        raise NotImplementedError

    @property
    def image(self) -> str:
        """What its root file system is."""
        return IMAGE

    def stand_up(self, stack: ExitStack, networks: Sequence[PodNetwork], asked_ns: int) -> None:
        """Attach its networks, which takes a process; note when each step was done."""
        if not self._spec.netns:
            self.run()
        self.start_steps_ns |= {"pod_asked": asked_ns, "container_created": time.monotonic_ns()}
        self.attach(stack, networks)
        self.start_steps_ns["networks_attached"] = time.monotonic_ns()

    def start(self, arguments: Sequence[str] = ()) -> None:
        """Start a container that joined a network; any other one runs already, and its program sleeps."""
        if self._spec.netns:
            self.run()
        self.start_steps_ns["container_running"] = time.monotonic_ns()

    def restart(self) -> dict[str, JsonValue]:
        """Refuse: pods that are restarted are those of functions. Raises DriverError POD-05."""
        raise DriverError("POD-05", f"pod {self.pod_id}: restart", found="no part of this runtime")
