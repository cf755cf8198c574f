"""Back-to-back frames (RFC 9004) at the maximum rate, with the buffer time that they imply."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.back_to_back import LONGEST_BURST_S, RFC2544_REPETITIONS, BurstGoal
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.measurements.remarks import is_plain_load, load_remark
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.search.tst009 import Neighbours

NAME = "back_to_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackToBack(OneMetric):
    """Searches one after the other; the throughput of the cell corrects the buffer time.

    The maximum rate is the medium's (RFC 9004 5), and the tester's qualified load on the same kind of port
    where the medium has none: a virtual link has no minimum gap between frames. A tester that carries less
    than the medium cannot send such bursts: `tester_limited`.
    """

    name: str = NAME
    needs_throughput: bool = True
    places: tuple[Place, ...] = (replace(SPEED, rows=("RFC8204-5.5-04", "LTD-3.2.2.1.5")),)
    metric: str = back_to_back.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell of two ports but the wire, at the sizes that the profile may list."""
        return not cell.qualifies_tester and between_two(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Halvings of each search, half of them verified; bursts get short soon."""
        goal = burst_goal(profile, cell, max_load_fps, None)
        trials = goal.repetitions * math.log2(1 + goal.count) * (1 + goal.max_trials) / 2
        return Cost(trials=trials, traffic_s=goal.repetitions * goal.max_burst_s)

    def measure(self, asked: Asked) -> Answered:
        """Search as often as the profile says; not at all where the throughput is the maximum rate."""
        goal = burst_goal(asked.profile, asked.cell, asked.maximum_fps, asked.load_fps)
        ended: Run[tuple[Neighbours, ...]] = Run(trials=(), found=())
        if goal.applicable:
            ended = asked.run(back_to_back.procedure(goal))
        assert asked.throughput is not None
        outcome = back_to_back.outcome(ended, goal, outcome_id=asked.outcome_id)
        remarks = (*outcome.quality, *load_remark(asked.throughput))
        if outcome.values and not is_plain_load(asked.throughput):
            told = f"no corrected buffer time: the throughput of this cell is {asked.throughput.type.value}"
            outcome, remarks = back_to_back.without_correction(outcome), (*remarks, told)
        return Answered(outcomes=(replace(outcome, quality=remarks),), error=ended.error)


def burst_goal(profile: Profile, cell: Cell, max_rate_fps: int, throughput_fps: int | None) -> BurstGoal:
    """Return what a profile asks of a cell at a maximum rate (frames/s); ValueError for what is forbidden."""
    said = settings(profile, NAME)
    longest_s = float(said.get("max_burst_s", LONGEST_BURST_S))
    return BurstGoal(
        cell=cell,
        max_rate_fps=max_rate_fps,
        step_frames=min(int(said.get("step_frames", 1)), max(1, int(max_rate_fps * longest_s))),
        max_burst_s=longest_s,
        repetitions=int(said.get("repetitions", RFC2544_REPETITIONS)),
        max_trials=int(said.get("max_trials", 2)),
        throughput_fps=throughput_fps,
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )


MEASUREMENTS = (BackToBack(),)
