"""Frames of illegal size (RFC 2889 5.9): does a switch filter them, or forward them to anybody?

At each load frames of legal size go before and after those of illegal size, by one pattern of ports: a
switch that stops carrying anything is no filter. Frames that
came anywhere in any form count: at the port that they were meant for, at another one, or changed, as by a
switch that fills them up to 64 octets. Where most legal frames are lost too, a load says nothing of a filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.concluded import Concluded, numbers
from bmwg.methodology.cells import patterns
from bmwg.methodology.records import Cell, FrameFormat, Outcome, OutcomeType, TrialResult, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic
from bmwg.methodology.trial.trial_limits import MAX_LEGAL_OCTETS, MIN_FRAME_OCTETS, MIN_SENT_OCTETS

METRIC = "illegal_frames.rfc2889_5_9"  # how many came to any port, in any form; 0: all were filtered
SENT = f"{METRIC}.sent"
CHANGED = f"{METRIC}.changed"  # of those that came
UNIT = "frames"
RETURNED = ".returned_frames"  # auxiliary count of each port: what its own sender got back
LEGAL, ILLEGAL = "legal frames", "illegal frames"  # phases
TRIAL_S = 30.0  # rfc2889-5.9.2
NOT_SENT = ("wrong FCS", "dribble bits", "alignment errors")  # of rfc2889-5.9.3, by no port
LOADS_PERCENT = (1, 10)  # rfc2889-5.9.2: several loads; choice: which
REQUIREMENTS = ("RFC2889-5.9.2",)
_OF_KIND = {patterns.UNDERSIZE: ("RFC2889-5.9.3-03",), patterns.OVERSIZE: ("RFC2889-5.9.3-02",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class IllegalGoal:
    """Trials at shares of `load_fps`, frames/s of each sending port, each of `duration_s`."""

    cell: Cell
    load_fps: int
    duration_s: float
    loads_percent: tuple[int, ...] = LOADS_PERCENT
    max_repeats: int = 5
    short_limit: int = 2

    @property
    def undersize(self) -> bool:
        """Whether the frames are too short, not too long."""
        return patterns.kind_of(self.cell.axes) == patterns.UNDERSIZE

    @property
    def legal_octets(self) -> int:
        """The size of the frames that show that frames come through at all."""
        return self.cell.frame_octets if self.undersize else MAX_LEGAL_OCTETS

    @property
    def illegal_octets(self) -> tuple[int, ...]:
        """The sizes that are asked about."""
        if not self.undersize:
            return (self.cell.frame_octets,)
        return tuple(range(MIN_SENT_OCTETS, MIN_FRAME_OCTETS))

    @property
    def wrong(self) -> str:
        """Say why this cell has no illegal frames; empty where it has."""
        cell, size = self.cell, self.cell.frame_octets
        if not self.undersize:
            return "" if size > MAX_LEGAL_OCTETS else f"frames of {size} octets are not oversized"
        if size > MAX_LEGAL_OCTETS:
            return f"frames of {size} octets are no legal ones to compare undersized ones with"
        if cell.frame_format is FrameFormat.IPV6_UDP or cell.vlan_id is not None:
            return "no frame below 64 octets holds these headers and a signature"
        return ""

    def loads(self) -> list[int]:
        """Return the loads, from the lowest up."""
        return sorted({max(1, self.load_fps * percent // 100) for percent in self.loads_percent})

    def spec(self, load_fps: int, frame_octets: int) -> TrialSpec:
        """Return the trial of one size at a load."""
        traffic = replace(Traffic.of(self.cell), frame_octets=frame_octets)
        return traffic.spec(load_fps, self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLoad:
    """The trials at one load: of legal frames, before and after, and of each illegal size between them."""

    legal: tuple[JudgedTrial, JudgedTrial]
    illegal: tuple[JudgedTrial, ...]

    @property
    def load_fps(self) -> int:
        """The load of each sender, frames/s."""
        return self.legal[0].spec.load_fps

    @property
    def carried(self) -> bool:
        """Whether each receiving port got at least half of the legal frames, before and after."""
        streams = (one for trial in self.legal for one in trial.result.streams)
        return all(2 * one.received_frames >= one.sent_frames for one in streams)


def came(result: TrialResult) -> int:
    """Return how many frames of a trial came to any port, its sender too, in any form; each copy counts."""
    returned = sum(count for name, count in result.auxiliary if name.endswith(RETURNED))
    arrived = (one.received_frames + one.duplicate_frames + one.flooded_frames for one in result.streams)
    return returned + changed(result) + sum(arrived)


def changed(result: TrialResult) -> int:
    """Return how many frames came with other octets or another length."""
    return sum(one.corrupt_frames for one in result.streams)


def procedure(goal: IllegalGoal) -> Procedure[tuple[AtLoad, ...]]:
    """Take the trials of each load; the first load that the tester does not send ends it."""
    found: list[AtLoad] = []
    for load in goal.loads():
        trials: list[JudgedTrial] = []
        sizes = (goal.legal_octets, *goal.illegal_octets, goal.legal_octets)
        for octets in sizes:
            trial = yield from valid_trial(
                goal.spec(load, octets),
                LEGAL if octets == goal.legal_octets else ILLEGAL,
                max_repeats=goal.max_repeats,
                short_limit=goal.short_limit,
            )
            if trial is None:
                break
            trials.append(trial)
        if len(trials) < len(sizes):
            break
        found.append(AtLoad(legal=(trials[0], trials[-1]), illegal=tuple(trials[1:-1])))
    if not found:
        raise TesterShortError(f"the tester could not send {goal.loads()[0]} frames/s from each port")
    return tuple(found)


def outcome(ended: Run[tuple[AtLoad, ...]], goal: IllegalGoal, *, outcome_id: str) -> Outcome:
    """Return how many illegal frames came, and whether the condition is passed or failed (RFC 2889 5.9.5)."""
    concluded = Concluded.without(ended) if ended.found is None else _concluded(ended.found, goal)
    kind = patterns.kind_of(goal.cell.axes)
    return concluded.outcome(
        ended.trials,
        outcome_id=outcome_id,
        metric=METRIC,
        cell=goal.cell,
        requirements=(*REQUIREMENTS, *_OF_KIND[kind]),
    )


def _concluded(found: Sequence[AtLoad], goal: IllegalGoal) -> Concluded:
    telling = [one for one in found if one.carried]
    loads = [one.load_fps for one in telling]
    offered = [f"trials of {goal.duration_s:g} s at {', '.join(map(str, loads))} frames/s of each sender"]
    offered += [
        f"at {one.load_fps} frames/s a port lost most frames of legal size: nothing is told there"
        for one in found
        if not one.carried
    ]
    if len(found) < len(goal.loads()):
        offered.append(f"the tester could not send {goal.loads()[len(found)]} frames/s from each port")
    if not telling:
        reason = "at every load a port lost most frames of legal size: this does not tell of a filter"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason, quality=offered[1:])
    trials = [trial.result for one in telling for trial in one.illegal]
    counts = {METRIC: sum(map(came, trials)), SENT: sum(one.sent_frames for one in trials)}
    counts[CHANGED] = sum(map(changed, trials))
    untold = f"not tried: frames with {', '.join(NOT_SENT)}, which no port of the tester can make"
    quality = [_verdict(goal, passed=not counts[METRIC]), *_by_size(trials), untold, *offered]
    return Concluded(type=OutcomeType.MEASURED, values=numbers(counts, UNIT), quality=quality)


def _verdict(goal: IllegalGoal, *, passed: bool) -> str:
    what = "undersized" if goal.undersize else "oversized"
    if passed:
        return f"pass: {what} frames are filtered"
    may = "" if goal.undersize else ", which RFC 2889 5.9.3 lets a switch do"
    return f"fail: {what} frames are forwarded{may}"


def _by_size(trials: Sequence[TrialResult]) -> list[str]:
    """Say what came of each size, all loads together."""
    told = []
    for octets in dict.fromkeys(trial.spec.frame_octets for trial in trials):
        of_size = [trial for trial in trials if trial.spec.frame_octets == octets]
        sent = sum(trial.sent_frames for trial in of_size)
        told.append(f"{octets} octets: {sum(map(came, of_size))} came of {sent} sent")
    return told
