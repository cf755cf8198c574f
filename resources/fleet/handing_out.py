"""Hands the shards of a fleet out to testbeds: one program a testbed, the next shard to whoever is free.

What is answered is read from the runs each time something ended, so whoever begins anew goes on from there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bmwg.reports.fleet.attempts import Found, attempts_in
from bmwg.reports.fleet.plan import Fleet, Shard
from bmwg.resources.fleet.state import FleetState

LEAST_DEADLINE_S = 3600.0  # choice: a shard of a minute may meet a slow machine
DEADLINE_FACTOR = 3  # choice: of a shard's estimate; deployments are not in it
GRACE_S = 60.0  # choice: what a run that is told to end needs to remove what it made
_POLL_S = 0.1
_TAKEN_WAIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses:
    """The exit statuses of a shard's program that decide something."""

    complete: int
    refused: int
    taken: int


@dataclass(slots=True, kw_only=True)
class Bed:
    """A testbed of the fleet by its name and file, and what works on it."""

    name: str
    file: Path
    program: subprocess.Popen[bytes] | None = None
    shard: Shard | None = None
    ends_s: float = 0.0  # when its program is ended, by the monotonic clock
    rests_s: float = 0.0  # until when it gets nothing


@dataclass(slots=True, kw_only=True)
class HandingOut:
    """One pass over a fleet. `fits` says why a testbed cannot have a shard, empty where it can.

    A shard is tried `tries` times in this pass; a program has `deadline_s` seconds, by default a multiple of
    its shard's estimate.
    """

    fleet: Fleet
    results: Path
    beds: Sequence[Bed]
    command: Callable[[Shard, Bed], Sequence[str]]
    fits: Callable[[Shard, Bed], str]
    statuses: Statuses
    say: Callable[[str], None]
    tries: int = 3
    deadline_s: float | None = None
    _tried: Counter[int] = field(default_factory=Counter)
    _unfit: dict[tuple[int, str], str] = field(default_factory=dict)
    _taken_since_s: dict[tuple[int, str], float] = field(default_factory=dict)

    def run(self) -> dict[int, str]:
        """Work until nothing can be handed out; return why shards stayed open, by number."""
        state = FleetState(self.results, self.fleet)
        state.make()
        found = attempts_in(self.results, self.fleet)
        try:
            while True:
                ended = [self._ended(bed) for bed in self.beds]
                if any(ended):
                    found = attempts_in(self.results, self.fleet)
                stuck = state.stuck()
                for bed in self.beds:
                    if bed.program is None and time.monotonic() >= bed.rests_s:
                        self._hand_to(bed, found, stuck, state.folder)
                if not any(bed.program or self._next(bed, found, stuck) for bed in self.beds):
                    return self._open(found)
                time.sleep(_POLL_S)
        finally:
            self._end_all()

    def _hand_to(self, bed: Bed, found: Found, stuck: frozenset[str], folder: Path) -> None:
        shard = self._next(bed, found, stuck)
        if shard is None:
            return
        log = folder / f"shard-{shard.number}.log"
        with log.open("ab") as said:
            bed.program = subprocess.Popen(
                list(self.command(shard, bed)),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # a Ctrl-C of the terminal is ours to pass on
            )
        bed.shard = shard
        bed.ends_s = time.monotonic() + self._deadline_s(shard)
        self.say(f"shard {shard.number} on {bed.name}; its program says in {log}")

    def _next(self, bed: Bed, found: Found, stuck: frozenset[str]) -> Shard | None:
        """Return what a free testbed works on next: what it began, else what nobody has begun elsewhere.

        Whether a testbed can have a shard takes long to say, so it is asked of no more shards than needed.
        """
        at_work = {other.shard.number for other in self.beds if other.shard is not None}
        open_ = [
            one
            for one in self.fleet.shards
            if one.number not in at_work
            and not found.complete(one.number)
            and self._tried[one.number] < self.tries
        ]
        begun = {one.number: self._begun_on(one, found, stuck) for one in open_}
        mine = [one for one in open_ if begun[one.number] is bed]
        free = [shard for shard in open_ if begun[shard.number] is None]
        return next((one for one in (*mine, *free) if self._can(bed, one)), None)

    def _begun_on(self, shard: Shard, found: Found, stuck: frozenset[str]) -> Bed | None:
        """Return the testbed of ours that goes on with a shard; None where an attempt may begin anywhere."""
        going = [one for one in found.of(shard.number) if not one.wrong and one.run_id not in stuck]
        names = {attempt.testbed for attempt in going}
        return next((bed for bed in self.beds if bed.name in names and self._can(bed, shard)), None)

    def _can(self, bed: Bed, shard: Shard) -> bool:
        key = (shard.number, bed.name)
        if key not in self._unfit:
            self._unfit[key] = self.fits(shard, bed)
            if self._unfit[key]:
                self.say(f"shard {shard.number} is not for {bed.name}: {self._unfit[key]}")
        return not self._unfit[key]

    def _ended(self, bed: Bed) -> bool:
        """Whether a testbed's program has ended; one that is too late is ended."""
        if bed.program is None or bed.shard is None:
            return False
        status = bed.program.poll()
        if status is None:
            if time.monotonic() < bed.ends_s:
                return False
            self.say(f"shard {bed.shard.number} on {bed.name}: no end within its deadline; it is ended")
            status = _end([bed.program])[0]
        shard, key = bed.shard, (bed.shard.number, bed.name)
        bed.program, bed.shard = None, None
        if status == self.statuses.complete:
            self.say(f"shard {shard.number} on {bed.name}: complete")
        elif status == self.statuses.refused:
            self._unfit[key] = "refused; its program says why"
            self.say(f"shard {shard.number} is not for {bed.name}: {self._unfit[key]}")
        elif status == self.statuses.taken and self._waits(key, shard):
            bed.rests_s = time.monotonic() + _TAKEN_WAIT_S
        else:
            self._tried[shard.number] += 1
            self.say(f"shard {shard.number} on {bed.name}: ended by {_how(status)}, not complete")
        return True

    def _waits(self, key: tuple[int, str], shard: Shard) -> bool:
        """Whether to wait for who works on it already: no longer than its own program would have."""
        since_s = self._taken_since_s.setdefault(key, time.monotonic())
        return time.monotonic() - since_s < self._deadline_s(shard)

    def _deadline_s(self, shard: Shard) -> float:
        if self.deadline_s is not None:
            return self.deadline_s
        return max(LEAST_DEADLINE_S, DEADLINE_FACTOR * float(shard.estimate_s))

    def _open(self, found: Found) -> dict[int, str]:
        return {
            shard.number: self._why(shard) for shard in self.fleet.shards if not found.complete(shard.number)
        }

    def _why(self, shard: Shard) -> str:
        if self._tried[shard.number] >= self.tries:
            return f"not complete after {self.tries} tries"
        return "; ".join(
            f"not for {bed.name}: {self._unfit.get((shard.number, bed.name), '')}" for bed in self.beds
        )

    def _end_all(self) -> None:
        _end([bed.program for bed in self.beds if bed.program is not None])


def _end(programs: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Have programs end, first by asking: a run removes what it made. Return how each ended.

    One that the kernel does not end in time counts as ended by the signal: nothing more can be done to it.
    """
    ended = []
    for program in programs:
        _signal(program, signal.SIGINT)
    ends_s = time.monotonic() + GRACE_S
    for program in programs:
        try:
            ended.append(program.wait(max(0.0, ends_s - time.monotonic())))
        except subprocess.TimeoutExpired:
            _signal(program, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(GRACE_S)
            ended.append(-signal.SIGKILL)
    return ended


def _signal(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if program.poll() is None:
        os.killpg(program.pid, number)


def _how(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {-status}"
