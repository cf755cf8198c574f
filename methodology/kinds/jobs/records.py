"""One execution of a job: what it was asked for, what it came to, and why it is no measurement. Pure.

A program that counts is believed in its counts (`counts`, with the time in which it counted them). One that
prints nothing but rates is believed in these (`told`). Rates of counts are computed and never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

KIND = "jobs"
DOUBTED = "doubted"  # among what a program says: the names of those of its results that it is not sure of
_LEAST_DURATION = 0.9  # choice: of the time asked for; programs look at their clock between two events
_PROGRAMS_EXACT_NS = 20_000_000  # choice: a program counts by a clock and in digits of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSpec:
    """One execution as asked for.

    `job` is what the program is to do, with `threads` at once. It goes on for `duration_s`, or where that is
    0 until it has done what it does. `size_octets` is the size of the file that it works on (0: none) or of
    the memory, `block_octets` what it reads or writes at once, `problem` the size of what it computes: the
    order of a matrix, the limit of the primes. `direct` has it go round the page cache. It is ended after
    `within_s`. `number` counts the executions of a cell, and is the block of the random order that one is of.
    """

    workload: str
    job: str
    threads: int
    duration_s: float
    size_octets: int
    block_octets: int
    problem: int
    direct: bool
    within_s: float
    number: int = 0

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds."""
        return asdict(self)

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], /) -> JobsSpec:
        """Read what `as_builtins` gave."""
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsResult:
    """One execution as it was.

    `counts` are events and octets by the name of their figure, made in `elapsed_ns` by the program's own
    clock; `told` are figures that it prints as rates, in base units. `process_ns` is the program's whole
    life, `wall_ns` all of the execution with what prepares it. `effective` is what it says of its version
    and settings. `faults` are sentences.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    told: Mapping[str, float] = field(default_factory=dict)
    elapsed_ns: int = 0
    process_ns: int = 0
    wall_ns: int = 0
    effective: Mapping[str, int | str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def figure(self, name: str) -> float | None:
        """Return a figure per second, in its unit; None where the program said nothing of it."""
        if name in self.counts:
            return self.counts[name] * 1e9 / self.elapsed_ns if self.elapsed_ns else None
        return self.told.get(name)

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds beside the faults, which stand in the line's head."""
        told = asdict(self)
        del told["faults"]
        return told

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], faults: Sequence[str] = (), /) -> JobsResult:
        """Read what `as_builtins` gave."""
        return cls(**{**data, "faults": tuple(faults)})


def contradictions(spec: JobsSpec, result: JobsResult) -> tuple[str, ...]:
    """Say what in the times of an execution cannot be."""
    if result.elapsed_ns > result.process_ns + _PROGRAMS_EXACT_NS:
        took = f"{result.elapsed_ns / 1e9:.3f} s, its process lived {result.process_ns / 1e9:.3f} s"
        return (f"the program counted for {took}: the clock that it reads was set",)
    return ()


def shortcomings(spec: JobsSpec, result: JobsResult, figures: Sequence[str]) -> tuple[str, ...]:
    """Say what of an execution did not come about as asked; `figures` are those that it must tell."""
    found = []
    if spec.duration_s and result.elapsed_ns < spec.duration_s * _LEAST_DURATION * 1e9:
        found.append(f"it went on for {result.elapsed_ns / 1e9:.3f} s of {spec.duration_s:g} s")
    for name in figures:
        value = result.figure(name)
        if value is None:
            found.append(f"the program told no {name}")
        elif not 0 < value < float("inf"):
            found.append(f"{name} is {value:g}")
    return tuple(found)
