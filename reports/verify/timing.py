"""What executions of any kind of load must agree on: time that passes, counts that contain each other.

An execution is a trial of frames or a repetition of requests, as a line of a journal tells it. Nothing here
knows which: each kind makes a list of `Execution`, and each rule reads such lists (docs/adr/0255).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from bmwg.reports.checker.findings import Shortfall

CLOCK_ERROR_RATIO = 1e-3  # choice: twice what the kernel slews a clock by (500 ppm)
CLOCK_ERROR_S = 1e-3  # choice: the stamp of a line is taken after its trial, by another clock
TESTER_CLOCK_RATIO = 1e-3  # choice: a tester's clock against the machine's
_CLOCK_SET_RATIO = 0.01  # choice: share of lines that a clock that was set back may have shortened
EARLIEST = datetime.fromisoformat("2026-01-01T00:00:00+00:00")  # before the first commit of the toolkit
_NAMED = 5  # lines that a question names


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """A time that an execution must have lasted, ns; `what` is read after "at least so much". `exact_ns` is
    how coarse the clock behind it is.
    """

    what: str
    needed_ns: float
    exact_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A count, and the least and the most that other counts of the same execution leave for it."""

    what: str
    found: int
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One line: between `begin` (the stamp of the line before, or the run's beginning) and `end` (its own
    stamp) something lasted `duration_ns` by another clock, which had to last what is in `lasted`.
    """

    where: str
    begin: str
    end: str
    duration_ns: int
    lasted: tuple[Within, ...] = ()
    counts: tuple[Count, ...] = ()


def moment(text: str) -> datetime:
    """Return the time of a stamp in UTC."""
    return datetime.fromisoformat(text)


def hurried(executions: Sequence[Execution]) -> list[tuple[Execution, float, float]]:
    """Return what lasted longer than the time between its line and the one before: both in s."""
    found = []
    for execution in executions:
        passed_s = (moment(execution.end) - moment(execution.begin)).total_seconds()
        wall_s = execution.duration_ns / 1e9
        if wall_s > passed_s * (1 + CLOCK_ERROR_RATIO) + CLOCK_ERROR_S:
            found.append((execution, wall_s, passed_s))
    return found


def clock_was_set(wrong: int, of: int) -> bool:
    """Whether so few lines of all are wrong that a clock that was set explains them."""
    return wrong <= max(1, int(of * _CLOCK_SET_RATIO))


def too_close(executions: Sequence[Execution]) -> Iterator[Shortfall]:
    """Between two lines lies at least what the execution lasted, but for a clock that was set."""
    found = hurried(executions)
    if clock_was_set(len(found), len(executions)):
        return
    for one, wall_s, passed_s in found:
        expected = f"{wall_s:.6g} s of execution between its line and the one before"
        yield one.where, expected, f"{passed_s:.6g} s"


def too_short(executions: Sequence[Execution]) -> Iterator[Shortfall]:
    """What an execution did takes time, and it lasted at least as long."""
    for execution in executions:
        for part in execution.lasted:
            if execution.duration_ns + part.exact_ns < part.needed_ns * (1 - TESTER_CLOCK_RATIO):
                yield (
                    f"{execution.where}: wall time",
                    f"at least {part.needed_ns / 1e9:.6g} s {part.what}",
                    f"{execution.duration_ns / 1e9:.6g} s",
                )


def contradictions(executions: Sequence[Execution]) -> Iterator[Shortfall]:
    """No count is outside of what the other counts of its execution leave for it."""
    for execution in executions:
        for count in execution.counts:
            if count.least is not None and count.found < count.least:
                yield f"{execution.where}: {count.what}", f"at least {count.least}", str(count.found)
            if count.most is not None and count.found > count.most:
                yield f"{execution.where}: {count.what}", f"at most {count.most}", str(count.found)


def in_order(what: str, percentiles: Mapping[str, int], mean: int | None = None) -> Iterator[Count]:
    """Give percentiles as counts: none above a higher one, and a mean that lies between least and most."""
    known = [(rank, name) for name in percentiles if (rank := _rank(name)) is not None]
    names = [name for _, name in sorted(known)]
    for lower, name in pairwise(names):
        yield Count(what=f"{what} {name}", found=percentiles[name], least=percentiles[lower])
    if mean is not None and names:
        least, most = percentiles.get("min"), percentiles.get("max")
        yield Count(what=f"{what} mean", found=mean, least=least, most=most)


def _rank(name: str) -> float | None:
    if name in ("min", "max"):
        return 0.0 if name == "min" else 100.0
    share = name.removeprefix("p")
    return float(share) if name.startswith("p") and share.replace(".", "", 1).isdecimal() else None


def outside(executions: Sequence[Execution], began: str, ended: str | None) -> Iterator[Shortfall]:
    """No line was written before the run began or after it ended; no run is older than the toolkit."""
    if moment(began) < EARLIEST:
        yield "run.json: started_at", f"not before {EARLIEST:%Y-%m-%d}, when there was no toolkit", began
    if not executions:
        return
    last = executions[-1]
    if ended is not None and last.end > ended:
        yield last.where, f"a time up to the end, {ended}", last.end
    late = [one for one in executions[:-1] if ended is not None and one.end > ended]
    early = [one for one in executions if one.end < began]
    if not clock_was_set(len(late) + len(early), len(executions)):
        for execution in (*early, *late):
            yield execution.where, f"a time from {began} to {ended or 'the end'}", execution.end


def clock_question(executions: Sequence[Execution]) -> Iterator[str]:
    """Ask of the few lines that are closer than what they tell of lasted."""
    found = hurried(executions)
    if found and clock_was_set(len(found), len(executions)):
        names = ", ".join(one.where for one, _, _ in found[:_NAMED])
        yield f"clock: the lines of {names} are closer than what they tell of lasted: was the clock set?"
