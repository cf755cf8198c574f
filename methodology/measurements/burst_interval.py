"""The least interval between bursts without loss (RFC 2544 section 21), for each size of a burst."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import burst_interval
from bmwg.methodology.benchmarks.burst_interval import BURST_FRAMES, METRIC, Bursty, least_load_fps
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, invalid, settings, wanted_size
from bmwg.methodology.measurements.throughput import bisection_trials
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import BISECTION
from bmwg.methodology.records import Cell, Outcome
from bmwg.methodology.search import bisection

NAME = "burst_interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstInterval:
    """A bisection for each size of a burst, over the mean load.

    Frames of a burst have the least gap of the medium; where it has no rate, that of the tester's qualified
    load on the same kind of port. A tester that cannot send bursts so dense is `tester_limited`.
    """

    name: str = NAME
    needs_throughput: bool = False
    reads_latency: bool = False
    families: tuple[str, ...] = (METRIC,)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire, at the sizes that the profile may list."""
        return not cell.qualifies_tester and wanted_size(profile, NAME, cell)

    def recorded_as(self, profile: Profile, cell: Cell) -> str:
        """One metric for all sizes of a burst."""
        return METRIC

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """One for each size of a burst."""
        return tuple(f"{METRIC}.{frames}" for frames in _sizes(profile))

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """A bisection for each size."""
        trials = float(len(_sizes(profile)) * bisection_trials(profile, max_load_fps))
        return Cost(trials=trials, traffic_s=trials * profile.trial_duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Search size by size; what fails once fails what would follow."""
        outcomes: list[Outcome] = []
        error: Exception | None = None
        for one in goals(asked):
            number = f"{asked.outcome_id}:{one.burst_frames}" if outcomes else asked.outcome_id
            if error is not None:
                reason = f"not tried: the search before it failed: {error}"
                outcomes.append(replace(invalid(asked, one.metric, reason), outcome_id=number))
                continue
            phase = f"bursts of {one.burst_frames}"
            found = bisection.search(lambda spec, phase=phase: asked.trial(spec, phase), one.goal)  # type: ignore[misc]  # bound per size
            error = found.error
            outcomes.append(burst_interval.outcome(found, one, outcome_id=number))
        return Answered(outcomes=tuple(outcomes), error=error)


def goals(asked: Asked) -> Iterator[Bursty]:
    """Yield what is searched on a cell: one goal for each size of a burst."""
    profile = asked.profile
    burst_fps = asked.maximum_fps
    for frames in _sizes(profile):
        goal = profile.searching(BISECTION).goal(
            asked.cell,
            max_load_fps=asked.max_load_fps,
            envelope_fps=asked.envelope_fps,
            medium_fps=asked.medium_fps,
        )
        least = max(goal.min_load_fps, least_load_fps(frames, goal.duration_s))
        goal = replace(
            goal,
            min_load_fps=min(least, goal.max_load_fps),
            burst_frames=frames,
            burst_fps=burst_fps,
        )
        yield Bursty(cell=asked.cell, goal=goal, burst_frames=frames, burst_fps=burst_fps)


def _sizes(profile: Profile) -> tuple[int, ...]:
    return tuple(settings(profile, NAME).get("burst_frames", BURST_FRAMES))


MEASUREMENTS = (BurstInterval(),)
