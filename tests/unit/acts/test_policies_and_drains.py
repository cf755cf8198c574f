"""Policies of pods and drains of nodes: when they are valid, and what the answer says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.acts.lives import MS, PLAN, both_ways, drained, values

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Life
from bmwg.methodology.records import Validity
from bmwg.reports.compare.samples import headline_of
from bmwg.resources.kinds.acts.bench import ActsBench

POLICY = next(one for one in PLAN if one.test_id == "LC-POLICY-1" and one.spec.policies == 100)


def stopped(delay_ms: int = 60, at_ms: int = 50, **changes) -> Life:
    """A policy by which frames stop so long after the request, lifted a second later, within 40 ms."""
    asked, first = at_ms * MS, (at_ms + delay_ms) * MS
    made = Life(
        asked_ns=asked,
        steps={"api_accepted": asked + 5 * MS, "rules_written": first - MS},
        not_before_ns=first - 2 * MS,
        first_frame_ns=first,
        last_frame_ns=first - MS,
        remove_asked_ns=first + 1000 * MS,
        removed_ns=first + 1040 * MS,
        removal_steps={"delete_accepted": first + 1004 * MS},
        offered_frames=1000,
        received_frames=60,
    )
    return replace(made, **changes)


def lifted(delay_ms: int = 60, **changes) -> ActsResult:
    """As many as a cell has cycles, one after the other."""
    lives = [stopped(delay_ms, 50 + 2000 * number) for number in range(POLICY.spec.cycles)]
    lives[0] = replace(lives[0], **changes)
    return ActsResult(lives=tuple(lives), wall_ns=2000 * MS * (POLICY.spec.cycles + 1))


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        ({"received_frames": 0}, Validity.VALID, ""),  # none came after the request, nor before the end
        ({"first_frame_ns": None}, Validity.INCOMPLETE, "policy 1: no frame was stopped within 30 s"),
        ({"removed_ns": None}, Validity.INCOMPLETE, "policy 1 was not removed"),
        ({"not_before_ns": 60 * MS}, Validity.INCOMPLETE, "policy 1: for 50.0 ms"),
        ({"not_before_ns": 40 * MS}, Validity.INCONSISTENT, "policy 1: the frame before the first"),
        ({"remove_asked_ns": 100 * MS}, Validity.INCONSISTENT, "policy 1: the request to remove it"),
    ],
)
def test_a_policy_is_in_force_from_the_first_frame_that_it_stops(changes, validity, said) -> None:
    found = ACTS.assessed(replace(POLICY.spec, number=1), lifted(**changes))
    assert (found.validity, said in found.reason) == (validity, True)


def test_the_answer_of_policies_is_their_delay_and_that_of_lifting_them() -> None:
    done = [ACTS.tried(seq, replace(POLICY.spec, number=seq), lifted(60 + seq)) for seq in range(1, 8)]
    told = values(ACTS.answered(POLICY, done))
    assert told["policy_programming.median"] == 64 * MS
    assert told["policy_programming.removal.median"] == 40 * MS
    assert told["policy_programming.rules_written.median"] == 63 * MS
    assert "in force after 64.0 ms" in ActsBench.__new__(ActsBench).line(ACTS.answered(POLICY, done))
    assert POLICY.cell.cell_id == "p2p/none/ptp/policy/5x/100-others"
    assert dict(POLICY.cell.axes)["policies"] == 100


def test_a_thousand_policies_stand_behind_a_profile_of_their_own() -> None:
    (planned,) = profile.PROFILES.load("policies").plan()
    assert planned.spec.policies == 1000
    assert planned.cell.cell_id == "p2p/none/ptp/policy/5x/1000-others"


(DRAIN,) = [one for one in PLAN if one.test_id == "LC-DRAIN-1"]


def but(**steps: int | None) -> dict:
    """Steps of a drain, some at another time (ms) or not there."""
    changed = {**drained().steps, **{name: at and at * MS for name, at in steps.items()}}
    return {"steps": {name: at for name, at in changed.items() if at is not None}}


NO_LOSS = {**but(last_before_loss=None, frames_stopped=None, frames_again=None), "received_frames": 1800}


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (NO_LOSS, Validity.VALID, ""),
        ({"first_frame_ns": None, "not_before_ns": None}, Validity.INCOMPLETE, "drain 1: no frame came out"),
        ({"removed_ns": None}, Validity.INCOMPLETE, "drain 1 was not removed"),
        (
            but(last_before_loss=None, frames_stopped=None, frames_again=None),
            Validity.INCOMPLETE,
            "800 frames were lost, and it was not seen until when",
        ),
        (
            but(last_before_loss=60, frames_stopped=150),
            Validity.INCOMPLETE,
            "for 90.0 ms before the first lost",
        ),
        (but(frames_again=60), Validity.INCONSISTENT, "drain 1: loss began and ended at"),
        (but(last_before_loss=None), Validity.INCONSISTENT, "drain 1: loss began and ended at"),
        ({"received_frames": 1800}, Validity.INCONSISTENT, "an outage in which 0 frames were lost"),
        ({"not_before_ns": 400 * MS}, Validity.INCOMPLETE, "drain 1: for 470.0 ms"),
    ],
)
def test_a_drain_is_an_outage_whose_begin_and_end_are_seen(changes, validity, said) -> None:
    found = ACTS.assessed(replace(DRAIN.spec, number=1), both_ways(**changes))
    assert (found.validity, said in found.reason) == (validity, True), found.reason


def test_the_answer_of_drains_is_their_outage_beside_the_frames_that_were_lost() -> None:
    done = [ACTS.tried(seq, replace(DRAIN.spec, number=seq), both_ways(800 + seq)) for seq in range(1, 8)]
    outcome = ACTS.answered(DRAIN, done)
    told = values(outcome)
    assert told["node_drain.median"] == 804 * MS
    assert told["node_drain.lost_frames.median"] == 804
    assert told["node_drain.first_frame.median"] == 824 * MS
    assert told["node_drain.eviction_accepted.median"] == 5 * MS
    units = {value.metric.partition("lost_frames.")[2]: value.unit for value in outcome.values}
    assert [units[name] for name in ("median", "median_low", "median_covers")] == [
        "frames",
        "frames",
        "ratio",
    ]
    assert "node_drain.removal.median" not in told
    assert "outage 804.0 ms" in ActsBench.__new__(ActsBench).line(outcome)
    assert "804 frames lost" in ActsBench.__new__(ActsBench).line(outcome)
    assert DRAIN.cell.cell_id == "pvp-service/udp-relay/none/drain/2x"
    assert headline_of(outcome) == ("node_drain.mean", "node_drain.back.mean")
    lossless = both_ways(**NO_LOSS)
    second = replace(lossless.lives[1], received_frames=1800, steps={})
    lossless = replace(lossless, lives=(lossless.lives[0], second))
    silent = [ACTS.tried(seq, replace(DRAIN.spec, number=seq), lossless) for seq in range(1, 8)]
    assert values(ACTS.answered(DRAIN, silent))["node_drain.median"] == 0


def test_a_drain_and_its_way_back_have_an_outage_of_their_own() -> None:
    def turned(seq: int) -> ActsResult:
        return ActsResult(lives=(drained(800 + seq), drained(300, 5000)), wall_ns=10_000 * MS)

    done = [ACTS.tried(seq, replace(DRAIN.spec, number=seq), turned(seq)) for seq in range(1, 8)]
    assert [one.problems for one in done] == [()] * 7
    outcome = ACTS.answered(DRAIN, done)
    told = values(outcome)
    assert (told["node_drain.mean"], told["node_drain.median"]) == (804 * MS, 804 * MS)
    assert (told["node_drain.back.mean"], told["node_drain.back.median"]) == (300 * MS, 300 * MS)
    assert (told["node_drain.lost_frames.median"], told["node_drain.back.lost_frames.median"]) == (804, 300)
    assert told["node_drain.back.first_frame.median"] == 320 * MS
    line = ActsBench.__new__(ActsBench).line(outcome)
    lost = "300 frames lost"
    assert f"back: outage 300.0 ms (300.0 to 300.0), median, {lost}, first frame by the" in line
