"""Whatever profile `plan` accepts, its run on the simulated testbed verifies; what it refuses, `run` refuses.

`BMWG_PROFILES` is the number of profiles that are tried (20 without it).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.unit.checker import runs

from bmwg.drivers import registry
from bmwg.methodology import suites
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import FRAMES
from bmwg.reports.render.facts import facts
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources import rooms
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.run import open_run, preflight, progress
from bmwg.resources.run.settings import Settings

EXAMPLES = int(os.environ.get("BMWG_PROFILES", "20"))
MOST_ANSWERS = 12  # of one run, so that an example is over soon
SIZES = (64, 128, 1518, 9000)
TESTS = sorted(one.test_id for one in suites.cases())
BENCHMARKS = [one for one in TESTS if one.startswith("R2544")]


def line(path: str, hosting: str, function: str, networks: Any, **axes: list[Any]) -> dict[str, Any]:
    said = {"path": path, "hosting": hosting, "function": function, "networks": networks}
    return said | ({"axes": axes} if axes else {})


LINES = (
    line("wire", "none", "none", "none"),
    line("node", "baremetal", "kernel-l3", "none"),
    line("pvp", "pod", "kernel-l3", ["bridge"]),
    line("pvp", "pod", "testpmd", ["bridge", "ptp"]),
    line("pvp", "pod", "kernel-l3", "all"),
    line("pvp", "pod", "kernel-l3", ["absent"]),
    line("pvp", "pod", "kernel-l3", ["bridge"], **{"pods.memory": ["128MiB", "256MiB"], "replicate": [1, 2]}),
    line("pvp", "pod", "kernel-l3", ["bridge"], numa=["same", "cross"]),
    line("p2p", "pod", "none", ["ptp"]),
    line("p2p-vxlan", "pod", "none", ["bridge"]),
    line("p2p-service", "pod", "none", ["ptp"]),
    line("vswitch-only", "baremetal", "none", ["bridge"]),
    line("chain", "pod", "kernel-l3", ["bridge"], chain=["a", "a>b"]),
    line("parallel", "pod", "kernel-l3", ["bridge"], chains=["a+b", "a>s+b>s"]),
)


def few(values: Any, most: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique_by=repr)


def mostly(value: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Return one value in half of all draws, so that profiles do not deviate in everything at once."""
    return st.one_of(st.just(value), st.sampled_from(others))


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    chosen = draw(few(LINES, 3))
    return [copy.deepcopy(one) | {"frame_octets": draw(few(SIZES))} for one in chosen]


@st.composite
def goals(draw: st.DrawFn) -> dict[str, Any]:
    final = draw(st.sampled_from((0.02, 0.1, 0.2)))
    said = {
        "name": draw(st.sampled_from(("one", "two", "three"))),
        "goal_final_trial_duration_s": final,
        "goal_duration_sum_s": final * draw(st.sampled_from((1, 2, 5, 21))),
        "goal_loss_ratio": draw(st.sampled_from((0.0, 0.005, 0.000001))),
        "goal_exceed_ratio": draw(st.sampled_from((0.0, 0.5, 0.9))),
        "goal_width": draw(st.sampled_from((0.005, 0.03, 0.2))),
    }
    if draw(st.booleans()):
        said["goal_initial_trial_duration_s"] = draw(st.sampled_from((0.01, 0.02, 0.1)))
    return said


@st.composite
def searches(draw: st.DrawFn, indicative: bool) -> dict[str, Any]:
    width = draw(mostly(0.03, 0.005, 0.3))
    said = {
        "min_load_fps": draw(mostly(10_000, 10_000, 10_000, 1, 50, 900_000, 1_600_000)),
        "relative_width": width,
        "short_limit": draw(st.integers(1, 3)),
        "verification_trials": draw(st.integers(1, 4)),
        "max_reopenings": draw(st.integers(0, 6)),
    }
    if indicative and draw(st.booleans()):
        said["most_relative_width"] = draw(st.sampled_from((width, 0.3, 0.5)))
    if draw(st.booleans()):
        said["state_checks"] = draw(st.sampled_from((0, 1, 4, 8)))
    said["algorithm"] = draw(st.sampled_from(("bisection", "tst009", "mlrsearch")))
    if said["algorithm"] == "tst009":
        said["step_fps"] = draw(st.sampled_from((100, 10_000, 300_000, 3_000_000)))
        if draw(st.booleans()):
            said["max_trials"] = draw(st.sampled_from((1, 2, 3)))
        if draw(st.booleans()):
            said["threshold_frames"] = draw(st.sampled_from((0, 100)))
    if said["algorithm"] == "mlrsearch":
        said["goals"] = draw(st.lists(goals(), min_size=1, max_size=3))
        if draw(st.booleans()):
            said["warmup_s"] = draw(st.sampled_from((0, 0.2)))
    return said


@st.composite
def benchmarks(draw: st.DrawFn) -> dict[str, Any]:
    short = st.sampled_from((0.1, 0.2))
    few_times = st.integers(1, 3)
    said: dict[str, Any] = {
        "throughput": {},
        "imix": {"genome": draw(mostly("7a4d1g", "aag", "g", "a", "bd", "i", "j", "7"))},
        "tagged_latency": {"streams": draw(few_times), "stream_s": draw(short)},
        "delay_variation": {"streams": draw(few_times), "stream_s": draw(short)},
        "frame_loss": {"step_percent": draw(mostly(10, 7, 3))},
        "back_to_back": {
            "repetitions": draw(few_times),
            "max_burst_s": 0.1,
            "step_frames": draw(mostly(100, 1, 1_000_000)),
            "max_trials": draw(few_times),
        },
        "burst_interval": {},
        "recovery": {"repetitions": draw(few_times), "overload_s": draw(short), "reduced_s": draw(short)},
        "reset": {
            "repetitions": draw(few_times),
            "load_percent": draw(mostly(10, 1, 100)),
            "before_s": 0.1,
            "after_s": 0.6,
            "container_s": draw(mostly(4.0, 0.1)),
        },
        "modifiers": {},
        "soak": {
            "intervals": draw(st.integers(2, 5)),
            "interval_s": draw(short),
            "load_percent": draw(mostly(90, 1, 100)),
        },
        "tst009": {"step_fps": draw(mostly(10_000, 1, 3_000_000)), "max_trials": draw(few_times)},
        "mlrsearch": {"goals": draw(st.lists(goals(), min_size=1, max_size=2))},
    }
    for one in said.values():
        if draw(st.integers(0, 4)) == 0:
            one["frame_octets"] = draw(few(SIZES))
    for name in ("throughput", "imix", "frame_loss", "burst_interval", "modifiers", "tst009", "mlrsearch"):
        if draw(st.integers(0, 4)) == 0:
            del said[name]
    return said


@st.composite
def profiles(draw: st.DrawFn) -> dict[str, Any]:
    data = copy.deepcopy(dict(load_profile("quick").data))
    data["traffic"] = {
        "directions": draw(few(("forward", "reverse", "both"))),
        "frame_formats": draw(few(("ipv4-udp", "ipv6-udp", "ethernet"))),
        "flows": draw(few((1, 16))),
    }
    if draw(st.booleans()):
        data["traffic"]["destination_networks"] = draw(few((1, 2, 256)))
    data["trial"] |= {
        "duration_s": draw(mostly(0.2, 0.1, 1.0)),
        "min_sent_ratio": draw(mostly(0.999, 1, 0.5)),
        "learning": draw(st.sampled_from(("trial", "deployment", "none"))),
        "loss_times": draw(st.booleans()),
    }
    data["indicative"] = draw(mostly(True, False))
    limits = INDICATIVE if data["indicative"] else CONFORMING
    data["trial"] |= {name: draw(st.sampled_from(values)) for name, values in limits.items()}
    data["search"] = draw(searches(data["indicative"]))
    data["latency"] = {"duration_s": draw(mostly(0.2, 0.1)), "frame_octets": draw(few(SIZES))}
    data["paths"] = draw(plans())
    data["suites"] = {
        name: {"paths": draw(plans())} for name in draw(st.sets(st.sampled_from(SUITES), max_size=3))
    }
    data["benchmarks"] = draw(benchmarks())
    own = data["benchmarks"].get(data["search"]["algorithm"], {})  # whose numbers stand in `search`
    for name in own.keys() - {"frame_octets"}:
        del own[name]
    return data


# of trials: what a profile of each kind may set aside
INDICATIVE = {
    "max_repeats": (5, 10, 25),
    "set_aside_host_stalls": (True, False),
    "stall_evidence": ("cpu", "tester"),
    "most_set_aside_ratio": (0.1, 0.5),
}
CONFORMING = {
    "max_repeats": (0, 2, 10),
    "set_aside_host_stalls": (False,),
    "stall_evidence": ("cpu",),
    "most_set_aside_ratio": (0.05, 0.1),
}
SUITES = ("rfc2544", "user-space", "combination", "cluster-network", "chains", "parallel", "factors")


def chosen() -> st.SearchStrategy[set[str]]:
    one = st.one_of(st.sampled_from(BENCHMARKS), st.sampled_from(BENCHMARKS), st.sampled_from(TESTS))
    return st.sets(one, min_size=1, max_size=3)


@st.composite
def devices(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "knee_fps": draw(mostly(800_000, 300, 20_000, 3_000_000)),
        "tester_limit_fps": draw(mostly(1_500_000, 1_500_000, 5_000, 4_000_000)),
        "stall_ratio": draw(mostly(0.02, 0.0, 0.4)),
        "random_loss_ratio": draw(mostly(0.0, 0.0, 0.00001)),
        "spread": draw(mostly(0.0, 0.3)),
        "seed": draw(st.integers(0, 99)),
    }


def bed_of(device: dict[str, Any]) -> dict[str, Any]:
    bed: dict[str, Any] = yaml.safe_load(runs.SIMULATED.read_text("utf-8"))
    bed["tester"]["options"] = device
    return bed


@contextmanager
def simulated() -> Iterator[runs.Time]:
    """Let runs take their time by a clock of their own, with one record of this machine and no display."""
    clock = runs.Time()
    driver = type("Tester", (runs.Tester,), {"time": clock})
    loaded = registry.load
    with ExitStack() as stack:
        stack.enter_context(
            patch.object(
                registry, "load", lambda kind, *a, **k: driver if kind == "traffic" else loaded(kind, *a, **k)
            )
        )
        stack.enter_context(patch.object(open_run, "machine_record", lambda *_: runs.machine()))
        stack.enter_context(patch.object(open_run, "report_of", lambda made: (made, facts(read_run(made)))))
        stack.enter_context(patch.object(progress.LineDisplay, "_print", lambda *a, **k: None))
        yield clock


def refusal(act: Any) -> str:
    try:
        act()
    except ToolkitError as error:
        return str(error)
    return ""


def problems_of(
    profile: dict[str, Any],
    device: dict[str, Any],
    tests: set[str],
    *,
    tell: Callable[[str], None] = lambda _: None,
    need: Callable[[bool], object] = lambda _: True,
) -> list[str]:
    """Plan and check a run, and make and verify it where nothing refuses it; say what was wrong.

    `tell` hears what became of it, `need` whether it is small enough.
    """
    with runs.folder() as folder, simulated() as clock:
        (folder / "profile.yaml").write_text(yaml.safe_dump(profile), encoding="utf-8")
        (folder / "testbed.yaml").write_text(yaml.safe_dump(bed_of(device)), encoding="utf-8")
        told = Settings(
            testbed=folder / "testbed.yaml", profile=str(folder / "profile.yaml"), results=folder, run_id="r"
        )
        asked = PlanAsked(testbed=told.testbed, profile=told.profile, seed=1)
        lines: list[str] = []
        planned = refusal(lambda: lines.extend(rooms.room(FRAMES).schedule(asked, tests).lines))
        checked = refusal(lambda: preflight.check(told, tests))
        if planned or checked:
            tell(f"refused: {planned.split()[0]}")
            return [] if planned == checked else [f"plan says {planned!r}, run {checked!r}"]
        need(sum(line.startswith(("CN-", "R2544")) for line in lines) <= MOST_ANSWERS)
        bench = Bench.open(told, tests, clock)
        try:
            for test_id in sorted(tests):
                bench.outcomes(test_id)
        finally:
            bench.close()
        found = verify_folder(folder / "r")
        assert found.evidence is not None
        assert found.evidence.run is not None
        for one in found.evidence.outcomes:
            tell(f"answer: {one.type.value}")
        said = [str(one) for one in found.findings]
        return said if found.evidence.run["status"] == "complete" else [*said, "the run is not complete"]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize="BMWG_PROFILES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(profile=profiles(), device=devices(), tests=chosen())
def test_the_run_of_any_profile_verifies(profile, device, tests):
    assert problems_of(profile, device, tests, tell=event, need=assume) == []


GOAL = {
    "name": "one",
    "goal_final_trial_duration_s": 0.2,
    "goal_duration_sum_s": 0.2,
    "goal_loss_ratio": 0.0,
    "goal_exceed_ratio": 0.0,
    "goal_width": 0.03,
}
DEVICE = {"knee_fps": 800_000, "tester_limit_fps": 1_500_000, "stall_ratio": 0.0, "seed": 1}


def quick(**changes: Any) -> dict[str, Any]:
    """Return profile quick with one suite on the wire and a node, and other changes group by group."""
    data = copy.deepcopy(dict(load_profile("quick").data))
    data["suites"] = {
        "rfc2544": {"paths": [copy.deepcopy(one) | {"frame_octets": [64]} for one in LINES[:2]]}
    }
    return data | {name: data[name] | changed for name, changed in changes.items()}


@pytest.mark.parametrize(
    ("test", "changes"),
    [
        ("R2544-TPUT-3.1", {}),  # the wire, asked for by another search than that of other suites
        ("R2544-IMIX-2.1", {}),
        ("R2544-LAT-1.1", {"search": {"goals": [GOAL | {"goal_loss_ratio": 0.000001}]}}),
        ("R2544-IMIX-1.1", {"traffic": {"frame_formats": ["ipv6-udp"]}}),  # 64 octets are too few for IPv6
    ],
)
def test_runs_that_once_did_not_verify(test, changes):
    assert problems_of(quick(**changes), DEVICE, {test}) == []


@pytest.mark.parametrize(
    ("error_id", "said", "changes"),
    [
        ("PRF-04", "benchmarks.tst009.step_fps", {"benchmarks": {"tst009": {"step_fps": 1}}}),
        ("PRF-04", "benchmarks.imix.genome", {"benchmarks": {"imix": {"genome": "7a1j"}}}),
        ("PRF-04", "benchmarks.mlrsearch.goals", {"benchmarks": {"mlrsearch": {"goals": [GOAL]}}}),
        (
            "PRF-03",
            "benchmarks.back_to_back.max_burst_s",
            {"benchmarks": {"back_to_back": {"max_burst_s": 31}}},
        ),
        (
            "PRF-04",
            "benchmarks.caching_capacity.first_addresses",
            {"benchmarks": {"caching_capacity": {"first_addresses": 101, "most_addresses": 100}}},
        ),
        (
            "MLR-02",
            "goals that differ in name",
            {"search": {"algorithm": "mlrsearch", "goals": [GOAL, GOAL], "most_relative_width": 0.2}},
        ),
        (
            "MLR-02",
            "at least one frame in the shortest trial",
            {
                "search": {"algorithm": "mlrsearch", "goals": [GOAL], "min_load_fps": 2},
                "latency": {"duration_s": 1.0},
            },
        ),
    ],
)
def test_what_no_trial_can_meet_is_refused_in_the_plan_as_in_the_run(error_id, said, changes, tmp_path):
    profile, tests = tmp_path / "profile.yaml", {"R2544-LAT-1.1"}  # which needs a throughput first
    profile.write_text(yaml.safe_dump(quick(**changes)), encoding="utf-8")
    asked = PlanAsked(testbed=runs.SIMULATED, profile=str(profile), seed=1)
    planned = refusal(lambda: rooms.room(FRAMES).schedule(asked, tests))
    told = Settings(testbed=runs.SIMULATED, profile=str(profile), results=tmp_path)
    assert planned == refusal(lambda: preflight.check(told, tests))
    assert planned.startswith(error_id)
    assert said in planned
