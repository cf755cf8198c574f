"""What the life of pods proves, what a cell's answer says, and which profile can be planned by."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from tests.unit.acts.lives import MS, PLAN, QUICK, START, life, result, spec, values

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.registry import kind
from bmwg.methodology.record.drift import Change
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.resources.kinds.acts.bench import ActsBench
from bmwg.schemas.validation import problems

CHURN = next(one for one in PLAN if one.test_id == "LC-CHURN-1")


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


def test_pods_that_overlap_are_counted_until_the_last_of_them_is_gone() -> None:
    first, last = life(1500, 50), life(1500, 60)
    slow = replace(first, removed_ns=first.removed_ns + 900 * MS)
    found = ActsResult(lives=(slow, last), wall_ns=9000 * MS)
    assert found.took_ns == slow.removed_ns - slow.asked_ns
    assert found.cycles_per_s == pytest.approx(2e9 / found.took_ns)
    assert replace(found, lives=(replace(slow, removed_ns=None), last)).took_ns is None
