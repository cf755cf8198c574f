"""Latency of the first frame of each flow beside that of its second one (LTD 3.2.2.2.1).

Each flow of a cell has an entry of its own in the switch's table, whose caches are emptied before a trial.
A trial has two frames for each of some of these flows, in turn: first all first frames, then all second ones.
So each first frame has to be looked up in the table (an upcall), and no later one. The latency of every frame
is told, and there are no others: a trial is as short as that allows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.concluded import Concluded, quantities
from bmwg.methodology.benchmarks.statistics import spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, repetitions
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic
from bmwg.methodology.trial.trial_limits import MAX_TAGS

METRIC = "first_frame_latency.ltd_3_2_2_2_1"
LATER = f"{METRIC}.later"
UPCALLS, FAILED = "modifier.upcalls", "modifier.failed_upcalls"  # counts of a trial
REQUIREMENTS = ("LTD-3.2.2.2.1",)
REPETITIONS = 10  # choice: the document names none
MOST_FLOWS = MAX_TAGS // 2  # of a trial: two frames of each have their latency told
LOAD_FPS = 1_000  # choice: far below what a switch's table answers in a second
_MORE = 0.02  # choice: upcalls beyond one for each flow, for what else a switch sees
_NAME = re.compile(r"first-frames-([1-9][0-9]{0,5})")


def modifier(flows: int) -> str:
    """Return what a trial names whose flows have entries of their own and are in no cache before."""
    return f"first-frames-{flows}"


def flows_of(name: str) -> int | None:
    """Return how many flows a modifier says; None where it is another one."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFramesGoal:
    """Repetitions on one cell, whose flows have entries, at a load (frames/s)."""

    cell: Cell
    repetitions: int = REPETITIONS
    load_fps: int = LOAD_FPS
    max_repeats: int = 5

    def spec(self) -> TrialSpec:
        """Return the trial: twice each flow of as many as have both their latencies told."""
        flows = min(self.cell.flows, MOST_FLOWS)
        traffic = replace(Traffic.of(self.cell), flows=flows)
        return replace(
            traffic.spec(self.load_fps, 2 * flows / self.load_fps),
            modifier=modifier(self.cell.flows),
            tag_after_s=0.5 / self.load_fps,
            tags=2 * flows,
        )


def procedure(goal: FirstFramesGoal) -> Procedure[Sequence[JudgedTrial]]:
    """Take one valid trial for each repetition."""
    short = f"the tester could not send {goal.load_fps} frames/s"
    return repetitions(goal.spec(), goal.repetitions, max_repeats=goal.max_repeats, short=short)


def contradiction(trial: JudgedTrial) -> str:
    """Say why a trial does not tell first frames from later ones; empty where it does."""
    flows, told = trial.spec.flows, dict(trial.result.auxiliary)
    lost = trial.result.lost_frames
    if lost:
        return f"{lost} frames never came"
    if told.get(FAILED, 0):
        return f"{told[FAILED]} upcalls failed"
    upcalls = told.get(UPCALLS, 0)
    if not flows <= upcalls <= flows * (1 + _MORE) + 1:
        return f"{upcalls} upcalls for {flows} flows"
    return ""


def means_ns(trial: JudgedTrial) -> tuple[float, float]:
    """Return the mean latency of the first frames, and of the second ones."""
    (stream,) = trial.result.streams
    first, later = list[float](), list[float]()
    for number, latency_ns in zip(trial.spec.tag_frames, stream.tagged_ns, strict=True):
        if latency_ns is not None:
            (first if number < trial.spec.flows else later).append(latency_ns)
    return spread(first).mean, spread(later).mean


def outcome(ended: Run[Sequence[JudgedTrial]], goal: FirstFramesGoal, *, outcome_id: str) -> Outcome:
    """Return both means over the repetitions.

    One in which a frame was lost, or in which not each flow had its upcall, says nothing and is left out;
    with half of them or more left out there is no number.
    """
    concluded = Concluded.without(ended) if ended.found is None else _concluded(ended.found, goal)
    return concluded.outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(found: Sequence[JudgedTrial], goal: FirstFramesGoal) -> Concluded:
    said = {trial.seq: contradiction(trial) for trial in found}
    whole = [trial for trial in found if not said[trial.seq]]
    left_out = tuple(f"left out: trial {seq}, {why}" for seq, why in said.items() if why)
    if 2 * len(whole) <= len(found):
        reason = f"{len(left_out)} of {len(found)} repetitions tell nothing: {'; '.join(left_out)}"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason)
    means = [means_ns(trial) for trial in whole]
    first, later = spread([one for one, _ in means]).mean, spread([one for _, one in means]).mean
    return Concluded(
        type=OutcomeType.MEASURED,
        values=quantities((METRIC, first, "ns"), (LATER, later, "ns")),
        quality=(
            f"mean of {len(whole)} repetitions at {goal.load_fps} frames/s, each with two frames of"
            f" {goal.spec().flows} of the {goal.cell.flows} flows that have an entry",
            *left_out,
        ),
    )
