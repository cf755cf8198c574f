"""A profile of the lifecycle suites: experiments with their options and numbers, and the plan. Pure.

Ids: APROF-01 no such profile, APROF-02 its file is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.kinds.acts.experiments import Answer, Experiment, experiments, hostings
from bmwg.methodology.kinds.acts.records import (
    ATOMIC,
    CPUS,
    FILTERS,
    FITTING,
    FLUSH_FIRST,
    KIND,
    MEMORY,
    ActsSpec,
)
from bmwg.methodology.kinds.repeated.profile import Planned, Profiles, repetitions_of
from bmwg.methodology.records import Cell
from bmwg.schemas.validation import near_name

FORMAT = "acts_profile/1.0"
SCHEMA = "acts_profile"
TEST_IDS = "LC-"  # how the id of every test of these suites begins
_AXES = ("experiment", "workload", "cycles", "octets")
_AT_ONCE = "at_once"  # an axis where more than one is made at the same time
_MOST_AT_ONCE = 200  # each has an address of its own on both sides, of one network with 254
_POLICIES = "policies"  # an axis where others stand already
_ENTRIES = "entries"  # an axis where configurations are exchanged
_MOVES = ("mode", "beside")  # axes of moves, exchanges and resizes
_RULES = "functions.firewall.rules"
_EXCHANGED = (ATOMIC, FLUSH_FIRST)
_FOLDER = "bmwg.methodology.kinds.acts.profiles"


def _plan(profile: Mapping[str, Any]) -> Iterator[Planned[ActsSpec]]:
    """Yield every cell, experiment by experiment. Raises ValueError."""
    for experiment in profile["experiments"]:
        if experiment["cycles"] % experiment.get(_AT_ONCE, 1):
            found = f"cycles {experiment['cycles']}"
            raise ValueError(f"{experiment['id']}: cycles: expected a multiple of at_once, found {found}")
        yield from _cells(profile, experiment)


def _cells(profile: Mapping[str, Any], experiment: Mapping[str, Any]) -> Iterator[Planned[ActsSpec]]:
    known = _installed(experiment["id"])
    spec = ActsSpec(
        **{name: experiment[name] for name in _ASKED},
        at_once=experiment["cycles"] if known.answer is Answer.FIT else experiment.get(_AT_ONCE, 1),
        policies=experiment.get(_POLICIES, 0),
        entries=experiment.get(_ENTRIES, 0),
        counts_failures=known.counts_failures,
        **{name: experiment[name] for name in _MOVES if name in experiment},
    )
    if known.answer is Answer.BATCHES and spec.at_once != spec.cycles:
        found = f"cycles {spec.cycles}, at_once {spec.at_once}"
        raise ValueError(f"{experiment['id']}: expected one batch, whose time is the answer, found {found}")
    if (known.answer is Answer.FIT) != (spec.workload == FITTING):
        found = f"workload {spec.workload}"
        raise ValueError(f"{experiment['id']}: expected workload {FITTING} for fit alone, found {found}")
    if {bool(spec.entries), spec.mode in _EXCHANGED} != {known.answer is Answer.EXCHANGES}:
        found = f"mode {spec.mode or 'none'}, entries {spec.entries}"
        raise ValueError(
            f"{experiment['id']}: expected entries and mode {' or '.join(_EXCHANGED)} of exchanges "
            f"alone, found {found}"
        )
    if bool(spec.size_unit) != (known.answer is Answer.RESIZES):
        found = f"workload {spec.workload}, mode {spec.mode or 'none'}"
        raise ValueError(
            f"{experiment['id']}: expected mode {MEMORY} or {CPUS} of resizes alone, found {found}"
        )
    if spec.at_once > _MOST_AT_ONCE:
        found = f"{spec.at_once} at once"
        raise ValueError(f"{experiment['id']}: expected {_MOST_AT_ONCE} at most, found {found}")
    path, function = (experiment.get(name, profile[name]) for name in ("path", "function"))
    for network in experiment["networks"]:
        yield Planned(
            test_id=known.test_id,
            metric=known.metric,
            cell=cell_of(path, function, network, experiment["id"], spec),
            spec=spec,
            asked=repetitions_of(profile),
        )


_ASKED = ("workload", "cycles", "frame_octets", "interval_us", "first_frame_s")


def _installed(name: str) -> Experiment:
    known = experiments()
    if name not in known:
        near = near_name(name, known)
        found = f"{name} (near {near})" if near else name
        raise ValueError(f"experiment: expected an installed one ({', '.join(known)}), found {found}")
    return known[name]


def cell_of(path: str, function: str, network: str, experiment: str, spec: ActsSpec) -> Cell:
    """Return the cell of an experiment on a path. Raises ValueError."""
    if path not in (known := hostings()):
        raise ValueError(f"path: expected {' or '.join(sorted(known))}, found {path}")
    told: dict[str, int | str] = {
        "experiment": experiment,
        "workload": spec.workload,
        "cycles": spec.cycles,
        "octets": spec.frame_octets,
        **({_AT_ONCE: spec.at_once} if spec.at_once > 1 else {}),
        **({_POLICIES: spec.policies} if spec.policies else {}),
        **({_ENTRIES: spec.entries} if spec.entries else {}),
        **{name: getattr(spec, name) for name in _MOVES if getattr(spec, name)},
    }
    others = f"/{spec.at_once}-at-once" if spec.at_once not in (1, spec.cycles) else ""
    others += f"/{spec.policies}-others" if spec.policies else ""
    others += f"/{spec.entries}-entries" if spec.entries else ""
    others += "".join(f"/{word}" for word in (spec.mode, spec.beside) if word)
    return Cell(
        kind=KIND,
        path=path,
        hosting=known[path],
        function=function,
        network=network,
        axes=tuple(told.items()),
        name=f"{path}/{function}/{network}/{experiment}/{spec.cycles}x{others}",
    )


def of_frames(planned: Planned[ActsSpec]) -> Cell:
    """Return the cell of frames whose path acts are done on; a firewall is deployed with as many rules."""
    spec, cell = planned.spec, planned.cell
    axes: dict[str, int | str] = {_RULES: spec.entries} if spec.workload == FILTERS else {}
    return Cell(
        path=cell.path,
        hosting=cell.hosting,
        function=cell.function,
        network=cell.network,
        axes=tuple(axes.items()),
        frame_octets=spec.frame_octets,
    )


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = axes["axes"]
    if sorted(set(told) - {_AT_ONCE, _POLICIES, _ENTRIES, *_MOVES}) != sorted(_AXES):
        raise ValueError(f"axes: expected {', '.join(_AXES)}, found {', '.join(told)}")
    spec = ActsSpec(
        workload=str(told["workload"]),
        cycles=told["cycles"],
        frame_octets=told["octets"],
        interval_us=1,
        first_frame_s=1.0,
        at_once=int(told.get(_AT_ONCE, 1)),
        policies=int(told.get(_POLICIES, 0)),
        entries=int(told.get(_ENTRIES, 0)),
        mode=str(told.get("mode", "")),
        beside=str(told.get("beside", "")),
    )
    _installed(str(told["experiment"]))
    found = cell_of(axes["path"], axes["function"], axes["network"], str(told["experiment"]), spec)
    if axes["hosting"] != found.hosting:
        raise ValueError(f"hosting: expected {found.hosting}, found {axes['hosting']}")
    return found


PROFILES = Profiles(
    "APROF-01", "APROF-02", suites="lifecycle suites", schema=SCHEMA, folder=_FOLDER, cells=_plan
)
