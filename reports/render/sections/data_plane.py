"""What the data plane used beside each throughput: CPUs, CPU time for a frame, memory, part by part."""

from __future__ import annotations

from bmwg.methodology.answers.data_plane import Part, Use
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Outcome
from bmwg.reports.render.blocks import Block, pairs, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, front
from bmwg.reports.render.text import NONE, nanoseconds, unit, whole

NAMES = {
    "queues": "device queues (kernel threads)",
    "ksoftirqd": "ksoftirqd (kernel threads)",
    "vswitch": "vSwitch",
}
WORDS = (
    ("CPUs in use", "CPU time of all parts within the time between the readings before and after a trial"),
    (
        "CPU time a frame",
        "that CPU time over the frames received; the readings enclose more than the time of sending, so a"
        " thread that polls all the time shows more than it needs for a frame",
    ),
    (
        "where work is counted",
        "where the kernel does it: sending into a veth pair counts for the sender, and what the tester's end"
        " does with a frame counts for the thread that delivers it",
    ),
    (
        "upcalls",
        "frames that found no flow in the vSwitch's caches and went to its rules: the first of a flow, and"
        " the first after it was idle for long",
    ),
    ("soft interrupts", "on the DUT's CPUs, in ticks; within the time of other parts as well, and not added"),
)
_MEBI = 1 << 20


def brief(use: Use | None) -> str:
    """Return CPUs in use and CPU time a frame in one line; empty where nothing was counted."""
    if use is None:
        return ""
    each = use.cpu_ns_per_frame
    return cpus(use.cpus) + (f", {_time(each)} a frame" if each is not None else "")


def _time(number: float) -> str:
    """Return a time with three digits: ticks and windows allow no more."""
    return nanoseconds(float(f"{number:.3g}"))


def cpus(number: float) -> str:
    """Return a number of CPUs with two decimals."""
    return f"{number:.2f}\u00a0CPU{'' if f'{number:.2f}' == '1.00' else 's'}"


def section(facts: Facts) -> list[Block]:
    """Return the section; nothing for a run whose trials have no such counts."""
    rows = []
    for outcome in facts.of_search():
        if outcome.cell.qualifies_tester:
            continue
        at_load = facts.use(outcome)
        use = at_load or facts.use_over_all(outcome)
        if use is not None:
            rows.append(_row(outcome, use, of_search=at_load is None))
    if not rows:
        return []
    head = [*HEAD, "of which trials", "CPUs in use", "CPU time a frame"]
    head += ["by part: CPUs", "by part: memory", "cycles a frame", "soft interrupts", "upcalls"]
    lines = title("CPU and memory of the data plane")
    lines += table(head, rows, "What the data plane used while frames went through")
    lines += pairs(WORDS)
    absent = _not_counted(facts)
    return [*lines, *table(["not counted", "reason", "deployments"], absent, "Not counted")]


def _row(outcome: Outcome, use: Use, *, of_search: bool) -> list[str]:
    trials = f"{use.trials} trial{'' if use.trials == 1 else 's'}"
    if of_search:
        which = f"all {trials} of its search"
    else:
        load = outcome.lower.load_fps if outcome.lower else 0
        which = f"{trials} at {unit(load, 'frames/s')}, which held"
    each, cycles = use.cpu_ns_per_frame, use.cycles_per_frame
    held = [f"{_name(part)} {_octets(part)}" for part in use.parts if part.memory_octets is not None]
    window_ns = max(part.window_ns for part in use.parts)
    return [
        *front(outcome),
        which,
        cpus(use.cpus),
        NONE if each is None else _time(each),
        "; ".join(_cpus_of(part) for part in use.parts),
        "; ".join(held),
        NONE if cycles is None else whole(round(cycles)),
        NONE if use.softirq_ns is None else cpus(use.softirq_ns / window_ns),
        NONE if use.upcalls is None else f"{whole(use.upcalls)} of {whole(use.frames)} frames",
    ]


def _name(part: Part) -> str:
    return NAMES.get(part.name, part.name)


def _cpus_of(part: Part) -> str:
    polling = part.polling_cpu_ns
    of_which = "" if polling is None else f" (polling threads {polling / part.window_ns:.2f})"
    return f"{_name(part)} {part.cpus:.2f}{of_which}"


def _octets(part: Part) -> str:
    return f"{(part.memory_octets or 0) / _MEBI:.1f}\u00a0MiB"


def _not_counted(facts: Facts) -> list[list[str]]:
    """Return what deployments could not count, each reason once."""
    found: dict[tuple[str, str], int] = {}
    for evidence in facts.run.deployments.values():
        absent = below(evidence, "data_plane", "not_counted")
        for what, reason in absent.items() if isinstance(absent, dict) else ():
            found[str(what), str(reason)] = found.get((str(what), str(reason)), 0) + 1
    return [[what, reason, whole(count)] for (what, reason), count in sorted(found.items())]
