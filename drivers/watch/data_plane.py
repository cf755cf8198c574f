"""Counts what the DUT's data plane uses during a trial: CPU time, memory and, where a CPU tells them, cycles.

The parts are what the deployment is made of: each pod, each machine (its emulator's process), the network's
own processes (a vSwitch), the kernel threads of the device queues (`queues`), and the kernel's own threads
for soft interrupts on the DUT's CPUs (`ksoftirqd`). Each is read right before and right after the tester's
trial, on the node where it runs. A part that cannot be read is left out of that trial; what is never
counted is named in the deployment's evidence.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmwg.drivers.api.machines import Machine
from bmwg.drivers.api.protocols import Deployment, JsonValue, Pod
from bmwg.drivers.function import tables
from bmwg.drivers.nodes import cycles
from bmwg.methodology.answers import data_plane as names
from bmwg.methodology.answers import data_plane_functions
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import NOTHING

if TYPE_CHECKING:  # node functions stand in this module, and the bed is slow to import
    from bmwg.drivers.paths.bed import Bed
    from bmwg.methodology.records import Cell

OF_FUNCTION = "of the virtual function"  # a device queue that no thread of its own serves
_QUEUES, _KSOFTIRQD = "queues", "ksoftirqd"
_SUMS = (names.CPU, names.POLLING, names.CYCLES, names.SOFTIRQ)
_HITS = (names.SIMPLE_HITS, names.EMC_HITS, names.SMC_HITS, names.MEGAFLOW_HITS)
_EVENTS = (  # counted without a window of their own
    names.FRAMES,
    names.UPCALLS,
    names.FAILED_UPCALLS,
    *_HITS,
    *data_plane_functions.COUNTED,
)
_AT = "at_ns"
_POLLERS = "pollers"  # which threads poll
_PROC = Path("/proc")
_STAT_SOFTIRQ = 7  # column of /proc/stat behind the CPU's name
_DEV_HEAD, _DEV_RECEIVED, _DEV_SENT = 2, 1, 9  # of /proc/net/dev: lines of headings, columns of frames
Reading = dict[str, dict[str, Any]]  # by part: its counts, when they were read (`at_ns`), which threads poll

_events: dict[str, list[cycles.Event]] = {}  # of the deployment that stands, by part


class DataPlane:
    """The parts of one deployment that stands. `read` before a trial, `used` afterwards.

    `parts` are the names of those with CPU time; a wire, and what is simulated, has none.
    """

    def __init__(self, bed: Bed, cell: Cell, deployment: Deployment) -> None:
        """Take what the deployment is made of, and begin to count cycles where that can be."""
        self._pods: dict[str, Pod] = {f"pod{number}": pod for number, pod in enumerate(bed.pods.values())}
        self._machines = list(bed.standing_machines.values())
        self._cpus = list(bed.testbed.dut.cpus)
        queues = [
            queue for queue in deployment.evidence.get("device_queues", ()) if isinstance(queue, Mapping)
        ]
        self._threads = [int(thread["pid"]) for one in queues for thread in one.get("threads", ())]
        bare = [one for one in queues if not one.get("threads")]
        self._by_nic = [str(one.get("at")) for one in bare if one.get("device_queue") == OF_FUNCTION]
        self._inline = [str(one.get("at")) for one in bare if one.get("device_queue") != OF_FUNCTION]
        places = [pod.node.name for pod in self._pods.values()]
        places += [str(one.get("at", "")).partition("/")[0] for one in queues]
        places.append(str(deployment.evidence.get("node", "")))  # of a network without a pod
        self._nodes = [bed.node(name) for name in bed.nodes if name in places]
        self._apart = len({node.machine.name for node in self._nodes}) > 1
        networked = bool(self._nodes) and cell.network != NOTHING
        self._network = bed.network(cell.network) if networked else None
        function = deployment.evidence.get("function")
        self._table: Mapping[str, Any] = (
            function if isinstance(function, Mapping) and function.get("table") == tables.TABLE else {}
        )
        self._no_cycles = self._count_cycles()
        self.parts = sorted(part for part, counts in self.read().items() if names.CPU in counts)

    def _count_cycles(self) -> str:
        if not self._nodes or self._apart:
            return ""
        processes = {role: pod.pid for role, pod in self._pods.items()}
        if self._network is not None:
            uses = self._network.uses(self._nodes[0])
            processes |= {part: counts["pid"] for part, counts in uses.items() if "pid" in counts}
        return self._nodes[0].call(count_cycles, queues=self._threads, cpus=self._cpus, processes=processes)

    def evidence(self) -> dict[str, JsonValue]:
        """Return which parts are counted, and what is not, with the reason."""
        absent: dict[str, JsonValue] = {}
        if self._inline:
            absent["device_queues"] = (
                f"no thread of their own at {', '.join(self._inline)}: the work is done where a frame is sent"
            )
        if self._by_nic:
            absent["interrupts"] = (
                f"no thread of their own at {', '.join(self._by_nic)}: their interrupts do the work"
            )
        if self._no_cycles:
            absent["cycles"] = self._no_cycles
        if self._apart:
            absent["kernel"] = "its threads, soft interrupts and cycles: the nodes are on two machines"
        return {"parts": self.parts, "not_counted": absent}

    def _readers(self) -> Iterator[Callable[[], Mapping[str, Mapping[str, Any]]]]:
        if self._nodes and not self._apart:  # the threads of one machine, which each of its nodes sees
            yield partial(self._nodes[0].call, kernel, queues=self._threads, cpus=self._cpus)
        if (network := self._network) is not None:
            yield from (partial(network.uses, node) for node in self._nodes)
        for role, pod in self._pods.items():
            yield partial(_of_pod, role, pod)
        for node in self._nodes:
            pids = {role: pod.pid for role, pod in self._pods.items() if pod.node.name == node.name}
            if pids:
                yield partial(node.call, interfaces, pids=pids)
        if self._table:
            tracked = bool(self._table.get("tracked"))
            for role, pod in self._pods.items():
                yield partial(_of_function, role, partial(pod.inside, tables.counts, tracked=tracked))
            if not self._pods:
                yield partial(
                    _of_function, "node", partial(self._nodes[0].call, tables.counts, tracked=tracked)
                )
        for number, machine in enumerate(self._machines):
            yield partial(_of_pod, f"machine{number}", machine)

    def read(self) -> Reading:
        """Read all parts that can be read now."""
        found: Reading = {}
        for reader in self._readers():
            with contextlib.suppress(ToolkitError):
                for part, counts in reader().items():
                    found.setdefault(part, {}).update(counts)
        return found

    def used(self, before: Reading) -> list[tuple[str, int]]:
        """Read again and return what was used since, as auxiliary counts of a trial."""
        return between(before, self.read())


def _of_function(place: str, read: Callable[[], Mapping[str, int]]) -> Reading:
    """What a function counted, by direction; a count without one is of the function as a whole."""
    found: Reading = {}
    for name, value in read().items():
        what, dot, way = name.partition(".")
        found.setdefault(f"{place}.{data_plane_functions.FUNCTION}{dot}{way}", {})[what] = value
    return found


def _of_pod(role: str, pod: Pod | Machine) -> Reading:
    return {role: {what: value for what, value in asdict(pod.sample()).items() if value is not None}}


def between(before: Reading, after: Reading) -> list[tuple[str, int]]:
    """Return what was used between two readings, by name; pure.

    A part that is in one reading only, or whose counts ran backwards (its program was started anew), is left
    out. So is the share of threads that poll where they are others now: the time of those that ended is lost.
    """
    counts: list[tuple[str, int]] = []
    for part in sorted(before.keys() & after.keys()):
        old, new = before[part], after[part]
        for what in _EVENTS:
            if what in old and new.get(what, -1) >= old[what]:
                counts.append((f"{names.PREFIX}{part}.{what}", new[what] - old[what]))
        lost = [names.POLLING] if old.get(_POLLERS) != new.get(_POLLERS) else []
        sums = [what for what in _SUMS if what in old and what in new and what not in lost]
        if _AT not in old or _AT not in new or any(new[what] < old[what] for what in sums):
            continue
        told = {names.WINDOW: new[_AT] - old[_AT], **{what: new[what] - old[what] for what in sums}}
        if names.MEMORY in new:
            told[names.MEMORY] = new[names.MEMORY]
        counts += [(f"{names.PREFIX}{part}.{what}", value) for what, value in told.items()]
    return counts


def count_cycles(*, queues: list[int], cpus: list[int], processes: dict[str, int]) -> str:
    """Node function: begin to count cycles of all threads of the parts; return why none are (else empty).

    Whatever was counted for an earlier deployment ends.
    """
    for event in (event for events in _events.values() for event in events):
        event.close()
    _events.clear()
    threads = {part: cycles.threads_of(pid) for part, pid in processes.items()}
    threads |= {_QUEUES: queues, _KSOFTIRQD: list(_softirq_threads(tuple(cpus)))}
    try:
        for part, mine in threads.items():
            _events[part] = cycles.opened(mine)
    except OSError as error:
        for event in (event for events in _events.values() for event in events):
            event.close()
        _events.clear()
        return f"perf_event_open, processor cycles: {error.strerror}"
    return ""


def kernel(*, queues: list[int], cpus: list[int]) -> dict[str, JsonValue]:
    """Node function: what the kernel's own threads have used, and the time of soft interrupts on these CPUs.

    Of parts whose cycles are counted these stand beside. CPU time is in ns, of a thread that runs now up to
    its last tick; soft interrupts are counted in ticks.
    """
    found: dict[str, Any] = {}
    for part, threads in ((_QUEUES, queues), (_KSOFTIRQD, _softirq_threads(tuple(cpus)))):
        with contextlib.suppress(OSError):  # an interface that went down has no thread any more
            if threads:
                found[part] = {_AT: time.monotonic_ns(), names.CPU: sum(map(_thread_ns, threads))}
    found[names.CPUS] = {_AT: time.monotonic_ns(), names.SOFTIRQ: _softirq_ns(cpus)}
    for part, events in _events.items():
        with contextlib.suppress(OSError):  # a part of which one event did not count has no cycles
            if events:
                found.setdefault(part, {})[names.CYCLES] = sum(event.read() for event in events)
    return found


def interfaces(*, pids: dict[str, int]) -> dict[str, JsonValue]:
    """Node function: the frames of each interface in the network namespaces of pods, received and sent.

    Parts are `<pod>.<interface>`; the loopback interface is none, a pod that has ended has none.
    """
    found: dict[str, Any] = {}
    for role, pid in pids.items():
        with contextlib.suppress(OSError):
            for line in (_PROC / str(pid) / "net" / "dev").read_text().splitlines()[_DEV_HEAD:]:
                name, _, columns = line.partition(":")
                if name.strip() != "lo":
                    told = columns.split()
                    found[f"{role}.{name.strip()}"] = {
                        names.FRAMES: int(told[_DEV_RECEIVED]) + int(told[_DEV_SENT])
                    }
    return found


def _thread_ns(thread: int) -> int:
    return int((_PROC / str(thread) / "schedstat").read_text().split()[0])


@cache
def _softirq_threads(cpus: tuple[int, ...]) -> tuple[int, ...]:
    """Return the kernel's threads for soft interrupts on these CPUs; they live as long as the kernel."""
    wanted = {f"{_KSOFTIRQD}/{cpu}" for cpu in cpus}
    found = []
    for name in os.listdir(_PROC):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if (_PROC / name / "comm").read_text().strip() in wanted:
                    found.append(int(name))
    return tuple(sorted(found))


def _softirq_ns(cpus: list[int]) -> int:
    wanted = {f"cpu{cpu}" for cpu in cpus}
    rows = [row.split() for row in (_PROC / "stat").read_text().splitlines()]
    ticks = sum(int(row[_STAT_SOFTIRQ]) for row in rows if row and row[0] in wanted)
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
