"""Whether the CPUs of tester and device keep their speed while all of them work (`bmwg doctor`).

A virtual CPU may be a thread of a core whose other thread is somebody else's, and a core's frequency may
follow its neighbours: then the machine is slower for a second and faster for the next, without a stall and
with no time that a hypervisor calls stolen. A device on such a CPU has no one rate. Each CPU counts rounds of
one loop in windows of the same length, all at the same time. No part of `examine`, which each suite of a run
calls.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.platform_record.doctor.stalls import cpus_here
from bmwg.drivers.testbed.file import SIMULATED, Testbed
from bmwg.methodology.record.findings import Finding, Weight

WINDOW_NS = 100_000_000  # choice: a trial of the profile `quick`
WINDOWS = 30  # choice: 3 s, as much as somebody waits for; a tenth of them is three
STEADY_RATIO = 0.8  # choice: half of what both ends of an indicative answer may move by (docs/adr/0610)
_DEADLINE_S = 20.0  # choice: 3 s, and what busy CPUs take to start an interpreter on each
_LEAD_NS = 50_000_000  # between the word and the first window
_ROUND = 500  # additions between two looks at the clock: 10 to 20 us


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How many rounds each CPU did in each window; integers. `not_measured` says why there are none."""

    rounds: tuple[tuple[int, tuple[int, ...]], ...] = ()  # by CPU number
    window_ns: int = WINDOW_NS
    not_measured: str = ""

    def as_json(self) -> dict[str, Any]:
        """Builtins; CPU numbers are texts, as JSON has it."""
        return {
            "window_ns": self.window_ns,
            "rounds": {str(cpu): list(counts) for cpu, counts in self.rounds},
            "not_measured": self.not_measured,
        }


def steadiness(counts: Sequence[int]) -> float:
    """Return what the slowest tenth of windows did, as a share of the fastest tenth (0..1). Pure."""
    ordered = sorted(counts)
    tenth = len(ordered) // 10
    return ordered[tenth] / max(1, ordered[-1 - tenth])


def lines(found: Speed) -> list[str]:
    """The measurement as the doctor prints it. Pure."""
    if found.not_measured:
        return [f"the CPUs' speed was not measured: {found.not_measured}"]
    each = ", ".join(f"CPU {cpu} {steadiness(counts):.0%}" for cpu, counts in found.rounds)
    return [
        f"speed of the CPUs, all busy, in windows of {found.window_ns / 1e9:g} s; "
        f"the slowest tenth did of the fastest: {each}"
    ]


def findings(found: Speed) -> list[Finding]:
    """DOC-12: a CPU changes its speed while it works. Pure."""
    moved = [
        f"CPU {cpu} to {ratio:.0%}"
        for cpu, counts in found.rounds
        if (ratio := steadiness(counts)) < STEADY_RATIO
    ]
    if not moved:
        return []
    return [
        Finding(
            finding_id="DOC-12",
            weight=Weight.DISTORTS,
            what=f"the speed of a CPU falls while it works, without a stall: {', '.join(moved)}",
            breaks="a device has no one rate: intervals are wide, and answers are `unstable` because the "
            "device's speed changed",
            mend="whole cores of its own (the other thread of a core may be another machine's), or a quieter "
            "hour",
        )
    ]


def look(testbed: Testbed) -> Speed | None:
    """Measure for about three seconds on the testbed's CPUs, and leave nothing behind; None if simulated.

    It never raises for what the machine lacks: `not_measured` says it.
    """
    if testbed.tester.driver == SIMULATED:
        return None
    cpus = cpus_here(testbed)
    if not cpus:
        return Speed(not_measured="no CPU is here")
    with contextlib.ExitStack() as stack:
        counting = [stack.enter_context(_started(cpu)) for cpu in cpus]
        limit = threading.Timer(_DEADLINE_S, _kill, [counting])  # it ends each wait for them below
        limit.start()
        try:
            told = _counted(counting)
        except (OSError, ValueError) as error:
            return Speed(not_measured=f"{type(error).__name__}: {error}")
        finally:
            limit.cancel()
            _kill(counting)  # they have ended, or nobody waits for them
    return Speed(rounds=tuple(zip(cpus, told, strict=True)))


def _started(cpu: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(cpu)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _kill(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()


def _counted(counting: Sequence[subprocess.Popen[str]]) -> list[tuple[int, ...]]:
    """Have them count in the same windows, once all are ready. Raises ValueError, OSError."""
    for process in counting:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise ValueError(f"a process could not be put on its CPU within {_DEADLINE_S:g} s")
    begin_ns = time.monotonic_ns() + _LEAD_NS
    told = []
    for process in counting:
        assert process.stdin is not None
        process.stdin.write(f"{begin_ns}\n")
        process.stdin.flush()
    for process in counting:
        said, _ = process.communicate()
        told.append(tuple(int(word) for word in said.split()))
        if len(told[-1]) != WINDOWS:
            raise ValueError(f"{len(told[-1])} windows of {WINDOWS} were counted")
    return told


def main() -> None:
    """Count on one CPU: say that it is ready, read when to begin, tell each window's rounds."""
    os.sched_setaffinity(0, {int(sys.argv[1])})
    print("ready", flush=True)
    end_ns = int(sys.stdin.readline())
    while time.monotonic_ns() < end_ns:
        pass
    counts = []
    for _ in range(WINDOWS):
        end_ns += WINDOW_NS
        rounds = 0
        while time.monotonic_ns() < end_ns:
            for number in range(_ROUND):
                number + number
            rounds += 1
        counts.append(rounds)
    print(*counts)


if __name__ == "__main__":
    main()
