"""What trials prove for a goal: against RFC 9971 appendix C and against the MLRsearch package."""

import inspect
import random
import sys

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.mlrsearch.classify import (
    LoadClass,
    TrialOutput,
    conditional_throughput_fps,
    goal_result,
    sums,
)
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal, rfc2544_goal, tst009_goal
from bmwg.methodology.mlrsearch.package import package
from bmwg.methodology.trial.traffic import Traffic

LOAD = 1_000_000


def goal(final, whole, loss, exceed, width=0.005, first=1.0):
    return SearchGoal(
        name="made",
        goal_final_trial_duration_s=final,
        goal_duration_sum_s=whole,
        goal_loss_ratio=loss,
        goal_exceed_ratio=exceed,
        goal_width=width,
        goal_initial_trial_duration_s=min(first, final),
    )


def outputs(*groups, load=LOAD):
    made = []
    for count, duration, loss in groups:
        for _ in range(count):
            made.append(
                TrialOutput(
                    seq=len(made) + 1,
                    load_fps=load,
                    duration_s=float(duration),
                    loss_ratio=loss,
                    effective_duration_s=float(duration),
                )
            )
    return made


GOALS = (rfc2544_goal(), tst009_goal(), goal(1.0, 120.0, 0.005, 0.5), goal(60.0, 60.0, 0.005, 0.2))
SHORT = [(59, 1, 0.0), (1, 1, 0.01), (59, 1, 0.01), (1, 1, 0.0), (1, 60, 0.001), (1, 60, 0.0)]
U, L, D = LoadClass.UNDECIDED, LoadClass.LOWER_BOUND, LoadClass.UPPER_BOUND
# RFC 9971 appendix C.3: a row a point in time; per goal the class and both exceed ratios in percent.
# At points 5 and 6 the example calls the load a lower bound for goal 4, whose exceed ratio of 20 % both its
# ratios exceed; the normative code of appendix A says upper bound (docs/adr/0043).
EXAMPLE = [
    [(U, 0, 100), (U, 0, 100), (U, 0, 50.833), (U, 0, 100)],
    [(D, 1.667, 100), (U, 0, 100), (U, 0.833, 50.833), (U, 0, 100)],
    [(D, 100, 100), (U, 0.833, 100), (U, 50, 50.833), (D, 75.417, 100)],
    [(D, 100, 100), (U, 0, 100), (L, 50, 50), (D, 75, 100)],
    [(D, 100, 100), (U, 50, 100), (L, 33.333, 33.333), (D, 42.857, 42.857)],
    [(D, 66.667, 66.667), (L, 50, 50), (L, 25, 25), (D, 27.273, 27.273)],
]


@pytest.mark.parametrize("point", range(6))
@pytest.mark.parametrize("number", range(4))
def test_classes_and_ratios_of_the_appendix(point, number):
    found = sums(outputs(*SHORT[: point + 1]), GOALS[number])
    kind, optimistic, pessimistic = EXAMPLE[point][number]
    assert found.classify(GOALS[number]) is kind
    ratios = [round(100 * ratio, 3) for ratio in found.exceed_ratios(GOALS[number])]
    assert ratios == [optimistic, pessimistic]


@pytest.mark.parametrize(("number", "expected"), [(1, 1_000_000), (2, 1_000_000), (3, 999_000)])
def test_conditional_throughput_of_the_appendix(number, expected):
    assert conditional_throughput_fps(outputs(*SHORT), LOAD, GOALS[number]) == pytest.approx(expected)


def test_codes_are_those_of_the_appendix():
    assert [one.code for one in GOALS] == ["60f60d0l0e", "60f120d0l50e", "1f120d0.5l50e", "60f60d0.5l20e"]
    assert [one.rfc2544_grade for one in GOALS] == ["unconditional", "none", "none", "none"]
    assert goal(1.0, 1.0, 0.0, 0.0).rfc2544_grade == "conditional"


def test_the_package_is_loaded_by_frames_alone_and_inspect_is_itself_again(monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "MLRsearch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(inspect, "getmodule", None)  # what looks for sources
    whole = inspect.stack
    assert package().Config().min_load == 9001.0  # its own default, which its fields find by the stack
    assert inspect.stack is whole


def test_the_package_agrees_on_ten_thousand_random_loads():
    package()  # in the time that it takes a run to load it, and in one process of the tests
    from MLRsearch.target_spec import TargetSpec
    from MLRsearch.target_stat import TargetStat
    from MLRsearch.trial_measurement import MeasurementResult

    dice = random.Random(9971)
    for _ in range(10_000):
        one = goal(
            dice.choice([1.0, 2.0, 60.0]),
            dice.choice([60.0, 61.0, 120.0]),
            dice.choice([0.0, 0.005, 0.5]),
            dice.choice([0.0, 0.2, 0.5, 0.9]),
        )
        made = outputs(
            *[
                (1, dice.choice([1, 2, 60, 90]), dice.choice([0.0, 0.001, 0.005, 0.006, 1.0]))
                for _ in range(dice.randint(0, 12))
            ]
        )
        stat = TargetStat(
            TargetSpec(
                loss_ratio=one.goal_loss_ratio,
                exceed_ratio=one.goal_exceed_ratio,
                discrete_width=None,
                trial_duration=one.goal_final_trial_duration_s,
                duration_sum=one.goal_duration_sum_s,
                expansion_coefficient=2,
                fail_fast=False,
                preceding=None,
            )
        )
        for output in made:
            lost = round(output.loss_ratio * 1000)
            stat.add(
                MeasurementResult(
                    intended_duration=output.duration_s,
                    intended_load=LOAD,
                    offered_count=1000,
                    loss_count=lost,
                )
            )
        theirs = {(True, True): L, (False, False): D, (True, False): U}[stat.estimates()]
        assert sums(made, one).classify(one) is theirs
        if any(output.duration_s >= one.goal_final_trial_duration_s for output in made):
            expected = LOAD * (1 - stat.pessimistic_loss_ratio)
            assert conditional_throughput_fps(made, LOAD, one) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "good", "lossy"),
    [
        (goal(0.1, 0.3, 0.0, 0.0), 3, 0),
        (goal(0.1, 1.5, 0.0, 0.5), 8, 8),
        (goal(0.1, 2.0, 0.0, 0.5), 10, 1),
        (goal(0.2, 1.0, 0.0, 0.2), 4, 1),
    ],
)
def test_a_lower_bound_by_as_many_good_trials_as_needed_carries_what_these_did(one, good, lossy):
    final_s = one.goal_final_trial_duration_s
    made = outputs((good, final_s, 0.0), (lossy, final_s, 0.3))
    assert sums(made, one).classify(one) is L
    assert conditional_throughput_fps(made, LOAD, one) == LOAD


def test_without_upper_bound_there_is_no_relevant_lower_bound():
    found = goal_result(outputs((1, 60, 0.0)), rfc2544_goal(), max_load_fps=LOAD)
    assert (found.regular, found.relevant_lower_bound_fps, found.effective_lower_fps) == (False, None, LOAD)


def test_a_lower_bound_above_the_upper_bound_does_not_count():
    made = outputs((1, 60, 0.0), load=100) + outputs((1, 60, 0.1), load=200) + outputs((1, 60, 0.0), load=300)
    found = goal_result(made, goal(60.0, 60.0, 0.0, 0.0, width=0.6), max_load_fps=300)
    assert (found.relevant_lower_bound_fps, found.relevant_upper_bound_fps, found.regular) == (100, 200, True)
    wide = goal_result(made, rfc2544_goal(), max_load_fps=300)
    assert not wide.regular
    assert "0.5 of the upper one apart" in wide.reason


@pytest.mark.parametrize(
    ("change", "field", "clause"),
    [
        ({"goal_final_trial_duration_s": 0.0}, "goal_final_trial_duration_s", "4.6.1"),
        ({"goal_final_trial_duration_s": -1.0}, "goal_final_trial_duration_s", "4.6.1"),
        ({"goal_duration_sum_s": 0.0}, "goal_duration_sum_s", "4.6.2"),
        ({"goal_duration_sum_s": 30.0}, "goal_duration_sum_s", "4.6.2"),
        ({"goal_loss_ratio": 1.0}, "goal_loss_ratio", "4.6.3"),
        ({"goal_exceed_ratio": -0.1}, "goal_exceed_ratio", "4.6.4"),
        ({"goal_exceed_ratio": float("nan")}, "goal_exceed_ratio", "4.6.4"),
        ({"goal_width": 0.0}, "goal_width", "4.6.5"),
        ({"goal_initial_trial_duration_s": 61.0}, "goal_initial_trial_duration_s", "4.6.6"),
        ({"goal_initial_trial_duration_s": 0.0}, "goal_initial_trial_duration_s", "4.6.6"),
    ],
)
def test_contradicting_goals_are_refused_by_field_and_clause(change, field, clause):
    values = {
        "name": "made",
        "goal_final_trial_duration_s": 60.0,
        "goal_duration_sum_s": 60.0,
        "goal_loss_ratio": 0.0,
        "goal_exceed_ratio": 0.0,
    }
    with pytest.raises(ConfigError, match=r"^MLR-01 ") as refused:
        SearchGoal(**{**values, **change})
    assert f"{field} (RFC 9971 {clause})" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "field", "clause"),
    [
        ({"goals": ()}, "goals", "4.6.8"),
        ({"goals": (rfc2544_goal(), rfc2544_goal())}, "goals", "4.8.5"),
        ({"min_load_fps": 2_000_000}, "min_load_fps", "4.6.8.2"),
        ({"min_load_fps": 0}, "min_load_fps", "4.6.8.2"),
        ({"max_load_fps": 1_600_000, "medium_fps": 1_500_000}, "max_load_fps", "4.6.8.1"),
        ({"min_load_fps": 100}, "goals[0].goal_width", "4.6.5"),
        ({"goals": (goal(1.0, 1.0, 1e-9, 0.0),)}, "goals[0].goal_loss_ratio", "4.6.3"),
        ({"short_limit": 9}, "short_limit", "4.9.1"),
        ({"max_trials": 0}, "max_trials", "4.2.4"),
    ],
)
def test_contradicting_limits_are_refused_by_field_and_clause(change, field, clause):
    values = {
        "goals": (rfc2544_goal(),),
        "offer": Traffic(frame_octets=64),
        "min_load_fps": 10_000,
        "max_load_fps": 1_500_000,
    }
    with pytest.raises(ConfigError, match=r"^MLR-02 ") as refused:
        ControllerInput(**{**values, **change})
    assert f"{field} (RFC 9971 {clause})" in str(refused.value)
