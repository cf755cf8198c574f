"""Tests are shared out whole: none twice, none lost, what shares an answer together, about the same time."""

from __future__ import annotations

import random

import pytest

from bmwg.methodology import suites
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planned_work import work_of
from bmwg.methodology.plan.shards import Pieces, Work, calibrating, cut, joined, needed_beside, seconds
from bmwg.methodology.profiles import load_profile

NETWORKS = planning.Networks({"bridge": None, "ptp": None})


def made(**tests: dict[str, float]) -> dict[str, Pieces]:
    return {name: Pieces(own=own) for name, own in tests.items()}


def test_the_longest_is_alone_and_the_others_beside_each_other() -> None:
    tests = made(a={"a": 100}, b={"b": 40}, c={"c": 40}, d={"d": 10})
    assert cut(tests, 2) == (("a",), ("b", "c", "d"))
    assert cut(tests, 1) == (("a", "b", "c", "d"),)
    assert cut(tests, 9) == (("a",), ("b",), ("c",), ("d",))


def test_who_shares_an_answer_is_never_parted_also_by_a_third_one() -> None:
    tests = made(a={"x": 5}, b={"x": 5, "y": 5}, c={"y": 5}, d={"z": 1})
    assert cut(tests, 4) == (("a", "b", "c"), ("d",))


def test_what_several_need_counts_once_in_a_shard_and_in_each_that_needs_it() -> None:
    tests = {
        "latency": Pieces(own={"l": 10}, needed={"t": 7}),
        "loss": Pieces(own={"s": 10}, needed={"t": 7}),
        "throughput": Pieces(own={"t": 7}),
    }
    assert seconds(list(tests.values())) == 27
    assert needed_beside([tests["latency"], tests["loss"]]) == {"t": 7}
    assert needed_beside(list(tests.values())) == {}
    assert cut(tests, 2) == (("latency", "throughput"), ("loss",))  # the need comes to who has it


def test_tests_change_places_where_the_longest_first_is_not_the_best() -> None:
    tests = made(a={"a": 3}, b={"b": 3}, c={"c": 2}, d={"d": 2}, e={"e": 2})  # by the longest first: 7 and 5
    assert cut(tests, 2) == (("a", "b"), ("c", "d", "e"))


def test_what_bounds_the_fleet_lets_nothing_be_measured_twice_beside_it() -> None:
    needs = {"a": "t", "b": "t", "c": "u", "d": "u"}
    tests = {"long": Pieces(own={"long": 100})} | {
        name: Pieces(own={name: 9}, needed={need: 20}) for name, need in needs.items()
    }
    assert cut(tests, 3) == (("long",), ("a", "b"), ("c", "d"))
    assert len(cut(tests, 5)) == 5


@pytest.mark.parametrize("seed", range(20))
def test_no_test_is_lost_or_twice_and_no_shard_is_far_longer(seed: int) -> None:
    luck = random.Random(seed)
    tests = made(**{f"t{number}": {number: luck.uniform(1, 100)} for number in range(luck.randint(1, 40))})
    shards = luck.randint(1, 12)
    found = cut(tests, shards)
    assert sorted(name for names in found for name in names) == sorted(tests)
    assert len(found) == min(shards, len(tests))
    longest = max(seconds([tests[name] for name in names]) for names in found)
    average = seconds(list(tests.values())) / len(found)
    assert longest <= average + max(seconds([one]) for one in tests.values())
    assert cut(dict(reversed(tests.items())), shards) == found


def test_a_calibration_is_left_out_where_its_cells_are_measured_anyway() -> None:
    known = made(calibration={"x": 5, "y": 5})
    assert calibrating([Pieces(own={"z": 1})], known) == ("calibration",)
    assert calibrating([Pieces(own={"x": 1})], known) == ()


def test_the_work_of_a_plan_has_the_seconds_of_the_plan() -> None:
    profile = load_profile("quick")
    tests = suites.DEFAULT_TESTS
    work = work_of(profile, NETWORKS, tests)
    plan = planning.cells(profile, NETWORKS, test_ids=tests)
    planned = [one for one in work.tests.values() if one.own]
    assert seconds(planned) == pytest.approx(planning.duration_s(plan))
    assert needed_beside(planned) == {}
    assert {key for one in planned for key in one.own} == {one.key for one in plan}


def test_latency_alone_needs_throughput_and_qualification() -> None:
    profile = load_profile("quick")
    (latency,) = work_of(profile, NETWORKS, {"CN-LAT-1.2"}).tests.values()
    (whole,) = work_of(profile, NETWORKS, {"CN-TPUT-1.2"}).tests.values()
    needed = needed_beside([latency])
    assert [cell for metric, cell in needed if cell.startswith("node/")]
    assert [cell for metric, cell in needed if cell.startswith("wire/")]
    assert all(took_s > 0 for took_s in needed.values())
    assert {key for key in needed if key[1].startswith("node/")} <= set(whole.own)


def test_the_calibration_is_the_throughput_on_bare_metal() -> None:
    work = work_of(load_profile("quick"), NETWORKS, {"CN-LAT-1.3"})
    assert set(work.calibration) == {"CN-TPUT-1.2"}


def test_works_of_kinds_stand_together() -> None:
    one, other = Work(tests=made(a={"a": 1})), Work(tests=made(b={"b": 1}), calibration=made(c={"c": 1}))
    assert set(joined([one, other]).tests) == {"a", "b"}
    assert set(joined([one, other]).calibration) == {"c"}
