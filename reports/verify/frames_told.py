"""What each trial of frames always tells, and tells more than once (docs/adr/0298)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bmwg.methodology.cells import axes, neighbours
from bmwg.methodology.record.seals import is_hidden
from bmwg.methodology.records import NOTHING, Cell, StreamCounts, TrialResult, TrialSpec
from bmwg.reports.checker.evidence import Evidence, Trial, cells_of
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.checker.places import has_nodes_here

_GAPS, _GAP_NS = "gaps_over_1ms", 1_000_000  # a tester's counter, and the gap that it counts from
_STOLEN_NS = 200_000_000  # choice: so much is no rounding to ticks
_ROUNDED_NS = 1_000  # choice: a tester counts in its own ticks


@rule("VER-51", "", "each trial tells what its toolkit always tells: times, and what became of its CPUs")
def evidence_given(evidence: Evidence) -> Iterator[Shortfall]:
    """A trial of real frames has monotonic readings, and a watchdog's record of each CPU that has one."""
    run = evidence.run
    if run is None or run["simulated"] or not evidence.of_frames:
        return
    cpus = _watched(run)
    for trial in evidence.trials:
        where = f"trial {trial.trial.seq}"
        if trial.times is None:
            yield where, "when its steps happened", "no times"
        if trial.fault:
            continue
        if missing := sorted(cpus - _seen(trial.trial.result)):
            names = ", ".join(f"CPU {cpu} of {'the tester' if own else 'the SUT'}" for cpu, own in missing)
            yield where, f"what the watchdog saw on {names}", "nothing"


def _watched(run: Mapping[str, Any]) -> frozenset[tuple[int, bool]]:
    """Return the CPUs that the embedded tester watches, each with whether it is the tester's own."""
    tester = run["testbed"].get("tester")
    if not isinstance(tester, dict) or tester.get("driver") != "embedded":
        return frozenset()
    sut = run["testbed"].get("dut") if has_nodes_here(run["testbed"]) else None
    own = [
        tester.get("cpus"),
        *(one.get("cpus") for one in run["drivers"] if one.get("driver") == "embedded"),
    ]
    others = [sut.get("cpus") if isinstance(sut, dict) else None]
    others += [driver.get("watch_cpus") for driver in run["drivers"] if driver.get("driver") == "embedded"]
    return frozenset({*((cpu, True) for cpu in _numbers(own)), *((cpu, False) for cpu in _numbers(others))})


def _numbers(lists: Iterable[Any]) -> Iterator[int]:
    for one in lists:
        yield from (cpu for cpu in one if isinstance(cpu, int)) if isinstance(one, list) else ()


def _seen(result: TrialResult) -> frozenset[tuple[int, bool]]:
    watches = result.disturbance.watches if result.disturbance is not None else ()
    return frozenset((watch.cpu, watch.tester) for watch in watches)


@rule("VER-53", "", "what a trial tells of gaps and of CPUs that were gone goes together", exit_code=2)
def tellings_agree(evidence: Evidence) -> Iterator[Shortfall]:
    """A gap above 1 ms is counted and measured; a watchdog's longest absence is the CPU's stall."""
    if evidence.run is None or evidence.run["simulated"] or not evidence.of_frames:
        return
    for trial in evidence.trials:
        if not trial.fault:
            yield from _of_gaps(trial)
            yield from _of_watches(trial)


def questions(evidence: Evidence) -> Iterator[str]:
    """Ask of watchdogs that never saw their CPU gone, though the machine says that its time was stolen."""
    if evidence.run is None or evidence.run["simulated"] or not evidence.of_frames:
        return
    stolen_ns: Counter[int] = Counter()
    seen: set[int] = set()
    for trial in evidence.trials:
        told = trial.trial.result.disturbance
        if told is not None and not trial.fault:
            stolen_ns.update(dict(told.steal_ns))
            seen |= {watch.cpu for watch in told.watches if watch.absences}
    blind = [cpu for cpu, count_ns in sorted(stolen_ns.items()) if count_ns > _STOLEN_NS and cpu not in seen]
    if blind:
        times = ", ".join(f"CPU {cpu} ({stolen_ns[cpu] / 1e9:.1f} s)" for cpu in blind)
        yield f"watchdogs: none ever saw {times} gone, whose time was stolen: did they watch?"


@rule("VER-76", "", "the latencies of tagged frames are among those of all frames", exit_code=2)
def tags_among_all(evidence: Evidence) -> Iterator[Shortfall]:
    """The embedded tester counts each frame in its histogram, and tells of a tagged one besides."""
    run = evidence.run
    tester = run["testbed"].get("tester") if run is not None else None
    if run is None or run["simulated"] or not isinstance(tester, dict) or tester.get("driver") != "embedded":
        return
    for trial in evidence.trials:
        if trial.fault or not trial.trial.result.spec.tag_frames:
            continue
        for number, stream in enumerate(evidence.whole(trial).result.streams, start=1):
            if wrong := _untold(stream):
                found = f"{len(wrong)} without, the first of {wrong[0]} ns"
                yield (
                    f"trial {trial.trial.seq}: stream {number}",
                    "a frame in the histogram for each tag",
                    found,
                )


@rule("VER-77", "", "the times of lost frames are possible with how many were lost", exit_code=2)
def losses_possible(evidence: Evidence) -> Iterator[Shortfall]:
    """So many frames lost after a load was reduced were due over so long a time: the last no earlier."""
    if evidence.run is None or evidence.run["simulated"] or not evidence.of_frames:
        return
    for trial in evidence.trials:
        if trial.fault or not trial.trial.valid:
            continue
        for number, stream in enumerate(trial.trial.result.streams, start=1):
            for expected, found in losses_shown(trial.trial.result.spec, stream):
                yield f"trial {trial.trial.seq}: stream {number}: last_lost_ns", expected, found


def losses_shown(spec: TrialSpec, stream: StreamCounts) -> Iterator[tuple[str, str]]:
    """Return what the time of a stream's last lost frame must be, and what it is, where these differ."""
    losses = stream.losses
    if losses is None or stream.sent_frames <= stream.received_frames:
        return
    if losses.last_lost_ns is None:
        lost = stream.sent_frames - stream.received_frames
        yield f"when the last of {lost} lost frames was due", "none"
        return
    if losses.reduced_at_ns is None or not spec.then_load_fps:
        return
    first = min(spec.first_frames, stream.sent_frames)
    after = (stream.sent_frames - first) - (stream.received_frames - losses.first_received_frames)
    if after > 0:
        least_ns = losses.reduced_at_ns + (after - 2) * 1_000_000_000 // spec.then_load_fps
        if losses.last_lost_ns < least_ns:
            yield (
                f"at least {least_ns} ns, for {after} frames were lost after it",
                f"{losses.last_lost_ns} ns",
            )


def _untold(stream: StreamCounts) -> list[int]:
    """Return the latencies of tagged frames for which a histogram has no frame left."""
    left = {(low, high): frames for low, high, frames in stream.latency.buckets}
    lows = sorted(low for low, _ in left)
    highs = dict(left.keys())
    wrong = []
    for took_ns in (one for one in stream.tagged_ns if one is not None):
        place = bisect_right(lows, took_ns) - 1
        bucket = (lows[place], highs[lows[place]]) if place >= 0 else None
        if bucket is None or took_ns > bucket[1] or not left[bucket]:
            wrong.append(took_ns)
        else:
            left[bucket] -= 1
    return wrong


def _of_gaps(trial: Trial) -> Iterator[Shortfall]:
    result = trial.trial.result
    counted = dict(result.auxiliary).get(_GAPS)
    if counted is None or not result.streams:
        return
    gap_ns = max(stream.largest_gap_ns for stream in result.streams)
    least, most = (_GAP_NS - _ROUNDED_NS, None) if counted else (0, _GAP_NS + _ROUNDED_NS)
    if gap_ns < least or (most is not None and gap_ns > most):
        expected = f"a gap {'above' if counted else 'of at most'} 1 ms, for it counted {counted}"
        yield f"trial {trial.trial.seq}: largest_gap_ns", expected, f"{gap_ns} ns"


def _of_watches(trial: Trial) -> Iterator[Shortfall]:
    told = trial.trial.result.disturbance
    if told is None or not told.watches:
        return
    where = f"trial {trial.trial.seq}"
    stalls = dict(told.largest_stall_ns)
    watched = {cpu_watch.cpu: cpu_watch.longest_ns for cpu_watch in told.watches if not cpu_watch.tester}
    if stalls != watched:
        yield f"{where}: largest_stall_ns", f"{watched}, as the watchdogs say", str(stalls)
    for watch in told.watches:
        lengths = [end - begin for begin, end in watch.intervals]
        longest, whole = max(lengths, default=0), sum(lengths)
        found = f"intervals of {whole} ns, the longest of {longest} ns"
        shown = f"{where}: CPU {watch.cpu}"
        if len(lengths) > watch.absences or min(lengths, default=0) < 0:
            yield shown, f"at most {watch.absences} intervals, each from begin to end", str(len(lengths))
        elif longest > watch.longest_ns or whole > watch.absent_ns:
            yield shown, f"absences of {watch.absent_ns} ns, the longest of {watch.longest_ns} ns", found
        elif (watch.longest_ns > watch.absent_ns) if watch.absences else watch.absent_ns:
            yield (
                shown,
                f"{watch.absences} absences of {watch.absent_ns} ns in all",
                f"one of {watch.longest_ns} ns",
            )


@rule("VER-55", "", "each trial of frames ran with the settings and beside the neighbour of its cell")
def stood_as_varied(evidence: Evidence) -> Iterator[Shortfall]:
    """What a deployment of frames tells of these two, or leaves out, is what its cells vary."""
    if evidence.run is None or evidence.platform is None:
        return
    cells = cells_of(evidence)
    lines = ((trial.cell_id, trial.deployment_id) for trial in evidence.trials)
    for cell_id, deployment in dict.fromkeys(lines):
        described = evidence.platform["deployments"].get(deployment)
        if cell_id not in cells or not isinstance(described, Mapping):
            continue
        told, wanted = _varied(described), _asked(cells[cell_id])
        for name in sorted(told.keys() | wanted.keys()):
            found, expected = told.get(name, NOTHING), wanted.get(name, NOTHING)
            hidden = any(map(is_hidden, found if isinstance(found, list) else (found,)))
            if found != expected and not hidden:
                yield f"{cell_id}: {name} of {deployment}", str(expected), str(found)


def _varied(described: Mapping[str, Any]) -> dict[str, Any]:
    settings, beside = described.get("settings"), described.get(neighbours.AXIS)
    told = dict(settings) if isinstance(settings, Mapping) else {}
    name = beside.get("name") if isinstance(beside, Mapping) else beside
    return {**told, neighbours.AXIS: name or neighbours.ALONE}


def _asked(cell: Cell) -> dict[str, Any]:
    settings = {".".join(place): value for place, value in axes.settings(cell.axes).items()}
    return {**settings, neighbours.AXIS: neighbours.of(cell)}


RULES: tuple[Rule[Evidence], ...] = (
    stood_as_varied,
    evidence_given,
    tellings_agree,
    tags_among_all,
    losses_possible,
)
