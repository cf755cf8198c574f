"""The profile as frozen records; `reading` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bmwg.methodology.answers.latency import MayLose
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal, rfc2544_goal, tst009_goal
from bmwg.methodology.records import Cell, Direction, FrameFormat, TrialSpec
from bmwg.methodology.search.closing import EDGE_RATIO, Closing, above_fps
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.steadiness import (
    APART_RATIO,
    BELOW,
    CHECKS,
    LOSSY_RATIO,
    MORE,
    MORE_OF_SHARE,
    Checks,
)
from bmwg.methodology.search.sustained import Sustained
from bmwg.methodology.search.tst009 import Tst009Goal
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.methodology.trial.traffic import Traffic

BISECTION, TST009, MLRSEARCH = "bisection", "tst009", "mlrsearch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """The numbers of the throughput search; see ThroughputGoal.

    `algorithm` says which search they are for. TST009's has `step_fps`, `max_trials` and `threshold_frames`
    (see Tst009Goal), MLRsearch `goals` and `warmup_s` (see ControllerInput). `state_checks` is
    how often each answer is checked after its search (see steadiness).
    """

    min_load_fps: int
    relative_width: float
    short_limit: int
    verification_trials: int
    max_reopenings: int
    most_relative_width: float | None = None
    algorithm: str = BISECTION
    step_fps: int = 1
    max_trials: int = 2
    threshold_frames: int | None = None
    goals: tuple[SearchGoal, ...] = ()
    warmup_s: float = 0.0
    state_checks: int = CHECKS


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySettings:
    """Latency of each cell whose frame size is listed: `streams` of this length, one after the other.

    `wire_percent` is the load of the tester's own latency, percent of what it carries; `floor_percents` are
    further ones at which that is known too, so that a device's load lies between two of them.
    """

    duration_s: float
    frame_octets: tuple[int, ...]
    streams: int = 1
    wire_percent: int = 100
    floor_percents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """One line of the plan. `networks` are names; `all_networks` takes each that the testbed file has.

    `axes` are the values of what else is varied: a cell for each combination of them.
    """

    path: str
    hosting: str
    function: str
    networks: tuple[str, ...] = ()
    all_networks: bool = False
    frame_octets: tuple[int, ...]
    axes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)

    @property
    def needs_network(self) -> bool:
        """Whether a network option takes part in the path."""
        return self.all_networks or bool(self.networks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One shortfall that the profile declares: of which catalogue row, what is done instead, and why."""

    requirement: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a run measures and by which numbers. `data` is the file as data (for run.json).

    `benchmarks` holds settings by the name of a measurement (what it leaves out is as in the documents),
    `suite_paths` the paths of suites that do not measure on `paths`.
    `indicative` marks every result of the run as no conformance statement. `expected_invalid_ratio` (0..1)
    only serves the estimate of the run's length. `loss_times` asks the trials of a bisection for the number
    and times of gaps in the sequence of received frames (RFC2544-10-05). `keep_awake` is what is to keep CPUs
    from halting meanwhile.
    """

    name: str
    title: str
    indicative: bool
    trial_duration_s: float
    policy: TrialPolicy
    search: SearchSettings
    latency: LatencySettings
    paths: tuple[PathPlan, ...]
    directions: tuple[Direction, ...]
    frame_formats: tuple[FrameFormat, ...]
    flows: tuple[int, ...]
    destination_networks: tuple[int, ...] = (1,)
    keep_awake: KeepAwake = KeepAwake.NONE
    deviations: tuple[Deviation, ...] = ()
    expected_invalid_ratio: float = 0.0
    loss_times: bool = False
    benchmarks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    suite_paths: Mapping[str, tuple[PathPlan, ...]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def searched_s(self) -> float:
        """How long the trials are by which the profile's own search decides, seconds: of its first goal."""
        goals = self.search.goals
        return goals[0].goal_final_trial_duration_s if goals else self.trial_duration_s

    @property
    def finds_rfc2544(self) -> bool:
        """Whether the profile's own search finds the throughput of RFC 2544 26.1, or what stands for it.

        MLRsearch does by a goal without loss in any trial (RFC9971-4.10.2-01).
        """
        goals = self.search.goals
        return self.search.algorithm != MLRSEARCH or any(goal.rfc2544_grade != "none" for goal in goals)

    def searching(self, algorithm: str) -> Profile:
        """Return the profile as it searches by another algorithm than its own.

        The numbers are what `benchmarks` has under the algorithm's name; what it leaves out is as in the
        documents: steps of 10,000 frames/s and two trials for TST009, for MLRsearch the goals of RFC 9971
        4.10.2 and 4.10.3.
        """
        if self.search.algorithm == algorithm:
            return self
        said = self.benchmarks.get(algorithm, {})
        goals = tuple(read_goal(goal) for goal in said.get("goals", ())) or (rfc2544_goal(), tst009_goal())
        return replace(
            self,
            search=replace(
                self.search,
                algorithm=algorithm,
                step_fps=int(said.get("step_fps", 10_000)),  # TST009-12.3.3-06
                max_trials=int(said.get("max_trials", 2)),
                threshold_frames=said.get("threshold_frames"),
                goals=goals if algorithm == MLRSEARCH else (),
                warmup_s=float(said.get("warmup_s", 0.0)),
            ),
        )

    def goal(
        self,
        cell: Cell,
        *,
        max_load_fps: int,
        envelope_fps: int | None = None,
        medium_fps: int | None = None,
        qualifies_tester: bool = False,
        closes: bool = False,
    ) -> ThroughputGoal:
        """Return the throughput goal of one cell; loads are frames/s per port and direction.

        With `closes` the search tries what it found once more, from below and above (docs/adr/0263).

        The lowest load is the profile's, or the highest load where that is lower still. A profile of another
        search has none but for the tester's qualification (ToolkitBug PRF-05): its number would be
        mislabelled.
        """
        if self.search.algorithm != BISECTION and not qualifies_tester:
            raise ToolkitBug(
                "PRF-05",
                f"profile {self.name} was asked for a bisection",
                expected=f"a search by {self.search.algorithm}",
                found=BISECTION,
            )
        return ThroughputGoal(
            offer=Traffic.of(cell, loss_times=self.loss_times and not qualifies_tester),
            duration_s=self.trial_duration_s,
            min_load_fps=min(self.search.min_load_fps, max_load_fps),
            max_load_fps=max_load_fps,
            relative_width=self.search.relative_width,
            envelope_fps=envelope_fps,
            medium_fps=medium_fps,
            qualifies_tester=qualifies_tester,
            max_repeats=self.policy.max_repeats,
            short_limit=self.search.short_limit,
            verification_trials=self.search.verification_trials,
            max_reopenings=self.search.max_reopenings,
            most_relative_width=self.search.most_relative_width,
            closes=closes,
        )

    def tst009_goal(
        self, cell: Cell, *, max_load_fps: int, envelope_fps: int | None = None, medium_fps: int | None = None
    ) -> Tst009Goal:
        """Return the goal of TST009's search for one cell; loads as in `goal`."""
        return Tst009Goal(
            offer=Traffic.of(cell),
            duration_s=self.trial_duration_s,
            step_fps=min(self.search.step_fps, max_load_fps),
            max_load_fps=max_load_fps,
            max_trials=self.search.max_trials,
            threshold_frames=self.search.threshold_frames,
            envelope_fps=envelope_fps,
            medium_fps=medium_fps,
            max_repeats=self.policy.max_repeats,
            short_limit=self.search.short_limit,
        )

    def closing(
        self,
        cell: Cell,
        load_fps: int,
        goal: int = 0,
        *,
        upper_fps: int | None = None,
        max_load_fps: int = 0,
        tried: Sequence[JudgedTrial] = (),
        half_fps: int | None = None,
        highest_fps: int | None = None,
    ) -> Closing:
        """Return what to try again after a search, for one goal of MLRsearch by its number.

        `upper_fps` is the bound above, `tried` are the trials of the search. `half_fps` is what is tried as
        half of the load, `highest_fps` the highest of the upper bounds: goals of one search share both. In
        an indicative profile the upper bound of any search has to lose frames in most of its trials: where it
        does in a part of them, the machine set the bound and not the device (docs/adr/0462).
        """
        search = self.search
        loss_ratio, exceed_ratio = 0.0, 1 - 1 / search.max_trials  # RFC 9971 4.10.3, for r trials
        duration_s, step = self.trial_duration_s, 0.0
        if search.algorithm == MLRSEARCH:
            wanted = search.goals[goal]
            loss_ratio, exceed_ratio = wanted.goal_loss_ratio, wanted.goal_exceed_ratio
            duration_s, step = wanted.goal_final_trial_duration_s, wanted.goal_width
        of_share = bool(step and exceed_ratio and self.indicative)
        highest_fps = upper_fps if highest_fps is None else highest_fps
        above = None if highest_fps is None else above_fps(highest_fps, max_load_fps)
        return Closing(
            offer=Traffic.of(cell),
            load=load_fps,
            half=max(1, load_fps // 2) if half_fps is None else half_fps,
            duration_s=duration_s,
            loss_ratio=loss_ratio,
            exceed_ratio=exceed_ratio,
            max_repeats=self.policy.max_repeats,
            short_limit=search.short_limit,
            above_fps=above,
            tried=tuple(trial for trial in tried if trial.valid and trial.spec.duration_s == duration_s),
            upper=upper_fps if self.indicative else None,
            upper_ratio=exceed_ratio if of_share else EDGE_RATIO,
            step=step if of_share else 0.0,
            max_load=max_load_fps,
            lowest=min(search.min_load_fps, max(1, load_fps // 4)) if of_share and not loss_ratio else None,
        )

    def sustained(
        self,
        cell: Cell,
        load_fps: int,
        goal: int = 0,
        *,
        upper_fps: int | None = None,
        tried_fps: int | None = None,
    ) -> Sustained | None:
        """Return the long trial after a search, for a goal of MLRsearch by its number; None: none is due.

        `tried_fps` is the load that it is tried at (None: what was found).
        """
        if self.search.algorithm != MLRSEARCH:
            return None
        wanted = self.search.goals[goal]
        long = Sustained(
            offer=Traffic.of(cell),
            found=load_fps,
            load=load_fps if tried_fps is None else tried_fps,
            upper=upper_fps,
            duration_s=wanted.goal_final_trial_duration_s,
            loss_ratio=wanted.goal_loss_ratio,
            max_repeats=self.policy.max_repeats,
            short_limit=self.search.short_limit,
        )
        return long if long.due and wanted.goal_exceed_ratio else None

    def checks(
        self, cell: Cell, load_fps: int, goal: int = 0, *, upper_fps: int | None, max_load_fps: int
    ) -> Checks:
        """Return what to check after a search; the goal of MLRsearch by its number.

        Where the profile lets an interval widen, since machines vary, what varies by as much is no state. In
        an indicative one a single check that deviates asks for more of them (docs/adr/0371).
        """
        closing = self.closing(cell, load_fps, goal)
        strict = self.search.algorithm == BISECTION
        exceed_ratio = 0.0 if strict else closing.exceed_ratio
        more = MORE_OF_SHARE if exceed_ratio else MORE
        return Checks(
            offer=Traffic.of(cell, loss_times=True) if strict and self.loss_times else closing.offer,
            load=load_fps,
            upper=upper_fps,
            max_load=max_load_fps,
            duration_s=closing.duration_s,
            count=self.search.state_checks,
            below=BELOW if exceed_ratio else max(BELOW, self.search.most_relative_width or 0.0),
            loss_ratio=closing.loss_ratio,
            exceed_ratio=exceed_ratio,
            max_repeats=closing.max_repeats,
            short_limit=closing.short_limit,
            most=more * self.search.state_checks if self.indicative else self.search.state_checks,
            apart_ratio=APART_RATIO if self.indicative else 0.0,
            lossy_ratio=LOSSY_RATIO if self.indicative else 0.0,
            control_load=self._control_load(load_fps),
        )

    def _control_load(self, load_fps: int) -> int | None:
        """A load far below an answer, where stalls are set aside and may be of the load's own making."""
        if not self.indicative or not self.policy.set_aside_host_stalls:
            return None
        return max(1, min(self.search.min_load_fps, load_fps // 4))

    def may_lose(self) -> MayLose:
        """Return what trials at a throughput may lose: as the search for it has it, or its checks."""
        search = self.search
        if search.algorithm == MLRSEARCH:
            first = search.goals[0]
            return MayLose(loss_ratio=first.goal_loss_ratio, share=first.goal_exceed_ratio)
        if search.algorithm == TST009:
            return MayLose(share=1 - 1 / search.max_trials)  # RFC 9971 4.10.3, for r trials
        return MayLose(share=LOSSY_RATIO if self.indicative else 0.0)

    def controller_input(
        self, cell: Cell, *, max_load_fps: int, envelope_fps: int | None = None, medium_fps: int | None = None
    ) -> ControllerInput:
        """Return the controller input of MLRsearch for one cell; ConfigError MLR-02 where it clashes."""
        return ControllerInput(
            goals=self.search.goals,
            offer=Traffic.of(cell),
            min_load_fps=min(self.search.min_load_fps, max(1, max_load_fps // 2)),
            max_load_fps=max_load_fps,
            envelope_fps=envelope_fps,
            medium_fps=medium_fps,
            max_repeats=self.policy.max_repeats,
            short_limit=self.search.short_limit,
            warmup_s=self.search.warmup_s,
        )

    def latency_spec(self, cell: Cell, load_fps: int) -> TrialSpec:
        """Return a latency stream of one cell at its load (RFC2544-26.2-01)."""
        return Traffic.of(cell).spec(load_fps, self.latency.duration_s)


def read_goal(data: Mapping[str, Any]) -> SearchGoal:
    """Make a search goal from a profile's data."""
    return SearchGoal(name=data["name"], **{key: float(data[key]) for key in data if key != "name"})
