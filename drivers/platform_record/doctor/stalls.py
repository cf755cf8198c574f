"""How often this machine takes CPUs away now, and what a run with a profile will make of it (`bmwg doctor`).

A second with nothing held and a second with the request held, in turn, so that a noisy moment meets both.
It measures idle CPUs: a trial keeps the tester's CPU busy. No part of `examine`, which each suite of a run
calls.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from bmwg.drivers.platform_record.sampling import between, sample
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import number_list, text_or_none
from bmwg.drivers.testbed.file import SIMULATED, Testbed
from bmwg.drivers.traffic.watchdog.process import Watch
from bmwg.drivers.watch.awake import kept_awake, limit_us
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.profiles import Profile
from bmwg.methodology.record.findings import Finding, Weight
from bmwg.methodology.trial.keep_awake import Held, KeepAwake

SLICE_NS = 20_000_000  # choice: a fifth of a trial of the quick profile
BLOCK_SLICES = 10  # choice: as long as two of them
BLOCKS = 5  # choice: of each kind; 1 s each, as much as somebody waits for
REST_S = 0.005  # choice: a stall that a change of what is held left behind is over
MOST_RATIO = 0.5  # choice: what a goal forgives, or an indicative profile may set aside
HARDLY_RATIO = 0.9  # choice: a load then has no valid trial in 26 by 6 %, and a cell has about 20 loads
_NS = 1_000_000_000
_ONLINE = "/sys/devices/system/cpu/online"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the watch saw while one thing was held. All are integers: ns, or counts of slices.

    `stalled_slices` had a stall above the limit on any of the CPUs, `stalled_by_cpu` counts them for each.
    `watched_ns` is the length of all slices. `steal_ns` is that of all the CPUs together (grain 10 ms), None
    where the kernel does not tell.
    """

    slices: int
    stalled_slices: int
    stalled_by_cpu: tuple[tuple[int, int], ...]
    longest_stall_ns: int
    watched_ns: int
    steal_ns: int | None

    def __post_init__(self) -> None:
        """Refuse counts that cannot be."""
        if not 0 <= self.stalled_slices <= self.slices:
            raise ValueError(f"stalled_slices: expected 0..{self.slices}, found {self.stalled_slices}")
        if (self.watched_ns > 0) != (self.slices > 0) or self.watched_ns < 0:
            raise ValueError(f"watched_ns: {self.watched_ns} for {self.slices} slices")

    def as_json(self) -> dict[str, Any]:
        """Builtins; CPU numbers are texts, as JSON has it."""
        return {
            "slices": self.slices,
            "stalled_slices": self.stalled_slices,
            "stalled_by_cpu": {str(cpu): count for cpu, count in self.stalled_by_cpu},
            "longest_stall_ns": self.longest_stall_ns,
            "watched_ns": self.watched_ns,
            "steal_ns": self.steal_ns,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """The whole measurement. `not_measured` says why there are no numbers, "" when there are.

    `halting` is what was seen with nothing held, `awake` with what `held` names: None where nothing could be
    held. `limit_ns` and `trial_ns` are the profile's. `already_us` is a limit on the time to leave an idle
    state that somebody else had asked for, None when nobody had: `halting` is then under that limit.
    """

    cpus: tuple[int, ...]
    profile: str
    limit_ns: int
    trial_ns: int
    held: Held
    already_us: int | None = None
    halting: Watched | None = None
    awake: Watched | None = None
    not_measured: str = ""

    @property
    def of_a_run(self) -> Watched | None:
        """What a run will meet: CPUs as they can be held."""
        return self.awake or self.halting

    def as_json(self) -> dict[str, Any]:
        """Builtins; no ratio is among them."""
        return {
            "cpus": list(self.cpus),
            "profile": self.profile,
            "limit_ns": self.limit_ns,
            "trial_ns": self.trial_ns,
            "slice_ns": SLICE_NS,
            "held": self.held.as_json(),
            "already_us": self.already_us,
            "halting": self.halting.as_json() if self.halting else None,
            "awake": self.awake.as_json() if self.awake else None,
            "not_measured": self.not_measured,
        }


def watched(
    slices: Sequence[Mapping[int, int]], limit_ns: int, watched_ns: int, steal_ns: int | None
) -> Watched:
    """Count slices; each gives the largest stall (ns) by CPU. Pure."""
    cpus = sorted({cpu for one in slices for cpu in one})
    return Watched(
        slices=len(slices),
        stalled_slices=sum(any(ns > limit_ns for ns in one.values()) for one in slices),
        stalled_by_cpu=tuple((cpu, sum(one.get(cpu, 0) > limit_ns for one in slices)) for cpu in cpus),
        longest_stall_ns=max((ns for one in slices for ns in one.values()), default=0),
        watched_ns=watched_ns,
        steal_ns=steal_ns,
    )


def expected_ratio(seen: Watched, trial_ns: int) -> float:
    """Share (0..1) of trials that a stall falls into, were slices independent of each other. Pure."""
    calm = 1.0 - seen.stalled_slices / seen.slices
    return 1.0 - math.pow(calm, trial_ns / SLICE_NS)


def in_words(ratio: float) -> str:
    """What a run makes of such a share of trials, which may lose or are set aside. Pure."""
    if ratio <= MOST_RATIO:
        return "answers for most cells"
    if ratio <= HARDLY_RATIO:
        return "some answers will be unstable and the run takes longer"
    return "hardly any answer: `bmwg run` will say so; a quieter hour or CPUs of its own help"


def lines(found: Stalls) -> list[str]:
    """The measurement as the doctor prints it. Pure."""
    if found.not_measured:
        return [f"stalls were not measured: {found.not_measured}", f"held awake: {_held(found.held)}"]
    cpus = ", ".join(map(str, found.cpus))
    limit = f"{found.limit_ns / 1e6:g} ms"
    shown = [f"stalls of CPU {cpus} over {limit}, counted in slices of {SLICE_NS / 1e6:g} ms:"]
    for name, seen in (("nothing held", found.halting), (f"{found.held.held.value} held", found.awake)):
        if seen is not None and seen.slices:
            shown.append(f"  {name + ':':<14}{_seen(seen)}")
    shown.append(f"held awake: {_held(found.held)}")
    if found.already_us is not None:
        shown.append(f"another process holds {found.already_us} us already: `nothing held` is what it leaves")
    seen = found.of_a_run
    if seen is not None and seen.slices:
        ratio = expected_ratio(seen, found.trial_ns)
        shown.append(
            f"on this machine about {ratio:.0%} of the trials of {found.trial_ns / 1e9:g} s of the profile "
            f"{found.profile} will meet a stall (by {seen.slices} slices): {in_words(ratio)}"
        )
    return shown


def findings(found: Stalls) -> list[Finding]:
    """DOC-11: the CPUs cannot be kept from halting. Pure."""
    if found.held.held is not KeepAwake.NONE:
        return []
    seen = found.halting
    calm = seen is not None and not seen.stalled_slices
    return [
        Finding(
            finding_id="DOC-11",
            weight=Weight.NOTE if calm else Weight.DISTORTS,
            what=f"CPUs cannot be kept from halting: {found.held.reason or 'no reason is known'}",
            breaks="a virtual CPU that halts comes back late: trials are set aside and repeated",
            mend="run as root on the machine itself, or in a container that is given /dev/cpu_dma_latency "
            "(docs/platform-record.md)",
        )
    ]


def look(testbed: Testbed, profile: Profile) -> Stalls | None:
    """Measure for about two seconds on the CPUs of the testbed, and leave nothing behind; None if simulated.

    It never raises for what the machine lacks: `not_measured` says it. Building the watch for the first time
    takes a compiler and its time (deadline in process.py); a slice that gets no answer ends it after 5 s.
    """
    if testbed.tester.driver == SIMULATED:
        return None
    cpus, already_us = cpus_here(testbed), limit_us()
    limits = profile.policy.max_host_stall_ns, round(profile.searched_s * _NS)
    held, halting, awake, why = _alternate(cpus, limits[0]) if cpus else (None, None, None, "no CPU is here")
    if held is None:  # what can be held is worth telling without numbers
        with kept_awake(KeepAwake.PM_QOS, cpus) as held:
            pass
    return Stalls(
        cpus=cpus,
        profile=profile.name,
        limit_ns=limits[0],
        trial_ns=limits[1],
        held=held,
        already_us=already_us,
        halting=halting,
        awake=awake,
        not_measured=why,
    )


def cpus_here(testbed: Testbed) -> tuple[int, ...]:
    """CPU numbers of tester and DUT on this machine, as far as they are on."""
    named = {*testbed.tester_cpus_here, *testbed.dut_cpus_here}
    online = text_or_none(LocalSource(), _ONLINE)
    return tuple(sorted(named & set(number_list(online)) if online else named))


class _Side:
    """What is gathered of one side while both take turns."""

    def __init__(self) -> None:
        self.slices: list[Mapping[int, int]] = []
        self.watched_ns = 0
        self.steal_ns: int | None = 0

    def block(self, watch: Watch, cpus: Iterable[int]) -> None:
        """Watch for one block; WATCH-02."""
        time.sleep(REST_S)
        before = sample()
        for _ in range(BLOCK_SLICES):
            began_ns = time.monotonic_ns()
            watch.arm()
            time.sleep(SLICE_NS / _NS)
            self.slices.append(watch.read().stalls_ns)
            self.watched_ns += time.monotonic_ns() - began_ns
        steal_ns: Mapping[str, int] = between(before, sample())["steal_ns"]
        if self.steal_ns is not None:
            known = [steal_ns.get(str(cpu)) for cpu in cpus]
            self.steal_ns = None if None in known else self.steal_ns + sum(ns or 0 for ns in known)

    def seen(self, limit_ns: int) -> Watched | None:
        """The counts, None where nothing was gathered."""
        return watched(self.slices, limit_ns, self.watched_ns, self.steal_ns) if self.slices else None


def _alternate(
    cpus: tuple[int, ...], limit_ns: int
) -> tuple[Held | None, Watched | None, Watched | None, str]:
    """What could be held, both sides, and why there are none ("" when there are)."""
    halting, awake = _Side(), _Side()
    first: Held | None = None
    with tempfile.TemporaryFile() as log:
        try:
            watch = Watch(cpus, log=log)
        except (ToolkitError, OSError) as error:
            return None, None, None, _one_line(error, log)
        try:
            for _ in range(BLOCKS):
                halting.block(watch, cpus)
                if first is not None and first.held is KeepAwake.NONE:
                    continue
                with kept_awake(KeepAwake.PM_QOS, cpus) as held:
                    first = first or held
                    if held.held is first.held is not KeepAwake.NONE:
                        awake.block(watch, cpus)
        except (ToolkitError, OSError) as error:
            return first, None, None, _one_line(error, log)
        finally:
            watch.close()
    return first, halting.seen(limit_ns), awake.seen(limit_ns), ""


def _one_line(error: ToolkitError | OSError, log: IO[bytes]) -> str:
    """The error in one line, with the last that the watch said itself."""
    log.seek(0)
    said = log.read(4096).decode("utf-8", "replace").strip().splitlines()
    if isinstance(error, ToolkitError):
        own = (said or error.found.splitlines() or [""])[-1].strip()
        hint = f" ({error.hint})" if error.hint else ""
        return f"{error.error_id} {error.what.splitlines()[0]}: {own}{hint}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _seen(seen: Watched) -> str:
    """One side in a line: rates are slices per second of watching."""
    watched_s = seen.watched_ns / _NS
    each = ", ".join(f"CPU {cpu} {count / watched_s:.1f}" for cpu, count in seen.stalled_by_cpu)
    text = f"{seen.stalled_slices / watched_s:.1f} slices/s on any ({each}), longest stall "
    text += f"{seen.longest_stall_ns / 1e6:.2f} ms, steal time "
    if seen.steal_ns is None:
        return text + "unknown"
    return text + f"{seen.steal_ns / seen.watched_ns / max(1, len(seen.stalled_by_cpu)):.1%}"


def _held(held: Held) -> str:
    words = {
        KeepAwake.PM_QOS: "pm_qos, a request of 0 us on /dev/cpu_dma_latency",
        KeepAwake.SPIN: "spin, a process of the lowest priority on each CPU",
        KeepAwake.NONE: "nothing can be held",
    }[held.held]
    return f"{words}; {held.reason}" if held.reason else words
