"""Loss attributed in time: which frames of a trial were lost while a CPU was gone (design decision 13).

A study: no verdict rests on it (docs/adr/0243 says why). Pure. A window is an interval in which a watchdog
shows that a CPU of tester or SUT was gone, with a guard on both sides. A frame belongs to a window by the
time at which it was due, which no device can move: what was due outside every window is loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bmwg.methodology.records import StreamCounts, TrialResult
from bmwg.methodology.trial.cpu_watch import CpuWatch
from bmwg.methodology.trial.frame_times import LossRun

BEFORE_NS = 1_000_000  # an absence is told later than it began by up to one period (docs/adr/0261)
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """How much of a trial's time lies within windows (0..1), and the lost frames that were due there."""

    covered_ratio: float
    masked_frames: int


def attribution(result: TrialResult, *, depth_frames: int) -> Attribution | None:
    """Attribute the losses of a trial; None where it does not tell what that needs.

    `depth_frames` is what the queues of the SUT hold. Needed are the times of losses of one constant load and
    every absence of every watched CPU, by a clock that was neither held back nor lost.
    """
    spec = result.spec
    if spec.burst or spec.act is not None or spec.then_load_fps is not None or not spec.loss_times:
        return None
    watches = result.disturbance.watches if result.disturbance is not None else ()
    if not watches or not all(_complete(watch) for watch in watches):
        return None
    if any(stream.losses is None for stream in result.streams):
        return None
    found = windows(watches, load_fps=spec.load_fps, depth_frames=depth_frames)
    end_ns = int(spec.duration_s * _NS)
    covered_ns = sum(max(0, min(end, end_ns) - max(0, begin)) for begin, end in found)
    masked = sum(_masked(stream, spec.load_fps, found) for stream in result.streams)
    return Attribution(covered_ratio=covered_ns / end_ns, masked_frames=masked)


def _complete(watch: CpuWatch) -> bool:
    return watch.watched and len(watch.intervals) == watch.absences


def windows(watches: Iterable[CpuWatch], *, load_fps: int, depth_frames: int) -> tuple[tuple[int, int], ...]:
    """Return the windows of a trial in order, none overlapping; ns since its first frame was due.

    After an absence of the SUT follows the time in which its queues take `depth_frames` at the load, after
    one of the tester as long again: it catches up on what was due meanwhile.
    """
    depth_ns = depth_frames * _NS // load_fps
    raw = sorted(
        (begin - BEFORE_NS, end + (end - begin if watch.tester else depth_ns))
        for watch in watches
        for begin, end in watch.intervals
    )
    joined: list[tuple[int, int]] = []
    for begin, end in raw:
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return tuple(joined)


def _masked(stream: StreamCounts, load_fps: int, found: tuple[tuple[int, int], ...]) -> int:
    """Count lost frames of a stream that were due within windows.

    Frames that only came late may stand in a run of missing ones: as many count as lost outside.
    """
    losses = stream.losses
    within = sum(_due_within(run, load_fps, found) for run in losses.longest) if losses else 0
    return min(stream.lost_frames, max(0, within - stream.reordered_frames))


def _due_within(run: LossRun, load_fps: int, found: tuple[tuple[int, int], ...]) -> int:
    last = run.first_frame + run.frames
    count = 0
    for begin, end in found:
        first_due = max(run.first_frame, -(-begin * load_fps // _NS))
        count += max(0, min(last, end * load_fps // _NS + 1) - first_due)
    return count
