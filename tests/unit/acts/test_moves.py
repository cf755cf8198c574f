"""What the move of a guest proves, and what an answer of moves says."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import HALF_LOAD, ActsResult, Life
from bmwg.methodology.records import Validity
from bmwg.reports.compare.samples import headline_of
from bmwg.resources.kinds.acts.bench import ActsBench

MS = 1_000_000
MOVES = profile.PROFILES.load("moves")
PRE, POST, HALF, HALF_POST, WRITES, START, START_HALF = MOVES.plan()
LOAD = {
    "carried_fps": 16_000,
    "beside_fps": 8000,
    "beside_window_ns": 1500 * MS,
    "sender_limited": 0,
    "beside_offered_frames": 12_000,
    "beside_received_frames": 11_000,
}


def moved(outage_ms: int = 100, at_ms: int = 50, **changes) -> Life:
    """A move whose guest stops a second after the request; its frames come again 20 ms after it runs."""
    asked, stopped = at_ms * MS, (at_ms + 1000) * MS
    again = stopped + (outage_ms + 1) * MS
    steps = {
        "destination_ready": asked + 100 * MS,
        "copy_began": asked + 110 * MS,
        "last_before_loss": stopped,
        "guest_stopped": stopped,
        "frames_stopped": stopped + MS,
        "guest_resumed": again - 20 * MS,
        "guest_announced": again - 19 * MS,
        "move_completed": again - 18 * MS,
        "frames_again": again,
    }
    made = Life(
        asked_ns=asked,
        steps=steps,
        ready_ns=again + MS,
        not_before_ns=again - MS,
        first_frame_ns=again,
        last_frame_ns=stopped + 1,
        remove_asked_ns=again + 700 * MS,
        removed_ns=again + 705 * MS,
        offered_frames=1600,
        received_frames=1600 - outage_ms,
        told={
            "qemu_downtime_ns": (outage_ms - 20) * MS,
            "qemu_total_ns": 900 * MS,
            "ram_octets": 80_000_000,
            "guest_octets": 134_750_208,
            "passes": 3,
            "asked_pages": 0,
            "forwarded_there_frames": 500,
        },
    )
    return replace(made, **changes)


def there_and_back(outage_ms: int = 100, **changes) -> ActsResult:
    second = moved(outage_ms, 5000)
    if "told" in changes:
        second = replace(second, told=changes["told"])
    return ActsResult(lives=(replace(moved(outage_ms), **changes), second), wall_ns=10_000 * MS)


def by_post_copy(result: ActsResult) -> ActsResult:
    """The same where QEMU tells that it went on by post-copy."""
    lives = (
        replace(life, steps={**life.steps, "post_copy_began": life.steps["copy_began"]})
        for life in result.lives
    )
    return replace(result, lives=tuple(lives))


def at(**steps: int | None) -> dict:
    """Steps at another time (ms), or not there."""
    changed = {**moved().steps, **{name: ms and ms * MS for name, ms in steps.items()}}
    return {"steps": {name: ns for name, ns in changed.items() if ns is not None}}


def figures(**told: int) -> dict:
    return {"told": {**moved().told, **told}}


def asked(planned=PRE, number: int = 1):
    return replace(planned.spec, number=number)


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        # the wall clock may be slewed against the other: some ms prove nothing
        (at(guest_stopped=1047), Validity.VALID, ""),
        (at(guest_stopped=1040), Validity.INCONSISTENT, "a frame came that was offered at 1050000000 ns"),
        (at(guest_resumed=1155), Validity.VALID, ""),
        (at(guest_resumed=1160), Validity.INCONSISTENT, "a frame came again at 1151000000 ns"),
        (
            at(guest_resumed=1049),
            Validity.INCONSISTENT,
            "ran at 1049000000 ns at its other place, and stopped",
        ),
        (at(guest_resumed=None), Validity.INCOMPLETE, "not told when the guest stopped"),
        (at(guest_stopped=None), Validity.INCOMPLETE, "not told when the guest stopped"),
        (at(frames_again=1040), Validity.INCONSISTENT, "move 1: loss began and ended at"),
        (
            {"first_frame_ns": None, "not_before_ns": None},
            Validity.INCOMPLETE,
            "no frame came out within 60 s",
        ),
        ({"removed_ns": None}, Validity.INCOMPLETE, "move 1 was not removed"),
        ({"received_frames": 1600}, Validity.INCONSISTENT, "an outage in which 0 frames were lost"),
        (figures(asked_pages=3), Validity.INCONSISTENT, "by pre-copy, and its other place asked for 3 pages"),
        (figures(qemu_downtime_ns=901 * MS), Validity.INCONSISTENT, "qemu_downtime_ns is 901000000"),
        (figures(**LOAD), Validity.INCONSISTENT, "a load beside, asked for ''"),
    ],
)
def test_a_move_is_an_outage_that_holds_the_time_in_which_its_guest_stood(changes, validity, said) -> None:
    found = ACTS.assessed(asked(), there_and_back(**changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        (LOAD, Validity.VALID, ""),
        ({}, Validity.INCONSISTENT, "no load beside, asked for 'half-load'"),
        (
            {**LOAD, "beside_received_frames": 12_001},
            Validity.INCONSISTENT,
            "beside_received_frames is 12001",
        ),
        ({**LOAD, "beside_fps": 8001}, Validity.INCONSISTENT, "beside_fps is 8001, more than half of 16000"),
        ({**LOAD, "beside_window_ns": 1874 * MS}, Validity.VALID, ""),  # of what is due more than 80 % came
        (
            {**LOAD, "beside_window_ns": 2000 * MS},
            Validity.INCOMPLETE,
            "6000 frames/s were offered beside it, 8000 were aimed at",
        ),
        ({**LOAD, "beside_window_ns": 0}, Validity.INCOMPLETE, "beside_window_ns is not told"),
    ],
)
def test_a_load_beside_is_one_that_was_asked_for_and_got_through_before(changes, validity, said) -> None:
    found = ACTS.assessed(asked(HALF), there_and_back(**figures(**changes)))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_by_post_copy_pages_are_asked_for() -> None:
    found = by_post_copy(there_and_back(**figures(asked_pages=3)))
    assert ACTS.assessed(asked(POST), found).validity is Validity.VALID


@pytest.mark.parametrize(
    ("planned", "goes_on", "validity", "said"),
    [
        (PRE, by_post_copy, Validity.INCONSISTENT, "by pre-copy, and QEMU went on by post-copy"),
        (POST, replace, Validity.INCOMPLETE, "QEMU does not tell that it went on by post-copy"),
    ],
)
def test_a_move_is_of_the_mode_that_qemu_tells(planned, goes_on, validity, said) -> None:
    """A move may end before the switch that was asked for."""
    found = ACTS.assessed(asked(planned), goes_on(there_and_back()))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


SERVERS = profile.PROFILES.load("cloud-moves").plan()


def of_a_server(life: Life, **told: int | None) -> Life:
    """The same move of a server: figures by libvirt and not by QEMU, of one boot."""
    figures = {name.replace("qemu_", "libvirt_"): value for name, value in life.told.items()}
    changed = {**figures, "guest_boots": 1, **told}
    return replace(life, told={name: value for name, value in changed.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (at(guest_resumed=None), Validity.INCOMPLETE, "not told when the guest stopped"),
        (at(guest_stopped=1040), Validity.INCONSISTENT, "a frame came that was offered at 1050000000 ns"),
        (figures(asked_pages=3), Validity.INCONSISTENT, "by pre-copy, and its other place asked for 3 pages"),
        (figures(qemu_downtime_ns=901 * MS), Validity.INCONSISTENT, "libvirt_downtime_ns is 901000000"),
    ],
)
def test_a_servers_move_is_held_as_a_guests(changes, validity, said) -> None:
    found = there_and_back(**changes)
    lives = tuple(of_a_server(life) for life in found.lives)
    found = ACTS.assessed(asked(SERVERS[0]), replace(found, lives=lives))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


@pytest.mark.parametrize(
    ("boots", "validity", "said"),
    [
        (1, Validity.VALID, ""),
        (2, Validity.INCONSISTENT, "move 1: its guest has booted 2 times"),
        (0, Validity.INCONSISTENT, "move 1: its guest has booted 0 times"),
        (None, Validity.INCOMPLETE, "move 1: it is not told how often its guest has booted"),
    ],
)
def test_a_server_that_has_booted_anew_did_not_move(boots, validity, said) -> None:
    """The frames of both come again, and their moments are alike."""
    first, second = there_and_back().lives
    lives = (of_a_server(first, guest_boots=boots), of_a_server(second))
    found = ACTS.assessed(asked(SERVERS[0]), replace(there_and_back(), lives=lives))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_each_way_to_move_is_a_cell_of_its_own_that_a_run_s_files_name() -> None:
    starts = [
        "pvp-moving/kernel-l3/none/guest_start/1x",
        "pvp-moving/kernel-l3/none/guest_start/1x/half-load",
    ]
    assert [one.cell.cell_id for one in (START, START_HALF)] == starts
    assert [one.cell.cell_id for one in MOVES.plan()[:5]] == [
        f"pvp-moving/kernel-l3/none/migrate/2x/{how}"
        for how in (
            "pre-copy",
            "post-copy",
            "pre-copy/half-load",
            "post-copy/half-load",
            "pre-copy/memory-writes",
        )
    ]
    assert HALF_POST.spec.beside == HALF_LOAD
    for one in MOVES.plan():
        axes = {name: getattr(one.cell, name) for name in ("path", "hosting", "function", "network")} | {
            "axes": dict(one.cell.axes)
        }
        assert ACTS.cell(axes) == one.cell
        assert ACTS.spec_type.from_builtins(asked(one).as_builtins()) == asked(one)


def test_an_unknown_way_to_move_is_refused() -> None:
    odd = copy.deepcopy(dict(MOVES.data))
    odd["experiments"][0]["mode"] = "cold"
    assert "mode" in profile.PROFILES.wrong(odd)


def values(outcome) -> dict[str, float]:
    return {one.metric: one.number for one in outcome.values}


def test_the_answer_of_moves_is_their_outage_beside_what_their_mover_tells() -> None:
    told = figures(**LOAD)["told"]
    done = [
        ACTS.tried(seq, asked(HALF, seq), there_and_back(100 + seq, told={**told, "ram_octets": seq}))
        for seq in range(1, 8)
    ]
    outcome = ACTS.answered(HALF, done)
    found = values(outcome)
    assert found["guest_move.median"] == 104 * MS
    assert found["guest_move.lost_frames.median"] == 104
    assert found["guest_move.first_frame.median"] == 1105 * MS
    assert found["guest_move.guest_stopped.median"] == 1000 * MS
    assert found["guest_move.ram_octets.median"] == 4
    assert found["guest_move.qemu_total_ns.median"] == 900 * MS
    assert found["guest_move.carried_fps.median"] == 16_000
    units = {one.metric: one.unit for one in outcome.values}
    for name, unit in (
        ("ram_octets", "octets"), ("passes", "count"), ("carried_fps", "1/s"), ("qemu_total_ns", "ns"),
        ("beside_offered_frames", "frames"),
    ):  # fmt: skip
        assert units[f"guest_move.{name}.median"] == unit
    line = ActsBench.__new__(ActsBench).line(outcome)
    assert "outage 104.0 ms" in line
    assert "QEMU's total time 900.0 ms" in line


def test_a_move_and_its_way_back_have_an_outage_and_figures_of_their_own() -> None:
    """Of 104 ms there and 40 ms back the answer was 72 ms, which is the outage of neither."""
    back = replace(moved(40, 5000), told={**moved(40).told, "ram_octets": 7, "qemu_total_ns": 500 * MS})
    done = [
        ACTS.tried(seq, asked(PRE, seq), ActsResult(lives=(moved(100 + seq), back), wall_ns=10_000 * MS))
        for seq in range(1, 8)
    ]
    assert [one.problems for one in done] == [()] * 7
    outcome = ACTS.answered(PRE, done)
    found = {one.metric.removeprefix("guest_move."): one.number for one in outcome.values}
    assert (found["mean"], found["median"], found["lost_frames.median"]) == (104 * MS, 104 * MS, 104)
    assert (found["back.mean"], found["back.median"]) == (40 * MS, 40 * MS)
    assert found["back.lost_frames.median"] == 40
    assert (found["first_frame.median"], found["back.first_frame.median"]) == (1105 * MS, 1041 * MS)
    assert (found["ram_octets.median"], found["back.ram_octets.median"]) == (80_000_000, 7)
    assert found["back.repetitions"] == 7
    assert headline_of(outcome) == ("guest_move.mean", "guest_move.back.mean")
    line = ActsBench.__new__(ActsBench).line(outcome)
    there, back = "104 frames lost", "40 frames lost"
    assert f"outage 104.0 ms (101.0 to 107.0), median, {there}, QEMU's total time 900.0 ms" in line
    assert f"back: outage 40.0 ms (40.0 to 40.0), median, {back}, QEMU's total time 500.0 ms" in line


def started(**changes) -> ActsResult:
    """A guest that forwards three seconds after the request."""
    asked_ns, first_ns = 50 * MS, 3050 * MS
    made = Life(
        asked_ns=asked_ns,
        steps={"guest_boots": 300 * MS},
        ready_ns=300 * MS,
        not_before_ns=first_ns - 3 * MS,
        first_frame_ns=first_ns,
        last_frame_ns=first_ns + 2 * MS,
        remove_asked_ns=first_ns + 5 * MS,
        removed_ns=first_ns + 105 * MS,
        offered_frames=100,
        received_frames=2,
    )
    return ActsResult(lives=(replace(made, **changes),), wall_ns=4000 * MS)


@pytest.mark.parametrize(
    ("planned", "told", "validity", "said"),
    [
        (START, {}, Validity.VALID, ""),
        (START, LOAD, Validity.INCONSISTENT, "guest 1: a load beside, asked for ''"),
        (START_HALF, LOAD, Validity.VALID, ""),
        (START_HALF, {}, Validity.INCONSISTENT, "guest 1: no load beside, asked for 'half-load'"),
        (
            START_HALF,
            {**LOAD, "carried_fps": 1},
            Validity.INCONSISTENT,
            "beside_fps is 8000, more than half of 1",
        ),
    ],
)
def test_a_start_beside_a_load_tells_the_load_that_was_asked_for(planned, told, validity, said) -> None:
    found = ACTS.assessed(asked(planned), started(told=told))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_the_answer_of_a_start_has_the_load_beside_it() -> None:
    done = [ACTS.tried(seq, asked(START_HALF, seq), started(told=LOAD)) for seq in range(1, 6)]
    found = values(ACTS.answered(START_HALF, done))
    assert found["guest_start.mean"] == 3000 * MS
    assert found["guest_start.guest_boots.median"] == 250 * MS
    assert found["guest_start.beside_fps.median"] == 8000
    assert found["guest_start.beside_received_frames.median"] == 11_000
