"""A profile of the suites of streams: paths, options and experiments with their numbers, and the plan. Pure.

Ids: SPROF-01 no such profile, SPROF-02 its file is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from itertools import product
from typing import Any

import yaml

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.keep_awake import KeepAwake
from bmwg.methodology.kinds.streams.records import KIND, Exchange, StreamsSpec, Transport, Way
from bmwg.methodology.records import NOTHING, POD, Cell
from bmwg.methodology.repeated import Repetitions
from bmwg.schemas.validation import problems

FORMAT = "streams_profile/1.0"
SCHEMA = "streams_profile"
TEST_IDS = ("PP-", "SK-")  # how the ids of all tests of these suites begin
GOODPUT, ROUND_TRIP = "goodput", "round_trip_time"
_PATHS = ("p2p", "p2p-underlay", "p2p-vxlan", "client-server")  # in the ids' order: append, never renumber
EXPERIMENTS = {  # how a test's id begins
    "tcp": "PP-TCP",
    "udp": "PP-UDP",
    "round_trip": "PP-RTT",
    "socket_sizes": "SK-TCP",
    "request_sizes": "SK-UDP",
    "socket_sizes_twin": "SK-TCPT",
    "request_sizes_twin": "SK-UDPT",
}
SWEPT = {  # the axis of experiments that are curves over it
    "socket_sizes": "window_octets",
    "socket_sizes_twin": "window_octets",
    "request_sizes": "message_octets",
    "request_sizes_twin": "message_octets",
}
_SERVER = "client-server"
_AXES = (
    "workload",
    "transport",
    "exchange",
    "way",
    "parallel",
    "message_octets",
    "window_octets",
    "load_bps",
)
_FOLDER = "bmwg.methodology.kinds.streams.profiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A cell with its test, what each of its executions asks for, and how many are wanted."""

    test_id: str
    metric: str
    cell: Cell
    spec: StreamsSpec
    asked: Repetitions
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsProfile:
    """A profile; `data` is its file, as the run's header keeps it."""

    name: str
    data: Mapping[str, Any]

    @property
    def keep_awake(self) -> KeepAwake:
        """What keeps CPUs from halting in its runs."""
        return KeepAwake(self.data["keep_awake"])

    def plan(self) -> tuple[Planned, ...]:
        """Return every cell, deployment by deployment, each test's cells in the order of its experiment."""
        return tuple(
            planned
            for place in self.data["paths"]
            for hosting in place.get("hostings", (POD,))
            for network in (place["networks"] if hosting == POD else (NOTHING,))
            for experiment in self.data["experiments"]
            if experiment["id"] in place.get("experiments", EXPERIMENTS)
            for planned in _cells(self.data, place["path"], hosting, network, experiment)
        )


def _cells(
    profile: Mapping[str, Any], path: str, hosting: str, network: str, experiment: Mapping[str, Any]
) -> Iterator[Planned]:
    axes = ("ways", "parallel", "message_octets", "window_octets", "load_bps")
    for way, parallel, message, window, load in product(*(experiment[name] for name in axes)):
        spec = StreamsSpec(
            workload=experiment["workload"],
            transport=Transport(experiment["transport"]),
            exchange=Exchange(experiment["exchange"]),
            way=Way(way),
            parallel=parallel,
            message_octets=message,
            window_octets=window,
            load_bps=load,
            duration_s=experiment["duration_s"],
            omit_s=experiment["omit_s"],
        )
        yield Planned(
            test_id=id_of(experiment["id"], path),
            metric=GOODPUT if spec.exchange is Exchange.BULK else ROUND_TRIP,
            cell=cell_of(path, network, experiment["id"], spec, hosting),
            spec=spec,
            asked=Repetitions(
                wanted=profile["repetitions"],
                least=min(profile["least_repetitions"], profile["repetitions"]),
                max_invalid=profile["max_invalid"],
                limit_s=float(profile.get("cell_limit_s", math.inf)),
            ),
            deadline_s=float(profile["deadline_s"]),
        )


def id_of(experiment: str, path: str) -> str:
    """Return the stable id of the test of an experiment on a path."""
    return f"{EXPERIMENTS[experiment]}-{_PATHS.index(path) + 1}"


def every_id() -> tuple[str, ...]:
    """Return the ids of all tests that there are, in their order."""
    return tuple(
        id_of(experiment, path)
        for experiment in EXPERIMENTS
        for path in _PATHS
        if (path == _SERVER) is (experiment in SWEPT)
    )


def cell_of(path: str, network: str, experiment: str, spec: StreamsSpec, hosting: str = POD) -> Cell:
    """Return the cell of an experiment's settings on a path."""
    told = {"experiment": experiment, **{name: getattr(spec, name) for name in _AXES}}
    where = [path, hosting] if path == _SERVER else [path]
    parts = [*where, network, experiment, spec.way.value, f"{spec.message_octets}o", f"{spec.parallel}s"]
    parts += [f"{spec.window_octets}w"] if spec.window_octets else []
    parts += [f"{spec.load_bps}bps"] if spec.load_bps else []
    return Cell(
        kind=KIND,
        path=path,
        hosting=hosting,
        function=NOTHING,
        network=network,
        axes=tuple((name, value if isinstance(value, int) else str(value)) for name, value in told.items()),
        name="/".join(parts),
    )


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = axes["axes"]
    if sorted(told) != sorted(("experiment", *_AXES)):
        raise ValueError(f"axes: expected {', '.join(('experiment', *_AXES))}, found {', '.join(told)}")
    spec = StreamsSpec.from_builtins({**{name: told[name] for name in _AXES}, "duration_s": 1.0, "omit_s": 0})
    if axes["function"] != NOTHING or (axes["hosting"] != POD and axes["path"] != _SERVER):
        raise ValueError(f"hosting, function: expected {POD}, {NOTHING}")
    return cell_of(axes["path"], axes["network"], told["experiment"], spec, axes["hosting"])


def wrong(data: Mapping[str, Any]) -> str:
    """Say what is wrong with a profile; empty when it can be planned by."""
    if found := problems(data, SCHEMA):
        return str(found[0])
    try:
        plan = StreamsProfile(name=data["name"], data=data).plan()
    except ValueError as error:
        return str(error)
    names = [planned.cell.cell_id for planned in plan]
    twice = next((name for name in names if names.count(name) > 1), "")
    return f"cell {twice} is planned twice" if twice else ""


def names() -> list[str]:
    """Return the names of the profiles that there are."""
    folder = resources.files(_FOLDER)
    return sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".yaml"))


def load(name: str) -> StreamsProfile:
    """Read a profile. Raises ConfigError SPROF-01, ToolkitBug SPROF-02 (the files are our own)."""
    if name not in names():
        near = get_close_matches(name, names(), 1)
        raise ConfigError(
            "SPROF-01",
            f"profile {name!r} of the pod-to-pod suites; nothing was started",
            expected=" or ".join(names()),
            found=name,
            hint=f"did you mean {near[0]}?" if near else "set BMWG_PROFILE to one of them",
        )
    data = yaml.safe_load(resources.files(_FOLDER).joinpath(f"{name}.yaml").read_text("utf-8"))
    if found := wrong(data):
        raise ToolkitBug("SPROF-02", f"profile {name}", found=found)
    return StreamsProfile(name=data["name"], data=data)
