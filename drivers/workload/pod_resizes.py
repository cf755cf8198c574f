"""A pod that routes, and whose runtime makes its CPU time or its memory less while frames pass; and back.

The limit is read back from the pod's cgroup. Of CPU time a program in the pod then wants all that it can get,
for a second in which no frame is timed: what the kernel counts of it shows what the limit is worth.
Ids: RESIZE-02 the pod holds more memory than it is to have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import Missing, Pod, ResizingRuntime
from bmwg.drivers.containers import bundle, limits, pod_programs
from bmwg.drivers.paths import path_driver
from bmwg.drivers.ports import interfaces
from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.drivers.workload.resizes import Resizable, Resizes, Standing
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.acts.experiments import PATH
from bmwg.methodology.kinds.acts.records import CPUS, ActsSpec

FULL_QUOTA_US = bundle.PERIOD_US  # all of one CPU
# choice: so little that a program gets it, and is held back then, beside much else on the machine as well
LESS_QUOTA_US = 5_000
_WANTS_S = 1.0  # choice: ten periods of the quota
_WITHIN_S = 20.0


class _PodLimit:
    """A limit of a pod, and what its interface has sent."""

    def __init__(self, runtime: ResizingRuntime, pod: Pod, what: str, sizes: tuple[int, int]) -> None:
        self._runtime, self.pod, self.sizes = runtime, pod, sizes
        self.name = f"the {what} of pod {pod.pod_id}"

    def complete(self) -> None:
        """Nothing is left of the other size."""

    def forwarded(self) -> int:
        """How many frames have left the pod by its second interface."""
        name = self.pod.attached[1].attachment.interface
        return int(self.pod.inside(interfaces.counters, interface=name)["tx_packets"])

    def told(self) -> dict[str, int]:
        """Return figures that show what the limit in force is worth."""
        raise NotImplementedError

    def shown(
        self, frames: MovingFrames, beside: BesideFrames | None, asked_ns: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return the figures, and no further step."""
        return {}, self.told()

    def used(self) -> dict[str, int]:
        """What the pod has used until now."""
        return self.pod.node.call(limits.used, pid=self.pod.pid)


class PodMemory(_PodLimit):
    """The most memory that a pod may use, in octets."""

    def ask(self, size: int) -> None:
        """Have the runtime set it. Raises TestbedError RESIZE-02, which leaves it as it was."""
        kept = self.used()["kept_octets"]  # of what it cannot give back a kernel may end its programs
        if kept > size:
            raise TestbedError("RESIZE-02", self.name, expected=f"{size} octets", found=f"{kept} in use")
        self._runtime.resize(self.pod, memory_octets=size)

    def size(self) -> int:
        """What its cgroup says."""
        return self.pod.node.call(limits.held, pid=self.pod.pid)["octets"]

    def told(self) -> dict[str, int]:
        """What the pod uses of it."""
        return {"used_octets": self.used()["octets"]}


class PodCpu(_PodLimit):
    """The CPU time of a pod in each period, in microseconds."""

    def ask(self, size: int) -> None:
        """Have the runtime set it."""
        self._runtime.resize(self.pod, quota_us=size)

    def size(self) -> int:
        """What its cgroup says."""
        return self.pod.node.call(limits.held, pid=self.pod.pid)["quota_us"]

    def told(self) -> dict[str, int]:
        """Have a program in the pod want a CPU, and say what it got. Raises DriverError what it raises."""
        before = self.used()
        command = ["timeout", f"{_WANTS_S:g}", "sh", "-c", "while :; do :; done"]
        ended = self.pod.node.call_within(
            2 * _WITHIN_S, pod_programs.run, command=command, within_s=_WITHIN_S, **self.pod.entry
        )
        after = self.used()
        if ended["fault"] or ended["status"] != 124:  # of timeout(1): it ended the program
            found = ended["fault"] or f"status {ended['status']}: {ended['errors'][-200:]}"
            raise DriverError(
                "PROG-02", f"a program in pod {self.pod.pod_id}", expected="its end", found=found
            )
        return {
            "period_us": bundle.PERIOD_US,
            "spun_us": after["cpu_us"] - before["cpu_us"],
            "spun_window_us": (after["at_ns"] - before["at_ns"]) // 1000,
            "throttled_periods": after["throttled_periods"] - before["throttled_periods"],
            "throttled_us": after["throttled_us"] - before["throttled_us"],
        }


class PodResizes(Resizes):
    """Resizes a pod."""

    paths: ClassVar[tuple[str, ...]] = (PATH,)

    def probe(self) -> Missing | None:
        """Return what is missing: a runtime that changes limits of a pod that runs."""
        bed = self._ground.bed
        if not isinstance(bed.runtime, ResizingRuntime):
            return Missing(
                what="limits of a pod that change while it runs",
                reason=f"{bed.testbed.pods.runtime} is not asked for that here",
                mend="pods.runtime: crun",
            )
        return super().probe()

    @contextmanager
    def standing(self, ground: Ground, spec: ActsSpec) -> Iterator[Standing]:
        """Make the pod with the first of its sizes."""
        runtime = ground.bed.runtime
        assert isinstance(runtime, ResizingRuntime)  # as `probe` has found
        with path_driver(ground.cell, ground.bed).deploy() as deployment:
            (pod,) = ground.bed.pods.values()
            limit: Resizable
            if spec.mode == CPUS:
                limit = PodCpu(runtime, pod, "CPU time", (FULL_QUOTA_US, LESS_QUOTA_US))
                limit.ask(FULL_QUOTA_US)
            else:
                octets = ground.bed.testbed.pods.memory_octets
                limit = PodMemory(runtime, pod, "memory", (octets, octets // 2))
            ports = (deployment.ports[0], deployment.ports[1])
            yield Standing(ports=ports, routers=ground.routers, resizable=limit)


_: type[ActsWorkload] = PodResizes
