"""A profile of the lifecycle suites: experiments with their options and numbers, and the plan. Pure.

Ids: APROF-01 no such profile, APROF-02 its file is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from typing import Any

import yaml

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.keep_awake import KeepAwake
from bmwg.methodology.kinds.acts.records import KIND, ActsSpec
from bmwg.methodology.records import POD, VM, Cell
from bmwg.methodology.repeated import Repetitions
from bmwg.schemas.validation import problems

FORMAT = "acts_profile/1.0"
SCHEMA = "acts_profile"
TEST_IDS = "LC-"  # how the id of every test of these suites begins
START, CHURN, POLICY = "pod_start", "pod_churn", "policy_programming"
SERVER_START, BATCH = "server_start", "server_batch"
EXPERIMENTS = {
    "start": "LC-START-1",
    "churn": "LC-CHURN-1",
    "policy": "LC-POLICY-1",
    "server_start": "LC-START-2",
    "server_batch": "LC-BATCH-1",
}
PATH, FUNCTION = "pvp", "kernel-l3"  # of which it is known how many routers a frame passes
SERVER_PATH = "pvp-vm"  # the same of servers
HOSTINGS = {PATH: POD, SERVER_PATH: VM}
METRICS = {
    "start": START,
    "churn": CHURN,
    "policy": POLICY,
    "server_start": SERVER_START,
    "server_batch": BATCH,
}
_AXES = ("experiment", "workload", "cycles", "octets")
_AT_ONCE = "at_once"  # an axis where more than one is made at the same time
_FOLDER = "bmwg.methodology.kinds.acts.profiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A cell with its test, what each of its executions asks for, and how many are wanted."""

    test_id: str
    metric: str
    cell: Cell
    spec: ActsSpec
    asked: Repetitions


@dataclass(frozen=True, slots=True, kw_only=True)
class ActsProfile:
    """A profile; `data` is its file, as the run's header keeps it."""

    name: str
    data: Mapping[str, Any]

    @property
    def keep_awake(self) -> KeepAwake:
        """What keeps CPUs from halting in its runs."""
        return KeepAwake(self.data["keep_awake"])

    def plan(self) -> tuple[Planned, ...]:
        """Return every cell, experiment by experiment."""
        return tuple(one for experiment in self.data["experiments"] for one in _cells(self.data, experiment))


def _cells(profile: Mapping[str, Any], experiment: Mapping[str, Any]) -> Iterator[Planned]:
    spec = ActsSpec(**{name: experiment[name] for name in _ASKED}, at_once=experiment.get(_AT_ONCE, 1))
    for network in experiment["networks"]:
        yield Planned(
            test_id=EXPERIMENTS[experiment["id"]],
            metric=METRICS[experiment["id"]],
            cell=cell_of(profile["path"], profile["function"], network, experiment["id"], spec),
            spec=spec,
            asked=Repetitions(
                wanted=profile["repetitions"],
                least=min(profile["least_repetitions"], profile["repetitions"]),
                max_invalid=profile["max_invalid"],
                limit_s=float(profile.get("cell_limit_s", math.inf)),
            ),
        )


_ASKED = ("workload", "cycles", "frame_octets", "interval_us", "first_frame_s")


def every_id() -> tuple[str, ...]:
    """Return the ids of all tests that there are, in their order."""
    return tuple(EXPERIMENTS.values())


def cell_of(path: str, function: str, network: str, experiment: str, spec: ActsSpec) -> Cell:
    """Return the cell of an experiment on a path."""
    told: dict[str, int | str] = {
        "experiment": experiment,
        "workload": spec.workload,
        "cycles": spec.cycles,
        "octets": spec.frame_octets,
        **({_AT_ONCE: spec.at_once} if spec.at_once > 1 else {}),
    }
    return Cell(
        kind=KIND,
        path=path,
        hosting=HOSTINGS[path],
        function=function,
        network=network,
        axes=tuple(told.items()),
        name=f"{path}/{function}/{network}/{experiment}/{spec.cycles}x",
    )


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = axes["axes"]
    if sorted(set(told) - {_AT_ONCE}) != sorted(_AXES):
        raise ValueError(f"axes: expected {', '.join(_AXES)}, found {', '.join(told)}")
    if axes["path"] not in HOSTINGS:
        raise ValueError(f"path: expected {' or '.join(HOSTINGS)}, found {axes['path']}")
    if axes["hosting"] != HOSTINGS[axes["path"]]:
        raise ValueError(f"hosting: expected {HOSTINGS[axes['path']]}, found {axes['hosting']}")
    spec = ActsSpec(
        workload=str(told["workload"]),
        cycles=told["cycles"],
        frame_octets=told["octets"],
        interval_us=1,
        first_frame_s=1.0,
        at_once=int(told.get(_AT_ONCE, 1)),
    )
    return cell_of(axes["path"], axes["function"], axes["network"], str(told["experiment"]), spec)


def wrong(data: Mapping[str, Any]) -> str:
    """Say what is wrong with a profile; empty when it can be planned by."""
    if found := problems(data, SCHEMA):
        return str(found[0])
    if data["path"] not in HOSTINGS:
        return f"path: expected {' or '.join(HOSTINGS)}, found {data['path']}"
    for one in data["experiments"]:
        if one["cycles"] % one.get(_AT_ONCE, 1):
            return f"{one['id']}: cycles: expected a multiple of at_once, found {one['cycles']}"
    try:
        plan = ActsProfile(name=data["name"], data=data).plan()
    except ValueError as error:
        return str(error)
    names = [planned.cell.cell_id for planned in plan]
    twice = next((name for name in names if names.count(name) > 1), "")
    return f"cell {twice} is planned twice" if twice else ""


def names() -> list[str]:
    """Return the names of the profiles that there are."""
    folder = resources.files(_FOLDER)
    return sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".yaml"))


def load(name: str) -> ActsProfile:
    """Read a profile. Raises ConfigError APROF-01, ToolkitBug APROF-02 (the files are our own)."""
    if name not in names():
        near = get_close_matches(name, names(), 1)
        raise ConfigError(
            "APROF-01",
            f"profile {name!r} of the lifecycle suites; nothing was started",
            expected=" or ".join(names()),
            found=name,
            hint=f"did you mean {near[0]}?" if near else "set BMWG_PROFILE to one of them",
        )
    data = yaml.safe_load(resources.files(_FOLDER).joinpath(f"{name}.yaml").read_text("utf-8"))
    if found := wrong(data):
        raise ToolkitBug("APROF-02", f"profile {name}", found=found)
    return ActsProfile(name=data["name"], data=data)
