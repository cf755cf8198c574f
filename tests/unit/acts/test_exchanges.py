"""What an exchange of a configuration proves, and what an answer of exchanges says."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Life
from bmwg.methodology.records import Validity
from bmwg.resources.kinds.acts.bench import ActsBench

MS = 1_000_000
PROFILE = profile.PROFILES.load("exchanges")
ATOMIC, FLUSHED, HALF = PROFILE.plan()[:3]
FLOWS = next(one for one in PROFILE.plan() if one.test_id == "LC-EXCHANGE-2")
LOAD = {
    "carried_fps": 16_000,
    "beside_fps": 8000,
    "beside_window_ns": 1500 * MS,
    "sender_limited": 0,
    "beside_offered_frames": 12_000,
    "beside_received_frames": 11_000,
}


def exchanged(lost: int = 0, at_ms: int = 50, **changes) -> Life:
    """An exchange: 100 ms from the request to the first frame by the new configuration, some frames lost."""
    asked, first = at_ms * MS, (at_ms + 100) * MS
    steps = {"table_loading": asked + 10 * MS, "table_loaded": first + 2 * MS}
    if lost:
        steps |= {
            "last_before_loss": asked + 6 * MS,
            "table_flushed": asked + 8 * MS,
            "frames_stopped": asked + 7 * MS,
            "frames_again": first,
        }
    told = {
        "before_came_frames": 300,
        "before_rule_frames": 300,
        "after_came_frames": 310,
        "after_rule_frames": 310,
        "wrong_rule_frames": 0,
        "sent_frames": 900,
        "counted_frames": 900,
        "came_frames": 900 - lost,
        "stopped_frames": lost,
        "stale_frames": 0,
    }
    made = Life(
        asked_ns=asked,
        steps=steps,
        ready_ns=first + 3 * MS,
        not_before_ns=first - MS,
        first_frame_ns=first,
        last_frame_ns=first - 2 * MS,
        offered_frames=500,
        received_frames=500 - lost,
        told=told | ({"came_when_flushed_frames": 0} if lost else {}),
    )
    return replace(made, **changes)


def there_and_back(lost: int = 0, **changes) -> ActsResult:
    return ActsResult(lives=(replace(exchanged(lost), **changes), exchanged(lost, 3000)), wall_ns=10_000 * MS)


def at(lost: int = 0, **steps: int | None) -> dict:
    changed = {**exchanged(lost).steps, **{name: ms and ms * MS for name, ms in steps.items()}}
    return {"steps": {name: ns for name, ns in changed.items() if ns is not None}}


def figures(lost: int = 0, **told: int | None) -> dict:
    changed = {**exchanged(lost).told, **told}
    return {"told": {name: count for name, count in changed.items() if count is not None}}


def asked(planned=ATOMIC, number: int = 1):
    return replace(planned.spec, number=number)


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (
            figures(before_came_frames=301),
            Validity.INCONSISTENT,
            "before_came_frames is 301",
        ),
        (
            figures(after_came_frames=311),
            Validity.INCONSISTENT,
            "after_came_frames is 311",
        ),
        (figures(before_came_frames=299), Validity.VALID, ""),  # lost behind the rules
        (
            figures(wrong_rule_frames=1),
            Validity.INCONSISTENT,
            "1 frames were counted by another",
        ),
        (figures(counted_frames=901), Validity.INCONSISTENT, "counted_frames is 901, sent_frames 900"),
        (figures(counted_frames=899), Validity.INCONSISTENT, "came_frames is 900, counted_frames 899"),
        (figures(stopped_frames=1), Validity.INCONSISTENT, "1 frames stopped and 900 came, 900 were counted"),
        (figures(stopped_frames=None), Validity.VALID, ""),
        (figures(stale_frames=None), Validity.INCOMPLETE, "stale_frames is not told"),
        (figures(stale_frames=7), Validity.VALID, ""),  # the function's own doing, and an answer
        (at(table_flushed=55), Validity.INCONSISTENT, "by atomic, with steps at"),
        (at(table_loaded=59), Validity.INCONSISTENT, "by atomic, with steps at"),
        ({"received_frames": 499}, Validity.INCOMPLETE, "1 frames were lost, and it was not seen"),
        (
            {"first_frame_ns": None, "not_before_ns": None},
            Validity.INCOMPLETE,
            "no frame came out",
        ),
        ({"not_before_ns": 138 * MS}, Validity.INCOMPLETE, "12.0 ms before the first frame came none was"),
        (figures(**LOAD), Validity.INCONSISTENT, "a load beside, asked for ''"),
    ],
)
def test_an_exchange_is_held_against_what_its_function_counts(changes, validity, said) -> None:
    found = ACTS.assessed(asked(), there_and_back(**changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (at(90, table_flushed=None), Validity.INCONSISTENT, "by flush-first, with steps at"),
        (at(90, table_flushed=61), Validity.INCONSISTENT, "by flush-first, with steps at"),
        (at(90, frames_again=None), Validity.INCONSISTENT, "loss began and ended at"),
        (figures(90, came_when_flushed_frames=2), Validity.INCONSISTENT, "let 2 frames through after it was"),
        (figures(90, stopped_frames=91), Validity.INCONSISTENT, "91 frames stopped and 810 came"),
        (figures(90, stopped_frames=80), Validity.VALID, ""),  # the others were lost elsewhere
    ],
)
def test_what_was_flushed_lets_nothing_through(changes, validity, said) -> None:
    found = ACTS.assessed(asked(FLUSHED), there_and_back(90, **changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_each_way_to_exchange_is_a_cell_of_its_own_that_a_run_s_files_name() -> None:
    assert [one.cell.cell_id for one in PROFILE.plan()] == [
        f"{of}/2x/1000-entries/{how}"
        for of in (
            "node/firewall/none/exchange_filters",
            "pvp/firewall/bridge/exchange_filters",
            "switch/ovs-netdev/none/exchange_flows",
        )
        for how in ("atomic", "flush-first", "atomic/half-load")
    ]
    for one in PROFILE.plan():
        axes = {name: getattr(one.cell, name) for name in ("path", "hosting", "function", "network")} | {
            "axes": dict(one.cell.axes)
        }
        assert ACTS.cell(axes) == one.cell
        assert ACTS.spec_type.from_builtins(asked(one).as_builtins()) == asked(one)


def test_a_firewall_is_deployed_with_as_many_rules_as_are_exchanged() -> None:
    assert profile.of_frames(ATOMIC).axes == (("functions.firewall.rules", 1000),)
    assert profile.of_frames(FLOWS).axes == ()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("exchanges", {"mode": "pre-copy"}),
        ("exchanges", {"mode": None}),
        ("exchanges", {"entries": None}),
        ("exchanges", {"entries": 0}),
        ("exchanges", {"mode": "at-once"}),
        ("moves", {"mode": "atomic"}),
        ("moves", {"entries": 10}),
    ],
)
def test_a_way_that_an_act_does_not_have_is_refused(name, changes) -> None:
    odd = copy.deepcopy(dict(profile.PROFILES.load(name).data))
    mine = odd["experiments"][0] | changes
    odd["experiments"][0] = {key: value for key, value in mine.items() if value is not None}
    assert profile.PROFILES.wrong(odd)


def test_the_answer_of_exchanges_has_their_time_and_what_they_lost() -> None:
    done = [ACTS.tried(seq, asked(FLUSHED, seq), there_and_back(80 + seq)) for seq in range(1, 8)]
    outcome = ACTS.answered(FLUSHED, done)
    found = {one.metric: one.number for one in outcome.values}
    units = {one.metric: one.unit for one in outcome.values}
    assert found["filter_exchange.mean"] == 100 * MS
    assert found["filter_exchange.outage.median"] == 93 * MS
    assert found["filter_exchange.lost_frames.median"] == 84
    assert found["filter_exchange.table_flushed.median"] == 8 * MS
    assert found["filter_exchange.stopped_frames.median"] == 84
    assert units["filter_exchange.stale_frames.median"] == "frames"
    line = ActsBench.__new__(ActsBench).line(outcome)
    assert "by the new configuration after 100.0 ms" in line
    assert "outage 93.0 ms" in line
    assert "84 frames lost" in line


def test_a_switch_may_let_frames_through_after_it_has_said_that_its_flows_are_flushed() -> None:
    """Open vSwitch confirms before its datapath follows: what came then is a figure."""
    flows = next(
        one for one in PROFILE.plan() if one.cell.path == "switch" and one.spec.mode == "flush-first"
    )
    told = figures(90, came_when_flushed_frames=2, stopped_frames=None)
    assert ACTS.assessed(asked(flows), there_and_back(90, **told)).validity is Validity.VALID
