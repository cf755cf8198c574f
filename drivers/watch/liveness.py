"""Whether what a deployment is made of still stands: its pods, other programs, interfaces and links.

A pod that dies while a trial runs looks like a device that loses every frame, and so does a cable that is
pulled and put back. A pod whose cpuset somebody else has rewritten runs on CPUs that are not its own. This
evidence is independent of the counts: the trial's fault is stated, whatever was lost (a trial with a fault is
never a bound).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import process
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.errors import ToolkitError

_SYS_NET = Path("/sys/class/net")
_FLAG_UP = 1
_NOTHING: Mapping[str, JsonValue] = {"interfaces": {}}


class Liveness:
    """What stood when a deployment was ready; `fault` says what of it does no longer."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._before = {name: self._observe(name) for name in bed.nodes}
        tester = registry.load(registry.TRAFFIC, bed.testbed.tester.driver, where="tester.driver")
        links = () if tester.renews_links else bed.testbed.links
        ends = {end for link in links for end in (link.a, link.b)}
        self._losses = {
            end: seen[2]
            for end in sorted(ends)
            if (seen := self._before.get(end.node, _NOTHING)["interfaces"].get(end.interface))
        }

    def fault(self, *, acted: bool = False) -> str | None:
        """Say what has failed since the deployment was ready; None while all of it stands.

        `acted`: the trial interrupted links itself, so that one was lost since the last look is no fault.
        """
        for name, before in self._before.items():
            try:
                now = self._observe(name)
            except ToolkitError as error:
                return f"node {name} is lost: {error.found or error.what}"
            for pod, seen in before["pods"].items():
                found = now["pods"].get(pod, {"alive": False, "interfaces": [], "cpus": []})
                if not found["alive"]:
                    return f"pod {pod} on node {name} has ended"
                mine = self._bed.pods[pod].kept_to if pod in self._bed.pods else ()
                if strayed := sorted(set(found["cpus"]) - set(mine or seen["cpus"])):
                    told = ",".join(map(str, strayed))
                    return f"threads of pod {pod} on node {name} may run on CPUs that are not its own: {told}"
                if gone := sorted(set(seen["interfaces"]) - set(found["interfaces"])):
                    return f"interface {gone[0]} of pod {pod} on node {name} is gone"
            for program, alive in now["programs"].items():
                if not alive:
                    return f"{program} on node {name} has ended"
            for interface, (index, up, _) in before["interfaces"].items():
                current = now["interfaces"].get(interface)
                if current is None or current[0] != index:
                    return f"interface {interface} on node {name} is gone"
                if up and not current[1]:
                    return f"interface {interface} on node {name} was set down"
            if (lost := self._lost_link(name, now["interfaces"])) and not acted:
                return f"interface {lost} on node {name} lost its link"
        return None

    def _lost_link(self, node: str, interfaces: Mapping[str, JsonValue]) -> str | None:
        """Say which end of a link of the testbed lost its carrier since the last look, if one did."""
        lost = None
        for end, before in self._losses.items():
            if end.node == node:
                self._losses[end] = interfaces[end.interface][2]
                lost = lost or (end.interface if self._losses[end] > before else None)
        return lost

    def _observe(self, node: str) -> dict[str, JsonValue]:
        pods = {
            name: [pod.pid, pod.start_ticks] for name, pod in self._bed.pods.items() if pod.node.name == node
        }
        programs = {
            name: [pid, ticks] for name, (place, pid, ticks) in self._bed.programs.items() if place == node
        }
        return self._bed.host(node).call(observe, pods=pods, programs=programs)


def observe(*, pods: Mapping[str, list[int]], programs: Mapping[str, list[int]]) -> dict[str, JsonValue]:
    """Node function: interfaces by name with index and state, and of each pod and program whether it lives.

    Of a pod also its interfaces, and on which CPUs the threads of its first process may run.

    Both map a name to the pid and start time (clock ticks since boot) of its process, a pod's first one. Of
    an interface its index, whether it is enabled, and how often it has lost its carrier.
    """
    return {
        "interfaces": {name: seen for name in os.listdir(_SYS_NET) if (seen := _interface(name))},
        "pods": {
            pod: {"alive": process.same(pid, ticks), "interfaces": _interfaces_of(pid), "cpus": _cpus_of(pid)}
            for pod, (pid, ticks) in pods.items()
        },
        "programs": {name: process.same(pid, ticks) for name, (pid, ticks) in programs.items()},
    }


def _interface(name: str) -> list[JsonValue] | None:
    try:
        index = int((_SYS_NET / name / "ifindex").read_text())
        flags = int((_SYS_NET / name / "flags").read_text(), 16)
        losses = int((_SYS_NET / name / "carrier_down_count").read_text())
    except (OSError, ValueError):
        return None  # it went while we looked, or it is no interface (bonding_masters)
    return [index, bool(flags & _FLAG_UP), losses]


def _interfaces_of(pid: int) -> list[str]:
    """Names in the network namespace of a process, without entering it."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
        return [line.partition(":")[0].strip() for line in lines]
    return []


def _cpus_of(pid: int) -> list[int]:
    """On which CPUs the threads of a process may run; none of one that has ended."""
    found = set[int]()
    with contextlib.suppress(OSError):
        for task in map(int, os.listdir(f"/proc/{pid}/task")):
            with contextlib.suppress(OSError):  # it may have ended meanwhile
                found |= os.sched_getaffinity(task)
    return sorted(found)
