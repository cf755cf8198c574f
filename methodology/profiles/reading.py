"""Reads a profile from YAML and holds it against schema, catalogue and the documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from bmwg.methodology import offers, suites
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.cells import axes
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.mlrsearch.goal import SearchGoal
from bmwg.methodology.profiles import extended, shortened
from bmwg.methodology.profiles.contradictions import of_benchmarks, of_directions, of_latency
from bmwg.methodology.profiles.profile import (
    BISECTION,
    MLRSEARCH,
    TST009,
    Deviation,
    LatencySettings,
    PathPlan,
    Profile,
    SearchSettings,
    read_goal,
)
from bmwg.methodology.profiles.set_aside import (
    MOST_SET_ASIDE,
    STALL_EVIDENCE,
    Undeclared,
    stated,
    undeclared,
)
from bmwg.methodology.records import Direction, FrameFormat
from bmwg.methodology.requirements.rows import catalogue
from bmwg.methodology.search.steadiness import CHECKS, INDICATIVE_CHECKS
from bmwg.methodology.trial.judging import Learning, StallEvidence, TrialPolicy
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.schemas import load
from bmwg.schemas.document import Document, parse
from bmwg.schemas.validation import Problem, near_hint, near_name, problems

ALL_NETWORKS = "all"
_FILE = ".yaml"
_KEEP_AWAKE = "keep_awake"


def builtin_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the toolkit."""
    entries = resources.files("bmwg.methodology.profiles").iterdir()
    return tuple(sorted(e.name.removesuffix(".yaml") for e in entries if e.name.endswith(".yaml")))


def load_profile(name: str, *, paths: Mapping[str, PathKind] | None = None) -> Profile:
    """Return a profile that comes with the toolkit, or the one in a file whose name ends with `.yaml`.

    `paths` are those that are installed; without them the paths of the profile are taken as they are.
    ConfigError PRF-01 with a near name when it is neither, PRF-02 to PRF-04 and PRF-12 for what
    `parse_profile` refuses, PRF-06 to PRF-09 for a profile that sets aside more than it may or says.
    """
    source = _source(name)
    return _explicit(parse_profile(_text(name), source=source, paths=paths), source)


def _source(name: str) -> str:
    return name if name.endswith(_FILE) else f"{name}{_FILE}"


def _text(name: str) -> str:
    """Return the text of a profile by its name, or by the path of its file. Raises ConfigError PRF-01."""
    if name.endswith(_FILE):
        try:
            return Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "PRF-01", f"profile {name}", expected="a file of text", found=str(error)
            ) from None
    names = builtin_names()
    if name not in names:
        raise ConfigError(
            "PRF-01",
            f"profile {name!r} is not known",
            expected=f"one of {', '.join(names)}",
            found=name,
            hint=near_hint(name, names),
        )
    file = resources.files("bmwg.methodology.profiles") / f"{name}.yaml"
    return file.read_text(encoding="utf-8")


def _explicit(profile: Profile, source: str) -> Profile:
    """Have the run's header tell what a file leaves out, and refuse what a run may not be measured by.

    Without a word CPUs are kept awake, and trials are set aside as `stated` has it. PRF-06 to PRF-09 are what
    `undeclared` tells.
    """
    data = stated({_KEEP_AWAKE: KeepAwake.PM_QOS.value, **profile.data})
    if found := undeclared(data):
        raise _set_aside_refusal(source, found)
    return replace(_build(data), data=data)


def _set_aside_refusal(source: str, found: list[Undeclared]) -> ConfigError:
    lines = [f"{source}: {one.error_id} {one.problem}" for one in found]
    what = f"profile {source} sets aside more than it may or says, nothing was started"
    return ConfigError(found[0].error_id, "\n          ".join([what, *lines]), hint=found[0].hint)


def parse_profile(text: str, *, source: str, paths: Mapping[str, PathKind] | None = None) -> Profile:
    """Read a profile from YAML text; `source` names it in messages. `paths` are those that are installed.

    What it extends is read as well, and deviations are worded by its numbers: `data` of what is returned is
    the whole. Raises ConfigError, with all problems at once: PRF-02 no strict YAML, PRF-12 what it extends,
    and what `profile_of` raises.
    """
    document = _whole(text, source)
    _read(document, source, paths)  # refuses what is wrong with it
    return _build(shortened.declared(document.data))


def _whole(text: str, source: str) -> Document:
    """Return a file with what it extends. Raises ConfigError PRF-02, PRF-12, PRF-03 of what it extends."""
    document = parse(text)
    if document.problems:
        raise _refusal("PRF-02", source, document, list(document.problems))
    if not isinstance(document.data, Mapping):
        return document
    return replace(document, data=shortened.with_words(extended.whole(document.data, source, _base)))


def _base(name: str) -> Mapping[str, Any]:
    """Return the content of a profile that another one extends; what it extends itself is added later."""
    source = _source(name)
    document = parse(_text(name))
    if document.problems:
        raise _refusal("PRF-02", source, document, list(document.problems))
    if not isinstance(document.data, Mapping):
        raise _refusal("PRF-03", source, document, problems(document.data, "profile"))
    whole = extended.EXTENDS not in document.data
    if whole and (found := problems(shortened.with_words(document.data), "profile")):
        raise _refusal("PRF-03", source, document, found)
    return document.data


def profile_of(data: Mapping[str, Any], *, source: str) -> Profile:
    """Read a profile from data, such as that of a run's header, which no text of YAML says as JSON does.

    Its paths are taken as they are: a finished run may have been measured with one that is not installed
    where it is read. Without `keep_awake` nothing keeps CPUs awake: so it was in runs from before that key.

    Raises ConfigError, with all problems at once: PRF-03 against the schema, PRF-04 a deviation from a
    requirement that the catalogue lacks, or parts that contradict each other.
    """
    return _read(Document(data=dict(data)), source, None)


def _read(document: Document, source: str, paths: Mapping[str, PathKind] | None) -> Profile:
    if found := problems(document.data, "profile"):
        raise _refusal("PRF-03", source, document, found)
    if found := _contradictions(document.data, paths):
        raise _refusal("PRF-04", source, document, found)
    return _build(document.data)


def _refusal(error_id: str, source: str, document: Document, found: list[Problem]) -> ConfigError:
    lines = [f"{source}:{document.line(problem.location)}: {problem}" for problem in found]
    what = f"profile {source}: {len(found)} problem{'s' if len(found) > 1 else ''}, nothing was started"
    return ConfigError(error_id, "\n          ".join([what, *lines]))


def _contradictions(data: dict[str, Any], paths: Mapping[str, PathKind] | None) -> list[Problem]:
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
    found.extend(_path_contradictions(("paths",), data["paths"], paths))
    for suite, said in data.get("suites", {}).items():
        if paths is not None:  # those of a header are taken as they are, like its paths
            others = [one for one in suites.suites() if one != suites.CONTAINERIZED]
            found.extend(_not_installed(("suites", suite), "suite", others, suite))
        found.extend(_path_contradictions(("suites", suite, "paths"), said["paths"], paths))
    found.extend(_search_contradictions(data["search"], float(data["trial"]["duration_s"])))
    benchmarks = data.get("benchmarks", {})
    measured = {
        *load("profile")["properties"]["benchmarks"]["properties"],
        *offers.names(offers.MEASUREMENTS),
    }
    for name in benchmarks:
        found.extend(_not_installed(("benchmarks", name), "measurement", measured, name))
    for index, goal in enumerate(benchmarks.get(MLRSEARCH, {}).get("goals", ())):
        found.extend(_goal_contradictions(("benchmarks", MLRSEARCH, "goals", index), goal))
    duration_s = float(data["trial"]["duration_s"])
    found.extend(_step_contradictions(("benchmarks", TST009), benchmarks.get(TST009, {}), duration_s))
    found.extend(_genome_contradictions(benchmarks.get("imix", {})))
    found.extend(of_latency(data))
    found.extend(of_directions(data))
    found.extend(of_benchmarks(data))
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


def _not_installed(
    where: tuple[str | int, ...], what: str, known: Collection[str], name: str
) -> list[Problem]:
    if name in known:
        return []
    expected = f"an installed {what} ({', '.join(sorted(known))})"
    return [Problem(location=where, expected=expected, found=repr(name), near=near_name(name, known))]


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
    if algorithm == TST009:
        found.extend(_step_contradictions(("search",), search, duration_s))
    for index, goal in enumerate(search.get("goals", ())):
        found.extend(_goal_contradictions(("search", "goals", index), goal))
    return found


def _step_contradictions(where: tuple[str, ...], said: dict[str, Any], duration_s: float) -> list[Problem]:
    if "step_fps" not in said or said["step_fps"] * duration_s >= 1:
        return []
    expected = f"at least one frame in {duration_s:g} s (TST009 12.3.2)"
    return [Problem(location=(*where, "step_fps"), expected=expected, found=str(said["step_fps"]))]


def _genome_contradictions(said: dict[str, Any]) -> list[Problem]:
    try:
        imix.parse(said.get("genome", "a"))
    except ValueError as error:
        expected = "a genome of RFC 6985 whose frames a tester can send"
        return [Problem(location=("benchmarks", "imix", "genome"), expected=expected, found=str(error))]
    return []


def _goal_contradictions(where: tuple[str | int, ...], goal: dict[str, Any]) -> list[Problem]:
    return [
        Problem(location=(*where, field), expected=f"{expected} (RFC 9971 {clause})", found=value)
        for field, clause, expected, value in SearchGoal.contradictions(**goal)
    ]


def _path_contradictions(
    where: tuple[str | int, ...], plans: list[dict[str, Any]], paths: Mapping[str, PathKind] | None
) -> list[Problem]:
    """Hold each path against those that are installed: hosting form, function and networks."""
    found: list[Problem] = []
    for index, plan in enumerate(plans if paths is not None else ()):
        assert paths is not None
        name = plan["path"]
        if absent := _not_installed((*where, index, "path"), "path", paths, name):
            found.extend(absent)
            continue
        said = paths[name].contradictions(plan["hosting"], plan["function"], str(plan["networks"]))
        found.extend(
            Problem(location=(*where, index, key), expected=expected, found=value)
            for key, expected, value in said
        )
        found.extend(
            Problem(location=(*where, index, "axes", *place), expected=expected, found=value)
            for place, expected, value in axes.contradictions(plan.get("axes", {}), paths[name].axes)
        )
        found.extend(
            Problem(
                location=(*where, index, "axes", axis),
                expected=f"a setting of function {plan['function']}, which forwards here",
                found=repr(axis),
            )
            for axis in axes.of_other_functions(plan.get("axes", {}), plan["function"])
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
            stall_evidence=StallEvidence(trial.get(STALL_EVIDENCE, StallEvidence.TESTER)),
            most_set_aside_ratio=trial.get(MOST_SET_ASIDE),
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
            state_checks=int(search.get("state_checks", INDICATIVE_CHECKS if data["indicative"] else CHECKS)),
        ),
        latency=LatencySettings(
            duration_s=float(latency["duration_s"]),
            frame_octets=tuple(map(int, latency["frame_octets"])),
            streams=int(latency.get("streams", 1)),
            wire_percent=int(latency.get("wire_percent", 100)),
            floor_percents=tuple(map(int, latency.get("floor_percents", ()))),
        ),
        paths=tuple(_path_plan(plan) for plan in data["paths"]),
        directions=tuple(Direction(word) for word in traffic["directions"]),
        frame_formats=tuple(FrameFormat(word) for word in traffic["frame_formats"]),
        flows=tuple(map(int, traffic["flows"])),
        destination_networks=tuple(map(int, traffic.get("destination_networks", (1,)))),
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
        axes={name: tuple(values) for name, values in plan.get("axes", {}).items()},
    )
