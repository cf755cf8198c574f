"""What the life of pods proves, what a cell's answer says, and which profile can be planned by."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Life
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.registry import kind
from bmwg.methodology.record.drift import Change
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.compare.comparison import headline_of
from bmwg.resources.kinds.acts.bench import ActsBench
from bmwg.schemas.validation import problems

QUICK = profile.PROFILES.load("quick")
PLAN = QUICK.plan()
START = next(one for one in PLAN if one.test_id == "LC-START-1")
CHURN = next(one for one in PLAN if one.test_id == "LC-CHURN-1")
MS = 1_000_000


def life(start_ms: int = 1500, asked_ms: int = 50, **changes) -> Life:
    """A pod that forwards so long after the request, is removed 100 ms later and gone after 600 ms."""
    asked = asked_ms * MS
    first = asked + start_ms * MS
    made = Life(
        asked_ns=asked,
        steps={"pod_asked": asked + 10 * MS, "container_running": first - 100 * MS},
        ready_ns=first - 50 * MS,
        not_before_ns=first - 3 * MS,
        first_frame_ns=first,
        removal_steps={"networks_detached": first + 500 * MS},
        remove_asked_ns=first + 100 * MS,
        last_frame_ns=first + 300 * MS,
        removed_ns=first + 700 * MS,
        offered_frames=400,
        received_frames=140,
    )
    return replace(made, **changes)


def result(start_ms: int = 1500, cycles: int = 1, **changes) -> ActsResult:
    each_ms = start_ms + 800
    lives = tuple(life(start_ms, 50 + number * each_ms) for number in range(cycles))
    if changes:
        lives = (replace(lives[0], **changes), *lives[1:])
    return ActsResult(lives=lives, wall_ns=(100 + cycles * each_ms) * MS)


def spec(planned=START, number: int = 1):
    return replace(planned.spec, number=number)


@pytest.mark.parametrize(
    ("changes", "validity", "said"),
    [
        ({}, Validity.VALID, ""),
        (
            {"first_frame_ns": None, "received_frames": 0},
            Validity.INCOMPLETE,
            "no frame came out within 120 s",
        ),
        ({"removed_ns": None}, Validity.INCOMPLETE, "was not removed"),
        ({"not_before_ns": None}, Validity.INCOMPLETE, "offered in vain"),
        ({"not_before_ns": 1200 * MS}, Validity.INCOMPLETE, "for 350.0 ms before the first frame came none"),
        ({"not_before_ns": 1600 * MS}, Validity.INCONSISTENT, "the frame before the first"),
        ({"received_frames": 401}, Validity.INCONSISTENT, "401 frames came, 400 were offered"),
        ({"bypassed_frames": 261}, Validity.INCONSISTENT, "401 frames came, 400 were offered"),
        ({"received_frames": 0}, Validity.INCONSISTENT, "0 frames came, the first at"),
        ({"remove_asked_ns": 1000 * MS}, Validity.INCONSISTENT, "the request to remove it"),
        ({"removed_ns": 90_000 * MS}, Validity.INCONSISTENT, "it lasted"),
        ({"steps": {"pod_asked": 3 * MS}}, Validity.INCONSISTENT, "outside of its life"),
        ({"removal_steps": {"gone": 60 * MS}}, Validity.INCONSISTENT, "gone at 60000000 ns is outside"),
        ({"last_frame_ns": 10 * MS}, Validity.INCONSISTENT, "before the first"),
    ],
)
def test_an_execution_is_valid_only_when_its_moments_follow_each_other(changes, validity, said) -> None:
    found = ACTS.assessed(spec(), result(**changes))
    assert found.validity is validity
    assert said in found.reason


def test_a_fault_and_a_pod_too_few_are_told() -> None:
    assert ACTS.assessed(spec(), ActsResult(faults=("POD-01 gone",))).validity is Validity.FAULT
    found = ACTS.assessed(spec(CHURN), result(cycles=4))
    assert (found.validity, found.reason) == (Validity.INCOMPLETE, "4 of 5 pods were made")


def values(outcome) -> dict[str, float]:
    return {one.metric: one.number for one in outcome.values}


def test_the_answer_has_the_mean_the_median_with_its_interval_and_each_step() -> None:
    starts = (1500, 1510, 1520, 1530, 1540, 1550, 3000)
    done = [ACTS.tried(seq, spec(number=seq), result(ms)) for seq, ms in enumerate(starts, start=1)]
    outcome = ACTS.answered(START, done)
    assert outcome.type is OutcomeType.MEASURED
    told = values(outcome)
    assert told["pod_start.repetitions"] == 7
    assert told["pod_start.mean"] == pytest.approx(sum(starts) / 7 * MS)
    assert told["pod_start.median"] == 1530 * MS
    # of seven, second and second last cover the median with 87.5 % only: it is the whole range
    assert (told["pod_start.median_low"], told["pod_start.median_high"]) == (1500 * MS, 3000 * MS)
    assert told["pod_start.median_covers"] == pytest.approx(0.984375)
    assert told["pod_start.pod_asked.median"] == 10 * MS
    assert told["pod_start.container_running.median"] == 1430 * MS
    assert told["pod_start.removal.median"] == 600 * MS
    assert told["pod_start.removal.networks_detached.median"] == 400 * MS


def test_churn_is_pods_per_second_from_the_first_request_until_the_last_is_gone() -> None:
    done = [ACTS.tried(seq, spec(CHURN, seq), result(1500, cycles=5)) for seq in range(1, 8)]
    told = values(ACTS.answered(CHURN, done))
    took_s = (4 * 2300 + 2200) / 1000
    assert told["pod_churn.mean"] == pytest.approx(5 / took_s)
    assert told["pod_churn.start.median"] == 1500 * MS


def test_lives_of_one_execution_are_one_value_of_the_interval_of_a_median() -> None:
    """Fifteen lives of three executions made an interval of fifteen independent values."""
    done = [ACTS.tried(seq, spec(CHURN, seq), result(1500 + seq, cycles=5)) for seq in range(1, 4)]
    three = replace(CHURN, asked=replace(CHURN.asked, wanted=3, least=3))
    told = values(ACTS.answered(three, done))
    assert told["pod_churn.start.median_covers"] == 0.75
    assert (told["pod_churn.start.median_low"], told["pod_churn.start.median_high"]) == (1501 * MS, 1503 * MS)


def test_too_few_valid_ones_are_no_answer() -> None:
    done = [ACTS.tried(seq, spec(number=seq), result(not_before_ns=None)) for seq in range(1, 4)]
    outcome = ACTS.answered(START, done)
    assert (outcome.type, outcome.values) == (OutcomeType.INVALID, ())
    assert "0 of 5 repetitions are valid" in outcome.reason


def test_spec_and_result_keep_to_the_schema_and_are_read_back() -> None:
    body = ACTS.body_of(spec(), result(), {})
    assert problems({"spec": body.spec, "result": body.result}, "acts") == []
    assert (ACTS.spec_of(body), ACTS.result_of(body)) == (spec(), result())


def execution(body, **changes) -> Execution:
    told = {
        "seq": 1,
        "cell_id": START.cell.cell_id,
        "deployment_id": "acts-pvp-bridge-1",
        "metric": START.metric,
        "test_id": START.test_id,
        "phase": "measured",
        "validity": Validity.VALID,
        "reason": "",
        "at": "2026-11-23T00:00:00Z",
        "body": body,
    }
    return Execution(**{**told, **changes})


def test_an_execution_that_the_profile_does_not_ask_for_is_told() -> None:
    good = execution(ACTS.body_of(spec(), result(), {}))
    assert ACTS.not_as_planned(QUICK.data, good) is None
    slow = execution(ACTS.body_of(replace(spec(), interval_us=9000), result(), {}))
    assert "interval_us" in ACTS.not_as_planned(QUICK.data, slow)[0]
    assert ACTS.not_as_planned(QUICK.data, replace(good, cell_id="pvp/other"))[1] == "pvp/other"
    assert ACTS.not_as_planned(QUICK.data, replace(good, test_id="LC-CHURN-1"))[1].startswith("LC-CHURN-1")
    assert ACTS.not_as_planned(QUICK.data, replace(good, phase="warm"))[1] == "warm"


def test_what_changed_on_the_ground_makes_the_answer_invalid() -> None:
    lines = [execution(ACTS.body_of(spec(number=seq), result(), {}), seq=seq) for seq in range(1, 8)]
    stated = ACTS.answered(START, [ACTS.retried(one) for one in lines])
    assert ACTS.answer(QUICK.data, stated, lines, ()) == stated
    left = Change(path="nodes.dut1.nic.cni0", before="absent", after="there")
    found = ACTS.answer(QUICK.data, stated, lines, (left,))
    assert (found.type, found.values) == (OutcomeType.INVALID, ())
    assert "cni0" in found.reason


def test_a_cell_is_read_back_from_its_axes_and_each_is_planned_once() -> None:
    for one in PLAN:
        cell = one.cell
        told = {name: getattr(cell, name) for name in ("path", "hosting", "function", "network")}
        assert ACTS.cell({**told, "axes": dict(cell.axes)}) == cell
    with pytest.raises(ValueError, match="axes"):
        ACTS.cell({**told, "axes": {"cycles": 1}})
    ids = [one.cell.cell_id for one in PLAN]
    assert len(ids) == len(set(ids))
    assert kind("acts", "here") is ACTS


@pytest.mark.parametrize(
    ("change", "found"), [({"repetitions": 0}, "repetitions"), ({"more": 1}, "more"), ({"path": 3}, "path")]
)
def test_a_profile_that_cannot_be_planned_by_is_told(change, found) -> None:
    assert found in profile.PROFILES.wrong({**copy.deepcopy(dict(QUICK.data)), **change})
    twice = copy.deepcopy(dict(QUICK.data))
    twice["experiments"] *= 2
    assert "twice" in profile.PROFILES.wrong(twice)


def test_an_unknown_profile_names_a_near_one() -> None:
    with pytest.raises(ConfigError, match="APROF-01") as caught:
        profile.PROFILES.load("quik")
    assert "quick" in caught.value.hint


CLOUD = profile.PROFILES.load("cloud")
SERVER, BATCH = CLOUD.plan()


def pair(second_ms: int = 1900, **changes) -> ActsResult:
    """Two servers, asked for 20 ms apart; the second forwards after so long."""
    lives = (life(1500, 50), replace(life(second_ms, 70), **changes))
    return ActsResult(lives=lives, wall_ns=4000 * MS)


def test_servers_have_a_path_a_hosting_and_metrics_of_their_own() -> None:
    assert [(one.test_id, one.metric) for one in (SERVER, BATCH)] == [
        ("LC-START-2", "server_start"),
        ("LC-BATCH-1", "server_batch"),
    ]
    assert {(one.cell.path, one.cell.hosting) for one in (SERVER, BATCH)} == {("pvp-vm", "vm")}
    for one in (SERVER, BATCH):
        told = {name: getattr(one.cell, name) for name in ("path", "hosting", "function", "network")}
        assert ACTS.cell({**told, "axes": dict(one.cell.axes)}) == one.cell
    told["hosting"] = "pod"
    with pytest.raises(ValueError, match="hosting: expected vm"):
        ACTS.cell({**told, "axes": dict(BATCH.cell.axes)})
    with pytest.raises(ValueError, match=r"found server_batc \(near server_batch\)"):
        ACTS.cell({**told, "hosting": "vm", "axes": {**dict(BATCH.cell.axes), "experiment": "server_batc"}})


def test_servers_at_once_may_overlap_and_one_after_the_other_may_not() -> None:
    at_once = spec(BATCH)
    assert at_once.at_once == 2
    assert ACTS.assessed(at_once, pair()).validity is Validity.VALID
    in_turn = replace(at_once, at_once=1)
    found = ACTS.assessed(in_turn, pair())
    assert found.validity is Validity.INCONSISTENT
    assert "server 2: the request at 70000000 ns" in found.reason
    # a third that was asked for before the first two were gone
    third = ActsResult(lives=(*pair().lives, life(1500, 80), life(1500, 9000)), wall_ns=20_000 * MS)
    assert ACTS.assessed(replace(at_once, cycles=4), third).validity is Validity.INCONSISTENT


def test_a_batch_lasts_from_the_first_request_until_the_last_forwards() -> None:
    done = [ACTS.tried(seq, spec(BATCH, seq), pair()) for seq in range(1, 6)]
    told = values(ACTS.answered(BATCH, done))
    assert told["server_batch.mean"] == (70 + 1900 - 50) * MS
    assert told["server_batch.repetitions"] == 5
    assert told["server_batch.start.median"] == pytest.approx((1500 + 1900) / 2 * MS)
    assert told["server_batch.removal.median"] == 600 * MS
    silent = pair(first_frame_ns=None, received_frames=0, not_before_ns=None, last_frame_ns=None)
    assert silent.batch_ns is None
    assert "server 2: no frame came out within 300 s" in ACTS.assessed(spec(BATCH), silent).reason


def test_a_batch_keeps_to_the_schema_and_an_older_line_is_one_at_a_time() -> None:
    body = ACTS.body_of(spec(BATCH), pair(), {})
    assert problems({"spec": body.spec, "result": body.result}, "acts") == []
    assert (ACTS.spec_of(body), ACTS.result_of(body)) == (spec(BATCH), pair())
    older = {name: value for name, value in spec().as_builtins().items() if name != "at_once"}
    assert type(spec()).from_builtins(older) == spec()


def test_a_profile_whose_servers_do_not_fit_or_whose_path_nobody_knows_is_told() -> None:
    odd = copy.deepcopy(dict(CLOUD.data))
    odd["experiments"][1]["cycles"] = 3
    assert "multiple of at_once" in profile.PROFILES.wrong(odd)
    odd = {**copy.deepcopy(dict(CLOUD.data)), "path": "wire"}
    assert "p2p or pvp or pvp-moving or pvp-service" in profile.PROFILES.wrong(odd)


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


def test_a_hundred_pods_in_a_row_are_one_execution_whose_answer_has_a_rate_and_no_spread() -> None:
    (planned,) = profile.PROFILES.load("churn").plan()
    assert (planned.spec.cycles, planned.asked.wanted) == (100, 1)
    asked = replace(planned.spec, number=1)
    outcome = ACTS.answered(planned, [ACTS.tried(1, asked, result(1500, cycles=100))])
    assert outcome.type is OutcomeType.MEASURED
    assert values(outcome)["pod_churn.mean"] == pytest.approx(100 / (99 * 2.3 + 2.2))
    assert (
        ActsBench.__new__(ActsBench).line(outcome)
        == "measured  26.10 pods made and removed per minute (n = 1)"
    )


def test_a_thousand_policies_stand_behind_a_profile_of_their_own() -> None:
    (planned,) = profile.PROFILES.load("policies").plan()
    assert planned.spec.policies == 1000
    assert planned.cell.cell_id == "p2p/none/ptp/policy/5x/1000-others"


(DRAIN,) = [one for one in PLAN if one.test_id == "LC-DRAIN-1"]


def drained(outage_ms: int = 800, at_ms: int = 50, **changes) -> Life:
    """A drain that loses frames from 20 ms after the request on; a frame is offered each millisecond."""
    asked, stops = at_ms * MS, (at_ms + 20) * MS
    again = stops + outage_ms * MS
    steps = {
        "eviction_accepted": asked + 5 * MS,
        "pod_ready": again - 100 * MS,
        "last_before_loss": stops - MS,
        "frames_stopped": stops,
        "frames_again": again,
    }
    made = Life(
        asked_ns=asked,
        steps=steps,
        not_before_ns=again - MS,
        first_frame_ns=again,
        last_frame_ns=stops,
        remove_asked_ns=again + 1000 * MS,
        removed_ns=again + 1005 * MS,
        offered_frames=1800,
        received_frames=1800 - outage_ms,
    )
    return replace(made, **changes)


def both_ways(outage_ms: int = 800, **changes) -> ActsResult:
    lives = (replace(drained(outage_ms), **changes), drained(outage_ms, 5000))
    return ActsResult(lives=lives, wall_ns=10_000 * MS)


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
    assert "back: outage 300.0 ms (300.0 to 300.0), median, 300 frames lost, first frame by the" in line


def test_pods_that_overlap_are_counted_until_the_last_of_them_is_gone() -> None:
    first, last = life(1500, 50), life(1500, 60)
    slow = replace(first, removed_ns=first.removed_ns + 900 * MS)
    found = ActsResult(lives=(slow, last), wall_ns=9000 * MS)
    assert found.took_ns == slow.removed_ns - slow.asked_ns
    assert found.cycles_per_s == pytest.approx(2e9 / found.took_ns)
    assert replace(found, lives=(replace(slow, removed_ns=None), last)).took_ns is None


def test_a_batch_is_one_whose_time_holds_no_removal() -> None:
    odd = copy.deepcopy(dict(QUICK.data))
    several = next(one for one in odd["experiments"] if one.get("at_once") == 4)
    several["cycles"] = 8
    found = profile.PROFILES.wrong(odd)
    assert "expected one batch, whose time is the answer, found cycles 8, at_once 4" in found
