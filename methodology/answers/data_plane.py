"""What the data plane used while trials ran: CPU time and memory by part, from the counts beside each trial.

Pure. A driver counts (`drivers/watch/data_plane.py`) under names that begin with `host.dut.`:
`<part>.cpu_ns` is CPU time, `<part>.window_ns` the time between both readings of that part,
`<part>.memory_octets` what it held at the end, `<part>.polling_cpu_ns` the share of threads that poll,
`<part>.cycles` processor cycles where the processor counts them. `host.dut.cpus.softirq_ns` is time in soft
interrupts on the DUT's CPUs; it lies within other parts' time as well, so nothing adds it.
`host.dut.pod0.net0.frames` are the frames that an interface in a pod's network namespace received and sent.
`host.dut.vswitch.upcalls` are the frames that found no flow in a vSwitch's caches and went to its rules,
`failed_upcalls` those of them that were lost there, `emc_hits`, `smc_hits` and `megaflow_hits` those that
its exact-match, signature-match and megaflow cache knew, and `simple_match_hits` those of a port whose flows
match nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bmwg.methodology.records import TrialResult

PREFIX = "host.dut."
CPU, WINDOW, MEMORY, POLLING, CYCLES = "cpu_ns", "window_ns", "memory_octets", "polling_cpu_ns", "cycles"
FRAMES = "frames"  # of one interface
UPCALLS, FAILED_UPCALLS = "upcalls", "failed_upcalls"  # of a vSwitch
SIMPLE_HITS, EMC_HITS = "simple_match_hits", "emc_hits"  # of its caches
SMC_HITS, MEGAFLOW_HITS = "smc_hits", "megaflow_hits"
CPUS, SOFTIRQ = "cpus", "softirq_ns"  # of the DUT's CPUs together; no part


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the data plane over some trials: CPU time (ns) in all windows together (ns).

    `memory_octets` is the most that it held after a trial; None where a part has none of its own (a kernel
    thread). `polling_cpu_ns` and `cycles` are None where nothing polls, or no processor counts.
    """

    name: str
    cpu_ns: int
    window_ns: int
    memory_octets: int | None = None
    polling_cpu_ns: int | None = None
    cycles: int | None = None

    @property
    def cpus(self) -> float:
        """How many CPUs it kept busy on average."""
        return self.cpu_ns / self.window_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What all parts used over some trials that carried `frames` (received, in all directions).

    Windows are longer than these trials sent, by what lies before the first frame and after the last.
    `softirq_ns` and `upcalls` (failed ones among them) are None where they were not counted.
    """

    parts: tuple[Part, ...]
    frames: int
    trials: int
    softirq_ns: int | None = None
    upcalls: int | None = None

    @property
    def cpus(self) -> float:
        """How many CPUs the data plane kept busy on average."""
        return sum(part.cpus for part in self.parts)

    @property
    def cpu_ns_per_frame(self) -> float | None:
        """CPU time for a frame, ns: of all parts, in their whole windows; None when no frame came."""
        return sum(part.cpu_ns for part in self.parts) / self.frames if self.frames else None

    @property
    def cycles_per_frame(self) -> float | None:
        """Processor cycles for a frame; None unless every part's were counted."""
        counted = [part.cycles for part in self.parts]
        if not self.frames or not counted or None in counted:
            return None
        return sum(cycles for cycles in counted if cycles is not None) / self.frames


def use_of(results: Iterable[TrialResult]) -> Use | None:
    """Sum over trials; None when none of them has counts.

    All trials of one deployment have the same parts; where a reading failed, its trial lacks one and is left
    out, so that no sum is short of a part. Of two sets of parts the larger is told.
    """
    told = [(result, counts) for result in results if (counts := counts_of(result))]
    widest = max((frozenset(counts) for _, counts in told), key=len, default=None)
    if widest is None:
        return None
    kept = [(result, counts) for result, counts in told if frozenset(counts) == widest]
    softirq = [dict(result.auxiliary).get(f"{PREFIX}{CPUS}.{SOFTIRQ}") for result, _ in kept]
    upcalls = [upcalls_of(result) for result, _ in kept]
    return Use(
        parts=tuple(_summed(name, [counts[name] for _, counts in kept]) for name in sorted(widest)),
        frames=sum(result.received_frames for result, _ in kept),
        trials=len(kept),
        softirq_ns=None if None in softirq else sum(value for value in softirq if value is not None),
        upcalls=None if None in upcalls else sum(value for value in upcalls if value is not None),
    )


def counts_of(result: TrialResult) -> dict[str, dict[str, int]]:
    """Return the counts of one trial by part; a part without CPU time and its window is no part."""
    found: dict[str, dict[str, int]] = {}
    for name, value in result.auxiliary:
        if name.startswith(PREFIX):
            part, dot, what = name.removeprefix(PREFIX).rpartition(".")
            if dot:
                found.setdefault(part, {})[what] = value
    return {part: counts for part, counts in found.items() if CPU in counts and counts.get(WINDOW, 0) > 0}


def upcalls_of(result: TrialResult) -> int | None:
    """Return the frames of a trial that went to a vSwitch's rules, lost ones too; None: not counted."""
    told = dict(result.auxiliary)
    found = [
        value
        for name, value in told.items()
        if name.startswith(PREFIX) and name.rpartition(".")[2] in (UPCALLS, FAILED_UPCALLS)
    ]
    return sum(found) if found else None


def frames_of(result: TrialResult) -> dict[tuple[str, str], int]:
    """Return the frames of a trial by part and interface, both directions together; no key: not counted."""
    found = {}
    for name, value in result.auxiliary:
        words = name.removeprefix(PREFIX).split(".") if name.startswith(PREFIX) else []
        if len(words) >= 3 and words[-1] == FRAMES:
            found[words[0], ".".join(words[1:-1])] = value
    return found


def _summed(name: str, counts: Sequence[Mapping[str, int]]) -> Part:
    def total(what: str) -> int | None:
        values = [count[what] for count in counts if what in count]
        return sum(values) if len(values) == len(counts) else None

    return Part(
        name=name,
        cpu_ns=total(CPU) or 0,
        window_ns=total(WINDOW) or 0,
        memory_octets=max((one[MEMORY] for one in counts if MEMORY in one), default=None),
        polling_cpu_ns=total(POLLING),
        cycles=total(CYCLES),
    )
