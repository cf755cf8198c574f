"""What the simulated DUT does to a burst, to a second load, to an outage; and what its modifiers show."""

from __future__ import annotations

import math

from bmwg.methodology.benchmarks import first_frames, flow_changes, flow_scale, match_action
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.directions import sending
from bmwg.methodology.trial.frame_times import LossRun, LossTimes
from bmwg.methodology.trial.repeated_bursts import BurstTimes

QUEUE_FRAMES = 256
OUTAGE_NS = 50_000_000  # choice: any known length does
_NS = 1_000_000_000
_INTERVALS_S = {"management": 1.0, "route-updates": 30.0}  # as the embedded tester's (extras.py)
_LEARNT_ROUTES = 25


def without(frames: tuple[int, ...], lost: int) -> tuple[int, ...]:
    """Return counts less what was lost, which is taken of each in proportion."""
    whole, before, left = sum(frames), 0, []
    for count in frames:
        taken = (before + count) * lost // whole - before * lost // whole
        left.append(count - taken)
        before += count
    return tuple(left)


def burst_times(spec: TrialSpec) -> BurstTimes | None:
    """Return how bursts leave that leave as they should."""
    if spec.burst_frames is None or spec.burst_fps is None:
        return None
    length_ns = round((spec.burst_frames - 1) * _NS / spec.burst_fps)
    apart_ns = round(spec.burst_frames * _NS / spec.load_fps) - length_ns
    between = spec.bursts - 1
    return BurstTimes(
        bursts=spec.bursts,
        lengths_ns=spec.bursts * length_ns,
        longest_ns=length_ns,
        intervals_ns=between * apart_ns,
        shortest_interval_ns=apart_ns if between else 0,
    )


def passed_of_bursts(frames: int, load_fps: float, burst_fps: int, bursts: int, knee_fps: float) -> int:
    """Return how many frames of repeated bursts pass a queue of `QUEUE_FRAMES` that `knee_fps` leave.

    Where the queue empties between bursts, each loses what it does not hold; else it stands full in the end.
    """
    sent = frames * bursts
    peak = frames * max(0.0, 1 - knee_fps / burst_fps)
    if load_fps <= knee_fps:
        return sent - bursts * math.ceil(max(0.0, peak - QUEUE_FRAMES) - 1e-9)
    sending_s = (bursts - 1) * frames / load_fps + frames / burst_fps
    return min(sent, QUEUE_FRAMES + int(knee_fps * sending_s))


def passed_frames(spec: TrialSpec, sent: int, offered_fps: int, knee_fps: float) -> int:
    """Return how many of the sent frames pass a device that serves `knee_fps` from a bounded queue."""
    if spec.act is not None:
        return max(0, sent - _outage_frames(spec))
    if spec.burst_frames is not None and spec.burst_fps is not None:
        passed = passed_of_bursts(spec.burst_frames, spec.load_fps, spec.burst_fps, spec.bursts, knee_fps)
        return min(sent, passed)
    if offered_fps <= knee_fps:
        return sent
    served = int(knee_fps * spec.duration_s)
    if spec.burst:
        return min(sent, QUEUE_FRAMES + served)
    if spec.then_load_fps is not None:
        first = min(spec.first_frames, sent)
        return min(first, QUEUE_FRAMES + served) + (sent - first)
    return int(sent * knee_fps / offered_fps)


def loss_times(spec: TrialSpec, sent: int, lost: int) -> LossTimes | None:
    """Return when the frames were lost: before the second load, or in the outage."""
    if not spec.loss_times:
        return None
    first = min(spec.first_frames, sent)
    reduced_at_ns = None if spec.then_load_fps is None else round(spec.duration_s * _NS)
    if not lost:
        return LossTimes(runs=0, first_received_frames=first, reduced_at_ns=reduced_at_ns)
    end_ns = round(spec.duration_s * _NS)
    begin_ns, end_ns = max(0, end_ns - 1_000_000), end_ns - 1
    if spec.act_at_s is not None:
        begin_ns = round(spec.act_at_s * _NS)
        end_ns = begin_ns + OUTAGE_NS
    start = min(int(begin_ns * spec.load_fps / _NS), sent - lost)
    run = LossRun(first_frame=start, frames=lost, before_ns=begin_ns, after_ns=end_ns)
    return LossTimes(
        runs=1,
        first_received_frames=first - lost,
        longest=(run,),
        reduced_at_ns=reduced_at_ns,
        last_lost_ns=end_ns,
    )


def shown(spec: TrialSpec, sent: int, took_s: float) -> tuple[tuple[str, int], ...]:
    """Return the counts that a modifier or an act leaves beside the frames, in all the time of a trial."""
    counts: list[tuple[str, int]] = []
    if spec.act_at_s is not None:
        began_ns = round(spec.act_at_s * _NS)
        counts += [("act.began_ns", began_ns), ("act.ended_ns", began_ns + OUTAGE_NS)]
    if spec.broadcast_every is not None:
        beside = sent // spec.broadcast_every
        for name in sending(spec.direction):
            counts.append((f"{name}.broadcast_sent_frames", beside))
            counts += [
                (f"{name}.broadcast_{end}_between_frames", spec.broadcast_every) for end in ("least", "most")
            ]
    if spec.modifier in _INTERVALS_S:
        due = math.ceil(spec.total_s / _INTERVALS_S[spec.modifier])  # the first with the first frame
        answered = due if spec.modifier == "management" else 0
        counts += [("modifier.sent_frames", due), ("modifier.answered_frames", answered)]
        counts += [("modifier.verified_frames", answered), ("modifier.wrong_frames", 0)]
        between_ns = round(_INTERVALS_S[spec.modifier] * _NS) if due > 1 else 0
        counts += [("modifier.least_between_ns", between_ns), ("modifier.most_between_ns", between_ns)]
        counts.append(("modifier.first_after_frames", 0))
        if spec.modifier == "route-updates":
            counts.append(("modifier.learnt_routes", _LEARNT_ROUTES))
    elif spec.modifier is not None and (coupling := flow_changes.coupling(spec.modifier)):
        counts.append((flow_changes.CHANGES, int(coupling.changes_per_s * took_s)))
    elif spec.modifier is not None and first_frames.flows_of(spec.modifier):
        counts += [(first_frames.UPCALLS, spec.flows), (first_frames.FAILED, 0)]
    elif spec.modifier is not None and (one := match_action.of_modifier(spec.modifier)):
        counts.append((match_action.FRAMES, int(one.share * sent * len(sending(spec.direction)))))
    elif spec.modifier is not None and (flows := flow_scale.matched(spec.modifier)):
        counts.append((flow_scale.MATCHED, flows))
    elif spec.modifier is not None and (flows := flow_scale.expiring(spec.modifier)):
        counts.append((flow_scale.EXPIRED, max(1, int(flows * spec.total_s / flow_scale.TIMEOUT_S))))
    elif spec.modifier is not None:
        matched = sent * len(sending(spec.direction))
        counts += [("modifier.matched_frames", matched), ("modifier.filtered_frames", 0)]
    return tuple(counts)


def _outage_frames(spec: TrialSpec) -> int:
    return min(spec.load_fps * OUTAGE_NS // _NS, spec.intended_frames)
