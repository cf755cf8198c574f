"""What the resize of a guest or a pod proves, and what an answer of resizes says."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Life
from bmwg.methodology.records import Validity
from bmwg.reports.compare.samples import headline_of
from bmwg.resources.kinds.acts.bench import ActsBench
from bmwg.schemas.validation import problems

MS = 1_000_000
PLAN = profile.PROFILES.load("resize").plan()
IDLE, HALF, CPU, POD, POD_MEMORY, REPLICAS, LOADED = (PLAN[at] for at in (0, 1, 2, 4, -3, -2, -1))
FULL, LESS = 128 << 20, 96 << 20
TOLD = {"had_octets": FULL, "asked_octets": LESS, "actual_octets": LESS, "forwarded_frames": 500}


def resized(lost: int = 0, at_ms: int = 50, **changes) -> Life:
    """A resize: 300 ms until the size is read back, 302 until the first frame, some frames lost."""
    asked = at_ms * MS
    steps = {"size_asked": asked + MS, "size_reached": asked + 300 * MS}
    if lost:
        steps |= {
            "last_before_loss": asked + 9 * MS,
            "frames_stopped": asked + 10 * MS,
            "frames_again": asked + (10 + lost) * MS,
        }
    made = Life(
        asked_ns=asked,
        steps=steps,
        ready_ns=asked + 300 * MS,
        not_before_ns=asked + 301 * MS,
        first_frame_ns=asked + 302 * MS,
        last_frame_ns=asked + 299 * MS,
        offered_frames=900,
        received_frames=900 - lost,
        told=TOLD,
    )
    return replace(made, **changes)


def there_and_back(lost: int = 0, **changes) -> ActsResult:
    back = TOLD | {"had_octets": LESS, "asked_octets": FULL, "actual_octets": FULL}
    lives = (replace(resized(lost), **changes), resized(lost, 3000, told=back))
    return ActsResult(lives=lives, wall_ns=10_000 * MS)


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"told": TOLD | {"actual_octets": FULL}}, Validity.INCONSISTENT, f"{FULL} octets, asked for {LESS}"),
        (
            {"told": TOLD | {"forwarded_frames": 0}},
            Validity.INCONSISTENT,
            "resized forwarded none with",
        ),
        (
            {"told": {k: v for k, v in TOLD.items() if k != "had_octets"}},
            Validity.INCOMPLETE,
            "had_octets is",
        ),
        ({"received_frames": 899}, Validity.INCOMPLETE, "1 frames were lost, and it was not seen until when"),
        ({"first_frame_ns": None, "not_before_ns": None}, Validity.INCOMPLETE, "resize 1: no frame came out"),
    ],
)
def test_a_resize_has_the_size_that_was_asked_for_and_frames_with_it(changes, validity, said) -> None:
    found = ACTS.assessed(replace(IDLE.spec, number=1), there_and_back(**changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_its_cells_are_named_and_its_answer_has_time_loss_and_sizes() -> None:
    assert [one.cell.cell_id for one in PLAN] == [
        "pvp-moving/kernel-l3/none/resize/2x/memory",
        "pvp-moving/kernel-l3/none/resize/2x/memory/half-load",
        "pvp-moving/kernel-l3/none/resize/2x/cpus",
        "pvp-moving/kernel-l3/none/resize/2x/cpus/half-load",
        "pvp/kernel-l3/bridge/resize_pod/2x/cpus",
        "pvp/kernel-l3/ptp/resize_pod/2x/cpus",
        "pvp/kernel-l3/bridge/resize_pod/2x/cpus/half-load",
        "pvp/kernel-l3/bridge/resize_pod/2x/memory",
        "pvp/kernel-l3/bridge/replicate/2x",
        "pvp/kernel-l3/bridge/replicate/2x/half-load",
    ]
    done = [ACTS.tried(seq, replace(IDLE.spec, number=seq), there_and_back(20 + seq)) for seq in range(1, 8)]
    outcome = ACTS.answered(IDLE, done)
    found = {one.metric: one.number for one in outcome.values}
    assert found["guest_resize.mean"] == 302 * MS
    assert found["guest_resize.outage.median"] == 24 * MS
    assert found["guest_resize.lost_frames.median"] == 24
    assert found["guest_resize.size_reached.median"] == 300 * MS
    line = ActsBench.__new__(ActsBench).line(outcome)
    assert "with the other size after 302.0 ms" in line
    assert "with its own again after 302.0 ms" in line
    # what differs by the way is told of each way, and not of both together
    assert found["guest_resize.actual_octets.median"] == LESS
    assert found["guest_resize.back.actual_octets.median"] == FULL
    assert "24 frames lost" in line


def test_a_change_and_its_way_back_have_times_and_losses_of_their_own() -> None:
    """Their median would be of neither: with one of each it lies in the middle between both."""
    quick = resized(0, 3000, told=TOLD | {"had_octets": LESS, "asked_octets": FULL, "actual_octets": FULL})
    quick = replace(
        quick,
        steps={"size_asked": 3001 * MS, "size_reached": 3018 * MS},
        ready_ns=3018 * MS,
        not_before_ns=3019 * MS,
        first_frame_ns=3020 * MS,
    )
    done = [
        ACTS.tried(
            seq,
            replace(IDLE.spec, number=seq),
            ActsResult(lives=(resized(20 + seq), quick), wall_ns=10_000 * MS),
        )
        for seq in range(1, 8)
    ]
    assert [one.problems for one in done] == [()] * 7
    outcome = ACTS.answered(IDLE, done)
    found = {one.metric.removeprefix("guest_resize."): one.number for one in outcome.values}
    assert (found["mean"], found["median"], found["lost_frames.median"]) == (302 * MS, 302 * MS, 24)
    assert (found["back.mean"], found["back.median"]) == (20 * MS, 20 * MS)
    assert found["back.lost_frames.median"] == 0
    assert (found["outage.median"], found["back.outage.median"]) == (24 * MS, 0)
    assert {f"guest_resize{way}.mean" for way in ("", ".back")} <= set(ACTS.headline)
    assert headline_of(outcome) == ("guest_resize.mean", "guest_resize.back.mean")
    line = ActsBench.__new__(ActsBench).line(outcome)
    assert "with the other size after 302.0 ms" in line
    assert "24 frames lost; with its own again after 20.0 ms" in line


def test_a_change_without_a_way_back_has_one_figure() -> None:
    spec = replace(IDLE.spec, cycles=1)
    lone = ActsResult(lives=(resized(),), wall_ns=10_000 * MS)
    done = [ACTS.tried(seq, replace(spec, number=seq), lone) for seq in range(1, 8)]
    outcome = ACTS.answered(replace(IDLE, spec=spec), done)
    assert headline_of(outcome) == ("guest_resize.mean",)
    assert "again" not in ActsBench.__new__(ActsBench).line(outcome)


SPUN = {
    "had_quota_us": 100_000,
    "asked_quota_us": 5_000,
    "actual_quota_us": 5_000,
    "forwarded_frames": 500,
    "period_us": 100_000,
    "spun_us": 55_000,
    "spun_window_us": 1_050_000,
    "throttled_periods": 10,
    "throttled_us": 900_000,
}


@pytest.mark.parametrize(
    ("told", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"spun_us": 65_000}, Validity.VALID, ""),  # 13 periods, as of ten and the ends of the window
        ({"spun_us": 65_001}, Validity.INCONSISTENT, "a program had 65001 us of 13 periods of 5000 us"),
        ({"actual_quota_us": 100_000}, Validity.INCONSISTENT, "100000 quota_us, asked for 5000"),
        ({"throttled_periods": 0}, Validity.INCOMPLETE, "never wanted more than its new limit"),
        ({"spun_us": None}, Validity.INCOMPLETE, "spun_us is not told"),
        ({"throttled_periods": None}, Validity.INCOMPLETE, "throttled_periods is not told"),
    ],
)
def test_a_limit_of_cpu_time_is_shown_by_a_program_that_wants_more(told, validity, said) -> None:
    there = {name: value for name, value in {**SPUN, **told}.items() if value is not None}
    back = SPUN | {"had_quota_us": 5_000, "asked_quota_us": 100_000, "actual_quota_us": 100_000}
    back |= {"throttled_periods": 0, "spun_us": 990_000}
    result = ActsResult(lives=(resized(told=there), resized(at_ms=3000, told=back)), wall_ns=10_000 * MS)
    found = ACTS.assessed(replace(POD.spec, number=1), result)
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_memory_in_use_is_not_more_than_the_limit_and_cpus_are_counted() -> None:
    spec = replace(POD_MEMORY.spec, number=1)
    for used, validity in ((LESS, Validity.VALID), (LESS + 1, Validity.INCONSISTENT)):
        lives = (
            resized(told=TOLD | {"used_octets": used}),
            resized(at_ms=3000, told=TOLD | {"used_octets": 9}),
        )
        assert ACTS.assessed(spec, ActsResult(lives=lives, wall_ns=10_000 * MS)).validity is validity
    told = {"had_cpus": 1, "asked_cpus": 2, "actual_cpus": 2, "forwarded_frames": 5}
    lives = (resized(told=told), resized(at_ms=3000, told=told | {"asked_cpus": 1}))
    found = ACTS.assessed(replace(CPU.spec, number=1), ActsResult(lives=lives, wall_ns=10_000 * MS))
    assert found.reason == "resize 2: 2 cpus, asked for 1"


SERVERS = {one.spec.mode: one for one in profile.PROFILES.load("cloud-resize").plan() if not one.spec.beside}


@pytest.mark.parametrize(
    ("mode", "guest", "validity", "said"),
    [
        ("memory", LESS, Validity.VALID, ""),
        ("memory", FULL, Validity.INCONSISTENT, f"resize 1: {LESS} octets, its guest counts {FULL}"),
        ("memory", None, Validity.INCOMPLETE, "resize 1: guest_octets is not told"),
        ("cpus", 2, Validity.VALID, ""),
        ("cpus", 1, Validity.INCONSISTENT, "resize 1: 2 cpus, its guest counts 1"),
        ("cpus", None, Validity.INCOMPLETE, "resize 1: guest_cpus is not told"),
    ],
)
def test_the_guest_of_a_server_has_found_the_size_that_its_cloud_tells(mode, guest, validity, said) -> None:
    spec = replace(SERVERS[mode].spec, number=1)
    few, many = {"memory": (FULL, LESS), "cpus": (1, 2)}[mode]

    def told(had: int, has: int, counted: int | None) -> dict[str, int]:
        sizes = {"had": had, "asked": has, "actual": has} | ({} if counted is None else {"guest": counted})
        return {f"{name}_{spec.size_unit}": size for name, size in sizes.items()} | {"forwarded_frames": 5}

    lives = (resized(told=told(few, many, guest)), resized(at_ms=3000, told=told(many, few, few)))
    found = ACTS.assessed(spec, ActsResult(lives=lives, wall_ns=10_000 * MS))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


@pytest.mark.parametrize(
    "changed",
    [
        {"workload": "guest_resizes", "mode": "pre-copy"},
        {"workload": "guest_resizes", "mode": ""},
        {"workload": "migrations", "mode": "memory"},
    ],
)
def test_a_profile_says_what_is_resized_and_of_nothing_else(changed) -> None:
    odd = copy.deepcopy(dict(profile.PROFILES.load("resize").data))
    odd["experiments"] = [{**odd["experiments"][0], **changed}]
    if not changed["mode"]:
        del odd["experiments"][0]["mode"]
    assert "mode memory or cpus of resizes alone" in profile.PROFILES.wrong(odd)


SHARES = {
    "had_replicas": 1,
    "asked_replicas": 2,
    "actual_replicas": 2,
    "forwarded_frames": 500,
    "window_came_frames": 900,
    "replica_1_came_frames": 500,
    "replica_1_sent_frames": 501,  # it asked for an address as well
    "replica_2_came_frames": 400,
    "replica_2_sent_frames": 400,
}
ONE = {"had_replicas": 2, "asked_replicas": 1, "actual_replicas": 1, "forwarded_frames": 9}
ONE |= {"window_came_frames": 9, "replica_1_came_frames": 9, "replica_1_sent_frames": 9}


@pytest.mark.parametrize(
    ("told", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (
            {"replica_2_sent_frames": 399},
            Validity.INCONSISTENT,
            "400 frames came by replica 2, which sent 399",
        ),
        ({"window_came_frames": 901}, Validity.INCONSISTENT, "901 frames came, 900 of them by the replicas"),
        ({"actual_replicas": 1}, Validity.INCONSISTENT, "1 replicas, asked for 2"),
        (
            {"replica_1_came_frames": 0, "window_came_frames": 400},
            Validity.INCOMPLETE,
            "no frame came by replica 1",
        ),
    ],
)
def test_each_replica_has_frames_and_sent_them_and_no_other_did(told, validity, said) -> None:
    lives = (resized(told=SHARES | told), resized(at_ms=3000, told=ONE))
    found = ACTS.assessed(replace(REPLICAS.spec, number=1), ActsResult(lives=lives, wall_ns=10_000 * MS))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


LOAD = {"carried_fps": 8000, "beside_fps": 4000, "sender_limited": 0}
LOAD |= {"beside_window_ns": 1250 * MS, "beside_offered_frames": 5000, "beside_received_frames": 4990}


@pytest.mark.parametrize(
    ("load", "validity", "said"),
    [
        (LOAD, Validity.VALID, ""),
        ({}, Validity.INCONSISTENT, "no load beside, asked for 'half-load'"),
        (LOAD | {"beside_received_frames": 5001}, Validity.INCONSISTENT, "beside_received_frames is 5001"),
    ],
)
def test_a_load_beside_replicas_is_told_with_each_change_and_what_was_lost_of_it(
    load, validity, said
) -> None:
    lives = (resized(told=SHARES | load), resized(at_ms=3000, told=ONE | load))
    spec = replace(LOADED.spec, number=1)
    found = ACTS.assessed(spec, ActsResult(lives=lives, wall_ns=10_000 * MS))
    assert (found.validity, said in found.reason) == (validity, True), found.reason
    body = ACTS.body_of(spec, ActsResult(lives=lives, wall_ns=10_000 * MS), {})
    assert problems({"spec": body.spec, "result": body.result}, ACTS.name) == []


@pytest.mark.parametrize("name", profile.PROFILES.names())
def test_the_journal_takes_each_execution_that_a_profile_of_ours_plans(name) -> None:
    for planned in profile.PROFILES.load(name).plan():
        body = ACTS.body_of(replace(planned.spec, number=1), there_and_back(), {})
        assert problems({"spec": body.spec, "result": body.result}, ACTS.name) == [], planned.cell.cell_id
