"""The profile as frozen records, read from YAML and checked against schema and catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.mlr.goal import ControllerInput, SearchGoal
from bmwg.methodology.records import Cell, Direction, FrameFormat, TrialSpec
from bmwg.methodology.requirements import catalogue
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.tst009 import Tst009Goal
from bmwg.methodology.trial import Learning, TrialPolicy
from bmwg.schemas.document import Document, parse
from bmwg.schemas.validation import Problem, near_name, problems

ALL_NETWORKS = "all"
BISECTION, TST009, MLRSEARCH = "bisection", "tst009", "mlrsearch"
_HOSTINGS = {"wire": "none", "node": "baremetal"}  # every other path is of pods
_WITHOUT_NETWORK = {"wire", "node"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """The numbers of the throughput search; see ThroughputGoal.

    `algorithm` says which search they are for. TST009's has `step_fps`, `max_trials` and `threshold_frames`
    (see Tst009Goal), MLRsearch `goals` and `warmup_s` (see ControllerInput).
    """

    min_load_fps: int
    relative_width: float
    short_limit: int
    verification_trials: int
    max_reopenings: int
    algorithm: str = BISECTION
    step_fps: int = 1
    max_trials: int = 2
    threshold_frames: int | None = None
    goals: tuple[SearchGoal, ...] = ()
    warmup_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySettings:
    """One latency trial of this length for each cell whose frame size is listed."""

    duration_s: float
    frame_octets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """One line of the plan. `networks` are names; `all_networks` takes each that the testbed file has."""

    path: str
    hosting: str
    function: str
    networks: tuple[str, ...] = ()
    all_networks: bool = False
    frame_octets: tuple[int, ...]

    @property
    def needs_network(self) -> bool:
        """Whether a network option takes part in the path."""
        return self.path not in _WITHOUT_NETWORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One shortfall that the profile declares: of which catalogue row, what is done instead, and why."""

    requirement: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a run measures and by which numbers. `data` is the file as data (for run.json).

    `indicative` marks every result of the run as no conformance statement. `expected_invalid_ratio` (0..1)
    only serves the estimate of the run's length.
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
    deviations: tuple[Deviation, ...] = ()
    expected_invalid_ratio: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)

    def goal(
        self,
        cell: Cell,
        *,
        max_load_fps: int,
        envelope_fps: int | None = None,
        medium_fps: int | None = None,
        qualifies_tester: bool = False,
    ) -> ThroughputGoal:
        """Return the throughput goal of one cell; loads are frames/s per port and direction.

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
        return ThroughputGoal.for_cell(
            cell,
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
        )

    def tst009_goal(
        self, cell: Cell, *, max_load_fps: int, envelope_fps: int | None = None, medium_fps: int | None = None
    ) -> Tst009Goal:
        """Return the goal of TST009's search for one cell; loads as in `goal`."""
        return Tst009Goal(
            frame_octets=cell.frame_octets,
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            vlan_id=cell.vlan_id,
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

    def controller_input(
        self, cell: Cell, *, max_load_fps: int, envelope_fps: int | None = None, medium_fps: int | None = None
    ) -> ControllerInput:
        """Return the controller input of MLRsearch for one cell; ConfigError MLR-02 where it clashes."""
        return ControllerInput.for_cell(
            cell,
            self.search.goals,
            min_load_fps=self.search.min_load_fps,
            max_load_fps=max_load_fps,
            envelope_fps=envelope_fps,
            medium_fps=medium_fps,
            max_repeats=self.policy.max_repeats,
            short_limit=self.search.short_limit,
            warmup_s=self.search.warmup_s,
        )

    def latency_spec(self, cell: Cell, load_fps: int) -> TrialSpec:
        """Return the latency trial of one cell at its throughput (RFC2544-26.2-01)."""
        return TrialSpec(
            frame_octets=cell.frame_octets,
            load_fps=load_fps,
            duration_s=self.latency.duration_s,
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            vlan_id=cell.vlan_id,
        )


def builtin_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the toolkit."""
    entries = resources.files("bmwg.methodology.profiles").iterdir()
    return tuple(sorted(e.name.removesuffix(".yaml") for e in entries if e.name.endswith(".yaml")))


def load_profile(name: str) -> Profile:
    """Return a profile that comes with the toolkit; ConfigError PRF-01 with a near name when unknown."""
    names = builtin_names()
    if name not in names:
        near = near_name(name, names)
        raise ConfigError(
            "PRF-01",
            f"profile {name!r} is not known",
            expected=f"one of {', '.join(names)}",
            found=name,
            hint=f"did you mean {near!r}?" if near else "",
        )
    file = resources.files("bmwg.methodology.profiles") / f"{name}.yaml"
    return parse_profile(file.read_text(encoding="utf-8"), source=f"{name}.yaml")


def parse_profile(text: str, *, source: str) -> Profile:
    """Read a profile from YAML text; `source` names it in messages.

    Raises ConfigError, with all problems at once: PRF-02 no strict YAML, PRF-03 against the schema, PRF-04 a
    deviation from a requirement that the catalogue lacks, or parts that contradict each other.
    """
    document = parse(text)
    if document.problems:
        raise _refusal("PRF-02", source, document, list(document.problems))
    if found := problems(document.data, "profile"):
        raise _refusal("PRF-03", source, document, found)
    if found := _contradictions(document.data):
        raise _refusal("PRF-04", source, document, found)
    return _build(document.data)


def _refusal(error_id: str, source: str, document: Document, found: list[Problem]) -> ConfigError:
    lines = [f"{source}:{document.line(problem.location)}: {problem}" for problem in found]
    what = f"profile {source}: {len(found)} problem{'s' if len(found) > 1 else ''}, nothing was started"
    return ConfigError(error_id, "\n          ".join([what, *lines]))


def _contradictions(data: dict[str, Any]) -> list[Problem]:
    found: list[Problem] = []
    known = catalogue()
    for index, deviation in enumerate(data["deviations"]):
        if deviation["requirement"] not in known:
            found.append(
                Problem(
                    location=("deviations", index, "requirement"),
                    expected="the id of a catalogue row",
                    found=repr(deviation["requirement"]),
                    near=near_name(deviation["requirement"], known),
                )
            )
    for index, plan in enumerate(data["paths"]):
        expected = _HOSTINGS.get(plan["path"], "pod")
        if plan["hosting"] != expected:
            found.append(
                Problem(location=("paths", index, "hosting"), expected=expected, found=plan["hosting"])
            )
        if (plan["networks"] == "none") is not (plan["path"] in _WITHOUT_NETWORK):
            word = "none" if plan["path"] in _WITHOUT_NETWORK else "all or a list of names"
            found.append(
                Problem(location=("paths", index, "networks"), expected=word, found=str(plan["networks"]))
            )
    found.extend(_search_contradictions(data["search"], float(data["trial"]["duration_s"])))
    attempts = 1 + data["trial"]["max_repeats"]
    if data["search"]["short_limit"] > attempts:
        found.append(
            Problem(
                location=("search", "short_limit"),
                expected=f"at most {attempts} (1 + trial.max_repeats)",
                found=str(data["search"]["short_limit"]),
            )
        )
    return found


def _search_contradictions(search: dict[str, Any], duration_s: float) -> list[Problem]:
    """Hold the parts of the search against its algorithm, and each goal against RFC 9971."""
    algorithm = search.get("algorithm", BISECTION)
    own = {TST009: {"step_fps", "max_trials", "threshold_frames"}, MLRSEARCH: {"goals", "warmup_s"}}
    needed = {TST009: "step_fps", MLRSEARCH: "goals"}.get(algorithm)
    found = [
        Problem(location=("search", name), expected=f"only with algorithm {other}", found=algorithm)
        for other, names in own.items()
        for name in sorted(names & set(search))
        if other != algorithm
    ]
    if needed is not None and needed not in search:
        found.append(
            Problem(location=("search",), expected=f"{needed}, for algorithm {algorithm}", found="none")
        )
    if algorithm == TST009 and search.get("step_fps", 1 / duration_s) * duration_s < 1:
        found.append(
            Problem(
                location=("search", "step_fps"),
                expected=f"at least one frame in {duration_s:g} s (TST009 12.3.2)",
                found=str(search["step_fps"]),
            )
        )
    for index, goal in enumerate(search.get("goals", ())):
        found.extend(
            Problem(
                location=("search", "goals", index, field),
                expected=f"{expected} (RFC 9971 {clause})",
                found=value,
            )
            for field, clause, expected, value in SearchGoal.contradictions(**goal)
        )
    return found


def _build(data: dict[str, Any]) -> Profile:
    trial, search, latency, traffic = data["trial"], data["search"], data["latency"], data["traffic"]
    return Profile(
        name=data["name"],
        title=data["title"],
        indicative=data["indicative"],
        trial_duration_s=float(trial["duration_s"]),
        policy=TrialPolicy(
            min_sent_ratio=float(trial["min_sent_ratio"]),
            max_stall_ns=int(trial["max_stall_ns"]),
            max_host_stall_ns=int(trial["max_host_stall_ns"]),
            max_steal_ns=int(trial["max_steal_ns"]),
            max_repeats=int(trial["max_repeats"]),
            set_aside_host_stalls=trial["set_aside_host_stalls"],
            learning=Learning(trial["learning"]),
            settle_s=float(trial["settle_s"]),
            learning_wait_s=float(trial["learning_wait_s"]),
            drain_s=float(trial["drain_s"]),
            restabilize_s=float(trial["restabilize_s"]),
        ),
        search=SearchSettings(
            min_load_fps=int(search["min_load_fps"]),
            relative_width=float(search["relative_width"]),
            short_limit=int(search["short_limit"]),
            verification_trials=int(search["verification_trials"]),
            max_reopenings=int(search["max_reopenings"]),
            algorithm=search.get("algorithm", BISECTION),
            step_fps=int(search.get("step_fps", 1)),
            max_trials=int(search.get("max_trials", 2)),
            threshold_frames=search.get("threshold_frames"),
            goals=tuple(
                SearchGoal(name=goal["name"], **{key: float(goal[key]) for key in goal if key != "name"})
                for goal in search.get("goals", ())
            ),
            warmup_s=float(search.get("warmup_s", 0.0)),
        ),
        latency=LatencySettings(
            duration_s=float(latency["duration_s"]), frame_octets=tuple(map(int, latency["frame_octets"]))
        ),
        paths=tuple(_path_plan(plan) for plan in data["paths"]),
        directions=tuple(Direction(word) for word in traffic["directions"]),
        frame_formats=tuple(FrameFormat(word) for word in traffic["frame_formats"]),
        flows=tuple(map(int, traffic["flows"])),
        deviations=tuple(Deviation(**deviation) for deviation in data["deviations"]),
        expected_invalid_ratio=float(trial["expected_invalid_ratio"]),
        data=data,
    )


def _path_plan(plan: dict[str, Any]) -> PathPlan:
    networks = plan["networks"]
    return PathPlan(
        path=plan["path"],
        hosting=plan["hosting"],
        function=plan["function"],
        networks=tuple(networks) if isinstance(networks, list) else (),
        all_networks=networks == ALL_NETWORKS,
        frame_octets=tuple(map(int, plan["frame_octets"])),
    )
