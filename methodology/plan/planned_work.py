"""How long each test of a plan of frames takes, with what it needs beside its own answers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

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


def answers_needed(profile: Profile, planned: Sequence[PlannedAnswer]) -> tuple[PlannedAnswer, ...]:
    """Return what these answers need that none of them is: the tester's qualifications, and throughputs."""
    own = {answer.key for answer in planned}
    needed = {one.key: one for answer in planned for one in _needed(profile, answer)}
    return tuple(one for key, one in needed.items() if key not in own)


def _pieces(profile: Profile, networks: Mapping[str, int | None], test_id: str) -> Pieces:
    answers = planning.cells(profile, networks, test_ids={test_id})
    needed: dict[Hashable, float] = {
        one.key: _took_s(one) for answer in answers for one in _needed(profile, answer)
    }
    return Pieces(
        own={planned_answer.key: _took_s(planned_answer) for planned_answer in answers}, needed=needed
    )


def _needed(profile: Profile, answer: PlannedAnswer) -> Iterator[PlannedAnswer]:
    """Yield the throughput at which an answer is measured, and the tester's qualification for its traffic."""
    if answer.missing:
        return
    if measurement(answer.measurement).needs_throughput:
        yield planning.throughput_of(profile, answer.cell, max_load_fps=planning.ASSUMED_MAX_FPS)
    if not answer.cell.qualifies_tester:
        yield planning.throughput_of(
            profile, answer.cell.qualification, max_load_fps=planning.ASSUMED_MAX_FPS
        )


def _took_s(planned: PlannedAnswer) -> float:
    return planned.traffic_s + planned.waits_s
