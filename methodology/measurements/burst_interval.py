"""The least interval between bursts without loss (RFC 2544 21), a measurement for each size of a burst."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import burst_interval
from bmwg.methodology.benchmarks.burst_interval import BURST_FRAMES, METRIC, Bursty, least_load_fps
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, wanted_size
from bmwg.methodology.measurements.throughput import OneBisection
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import BISECTION
from bmwg.methodology.records import Cell
from bmwg.methodology.search import bisection
from bmwg.methodology.trial.traffic import Traffic

SETTINGS = "burst_interval"  # of all sizes in a profile


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstInterval(OneBisection):
    """A bisection over the mean load of bursts of one size.

    Frames of a burst have the least gap of the medium; where it has no rate, that of the tester's qualified
    load on the same kind of port. A tester that cannot send bursts so dense is `tester_limited`.
    """

    burst_frames: int
    places: tuple[Place, ...] = (SPEED,)

    @property
    def name(self) -> str:
        """`burst_interval_` and the frames of a burst."""
        return f"{SETTINGS}_{self.burst_frames}"

    @property
    def metric(self) -> str:
        """The metric with the frames of a burst."""
        return f"{METRIC}.{self.burst_frames}"

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire and those whose pattern asks for no load, at the sizes that are listed."""
        able = not cell.qualifies_tester and patterns.has_load(cell.axes)
        return able and wanted_size(profile, SETTINGS, cell)

    def measure(self, asked: Asked) -> Answered:
        """Search."""
        wanted = self.wanted(asked)
        found = bisection.search(lambda spec: asked.trial(spec, "bursts"), wanted.goal)
        outcome = burst_interval.outcome(found, wanted, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=found.error)

    def wanted(self, asked: Asked) -> Bursty:
        """Return what is searched on a cell."""
        goal = asked.profile.searching(BISECTION).goal(
            asked.cell,
            max_load_fps=asked.max_load_fps,
            envelope_fps=asked.envelope_fps,
            medium_fps=asked.medium_fps,
        )
        least_fps = max(goal.min_load_fps, least_load_fps(self.burst_frames, goal.duration_s))
        goal = replace(
            goal,
            min_load_fps=min(least_fps, goal.max_load_fps),
            offer=replace(
                Traffic.of(asked.cell), burst_frames=self.burst_frames, burst_fps=asked.maximum_fps
            ),
        )
        return Bursty(cell=asked.cell, goal=goal, burst_frames=self.burst_frames, burst_fps=asked.maximum_fps)


MEASUREMENTS = tuple(BurstInterval(burst_frames=frames) for frames in BURST_FRAMES)
