"""How long each test of a plan of frames takes, with what it needs beside its own answers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from bmwg.methodology import suites
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.methodology.plan.shards import Pieces, Work
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import BAREMETAL


def work_of(profile: Profile, networks: Mapping[str, int | None], test_ids: Collection[str]) -> Work:
    """Return the pieces of some tests of network devices, by this profile and these network options.

    The calibration is the throughput on bare metal: nothing of a pod or of an option is in it.
    """
    calibration = {}
    for path in dict.fromkeys(plan.path for plan in profile.paths if plan.hosting == BAREMETAL):
        owner = suites.owner("throughput", path)
        found = _pieces(profile, networks, owner) if owner else Pieces()
        if owner and found.own:
            calibration[owner] = found
    return Work(
        tests={name: _pieces(profile, networks, name) for name in sorted(test_ids)}, calibration=calibration
    )


def _pieces(profile: Profile, networks: Mapping[str, int | None], test_id: str) -> Pieces:
    answers = planning.cells(profile, networks, test_ids={test_id})
    needed: dict[Hashable, float] = {}
    for answer in answers:
        if answer.missing:
            continue
        if measurement(answer.measurement).needs_throughput:
            load = planning.throughput_of(profile, answer.cell, max_load_fps=planning.ASSUMED_MAX_FPS)
            needed.setdefault(load.key, _took_s(load))
        if not answer.cell.qualifies_tester:
            wire = planning.throughput_of(
                profile, answer.cell.qualification, max_load_fps=planning.ASSUMED_MAX_FPS
            )
            needed.setdefault(wire.key, _took_s(wire))
    return Pieces(
        own={planned_answer.key: _took_s(planned_answer) for planned_answer in answers}, needed=needed
    )


def _took_s(planned: PlannedAnswer) -> float:
    return planned.traffic_s + planned.waits_s
