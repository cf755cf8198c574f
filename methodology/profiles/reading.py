"""Reads a profile from YAML and holds it against schema, catalogue and the documents."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.keep_awake import KeepAwake
from bmwg.methodology.mlr.goal import SearchGoal
from bmwg.methodology.profiles.profile import (
    BISECTION,
    MLRSEARCH,
    TST009,
    WITHOUT_NETWORK,
    Deviation,
    LatencySettings,
    PathPlan,
    Profile,
    SearchSettings,
    read_goal,
)
from bmwg.methodology.records import Direction, FrameFormat
from bmwg.methodology.requirements import catalogue
from bmwg.methodology.trial import Learning, TrialPolicy
from bmwg.schemas.document import Document, parse
from bmwg.schemas.validation import Problem, near_name, problems

ALL_NETWORKS = "all"
_KEEP_AWAKE = "keep_awake"
_HOSTINGS = {"wire": "none", "node": "baremetal"}  # every other path is of pods


def builtin_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the toolkit."""
    entries = resources.files("bmwg.methodology.profiles").iterdir()
    return tuple(sorted(e.name.removesuffix(".yaml") for e in entries if e.name.endswith(".yaml")))


def load_profile(name: str) -> Profile:
    """Return a profile that comes with the toolkit, or the one in a file whose name ends with `.yaml`.

    ConfigError PRF-01 with a near name when it is neither, PRF-02 to PRF-04 for what `parse_profile` refuses.
    """
    if name.endswith(".yaml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "PRF-01", f"profile {name}", expected="a file of text", found=str(error)
            ) from None
        return _explicit(parse_profile(text, source=name))
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
    return _explicit(parse_profile(file.read_text(encoding="utf-8"), source=f"{name}.yaml"))


def _explicit(profile: Profile) -> Profile:
    """Have a file that does not say what keeps CPUs awake ask for the request: the run's header tells it."""
    if _KEEP_AWAKE in profile.data:
        return profile
    asked = KeepAwake.PM_QOS
    return replace(profile, keep_awake=asked, data={**profile.data, _KEEP_AWAKE: asked.value})


def parse_profile(text: str, *, source: str) -> Profile:
    """Read a profile from YAML text; `source` names it in messages. It may be that of a run's header.

    Without `keep_awake` nothing keeps CPUs awake: so it was in runs from before that key.

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
    found.extend(_path_contradictions(("paths",), data["paths"]))
    for suite, said in data.get("suites", {}).items():
        found.extend(_path_contradictions(("suites", suite, "paths"), said["paths"]))
    found.extend(_search_contradictions(data["search"], float(data["trial"]["duration_s"])))
    for index, goal in enumerate(data.get("benchmarks", {}).get(MLRSEARCH, {}).get("goals", ())):
        found.extend(_goal_contradictions(("benchmarks", MLRSEARCH, "goals", index), goal))
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
    most, least = search.get("most_relative_width"), search["relative_width"]
    if most is not None and most < least:
        found.append(
            Problem(
                location=("search", "most_relative_width"),
                expected=f"at least relative_width, {least}",
                found=str(most),
            )
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
        found.extend(_goal_contradictions(("search", "goals", index), goal))
    return found


def _goal_contradictions(where: tuple[str | int, ...], goal: dict[str, Any]) -> list[Problem]:
    return [
        Problem(location=(*where, field), expected=f"{expected} (RFC 9971 {clause})", found=value)
        for field, clause, expected, value in SearchGoal.contradictions(**goal)
    ]


def _path_contradictions(where: tuple[str | int, ...], plans: list[dict[str, Any]]) -> list[Problem]:
    """Hold each path against the hosting form and the networks that it can have."""
    found: list[Problem] = []
    for index, plan in enumerate(plans):
        expected = _HOSTINGS.get(plan["path"], "pod")
        if plan["hosting"] != expected:
            found.append(
                Problem(location=(*where, index, "hosting"), expected=expected, found=plan["hosting"])
            )
        if (plan["networks"] == "none") is not (plan["path"] in WITHOUT_NETWORK):
            word = "none" if plan["path"] in WITHOUT_NETWORK else "all or a list of names"
            found.append(
                Problem(location=(*where, index, "networks"), expected=word, found=str(plan["networks"]))
            )
    return found


def _build(data: dict[str, Any]) -> Profile:
    trial, search, latency, traffic = data["trial"], data["search"], data["latency"], data["traffic"]
    return Profile(
        name=data["name"],
        title=data["title"],
        indicative=data["indicative"],
        keep_awake=KeepAwake(data.get(_KEEP_AWAKE, KeepAwake.NONE)),
        trial_duration_s=float(trial["duration_s"]),
        policy=TrialPolicy(
            min_sent_ratio=float(trial["min_sent_ratio"]),
            max_stall_ns=int(trial["max_stall_ns"]),
            max_host_stall_ns=int(trial["max_host_stall_ns"]),
            max_stall_frames=int(trial.get("max_stall_frames", 0)),
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
            most_relative_width=search.get("most_relative_width"),
            algorithm=search.get("algorithm", BISECTION),
            step_fps=int(search.get("step_fps", 1)),
            max_trials=int(search.get("max_trials", 2)),
            threshold_frames=search.get("threshold_frames"),
            goals=tuple(read_goal(goal) for goal in search.get("goals", ())),
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
        loss_times=trial.get("loss_times", False),
        benchmarks=data.get("benchmarks", {}),
        suite_paths={
            suite: tuple(_path_plan(plan) for plan in said["paths"])
            for suite, said in data.get("suites", {}).items()
        },
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
