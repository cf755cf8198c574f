"""Repetitions of any kind of load: when it is enough, and what may be concluded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bmwg.methodology.answers.repeated import (
    Repetitions,
    Tried,
    alike,
    answered,
    deployed,
    deployments,
    of_repetitions,
    percentiles,
    quantities,
    repeated,
)
from bmwg.methodology.answers.student import interval
from bmwg.methodology.records import OutcomeType

ASKED = Repetitions(wanted=5, least=3, max_invalid=2, limit_s=60.0)
INDEPENDENT = "its interval covers 95 % where repetitions are independent, and is"


def measurer(*problems: str) -> Iterator[Tried[float]]:
    """Repetitions with these problems (empty: valid), and valid ones for ever after them."""
    number = 0
    for number, problem in enumerate(problems, start=1):
        yield Tried(seq=number, result=float(number), problems=(problem,) if problem else ())
    while True:
        number += 1
        yield Tried(seq=number, result=float(number))


def run(*problems: str, took_s: float = 0.0, asked: Repetitions = ASKED):
    source = measurer(*problems)
    return repeated(lambda: next(source), asked, lambda: took_s)


def test_as_many_valid_ones_as_are_wanted_are_run_and_no_more() -> None:
    found = run()
    assert found.type is OutcomeType.MEASURED
    assert found.trials == (1, 2, 3, 4, 5)
    assert [one.result for one in found.valid] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert found.quality == ()


def test_invalid_ones_are_repeated_kept_by_number_and_told() -> None:
    found = run("lost", "", "lost")
    assert found.type is OutcomeType.MEASURED
    assert found.trials == tuple(range(1, 8))
    assert [one.seq for one in found.valid] == [2, 4, 5, 6, 7]
    assert found.quality == ("2 of 7 repetitions were invalid and set aside: lost",)


def test_too_many_invalid_ones_end_it_with_their_reasons_once_each() -> None:
    found = run("lost", "", "late", "lost")
    assert found.type is OutcomeType.INVALID
    assert found.trials == (1, 2, 3, 4)
    assert found.reason == "1 of 3 repetitions are valid: lost; late"


def test_more_invalid_ones_than_allowed_leave_no_answer_of_the_valid_ones() -> None:
    """It was MEASURED, of the half that was left."""
    found = run("", "", "", "lost", "late", "lost")
    assert found.type is OutcomeType.INVALID
    assert found.trials == (1, 2, 3, 4, 5, 6)
    assert found.reason == "3 of 6 repetitions were invalid, more than 2: lost; late"


def test_a_cell_whose_time_is_over_ends_with_the_least_and_says_so() -> None:
    found = run(took_s=61.0)
    assert found.trials == (1, 2, 3)
    assert found.quality == ("3 valid repetitions of the 5 that were planned",)


def test_without_a_limit_of_time_fewer_than_wanted_are_no_answer() -> None:
    """They were MEASURED where a deployment broke, and VER-54 then refused the run."""
    endless = Repetitions(wanted=5, least=3, max_invalid=2)
    source = measurer("", "lost")
    found = answered([next(source) for _ in range(5)], endless)
    assert (found.type, found.reason) == (OutcomeType.INVALID, "4 of 5 repetitions are valid: lost")
    found = answered([Tried(seq=number, result=0.0) for number in range(4)], endless)
    assert found.reason == "4 of 5 repetitions are valid: no further one was run"


def test_what_stands_already_is_not_run_again() -> None:
    source = measurer()
    done = [Tried(seq=number, result=0.0) for number in (11, 12, 13, 14)]
    found = repeated(lambda: next(source), ASKED, lambda: 0.0, done)
    assert found.trials == (11, 12, 13, 14, 1)


def test_nothing_that_was_run_is_no_answer() -> None:
    found = answered([], Repetitions(wanted=1, least=1, max_invalid=0))
    assert found.type is OutcomeType.INVALID
    assert found.reason == "0 of 1 repetitions are valid: none was run"


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"least": 0}, "least"), ({"least": 6}, "least"), ({"max_invalid": -1}, "max_invalid")],
)
def test_numbers_that_can_never_be_reached_are_refused(changes, found) -> None:
    with pytest.raises(ValueError, match=found):
        Repetitions(**({"wanted": 5, "least": 3, "max_invalid": 2} | changes))


def test_a_mean_is_told_with_its_interval_and_how_many_it_is_of() -> None:
    values = {one.metric: (one.number, one.unit) for one in quantities("m", interval([1.0, 2.0, 3.0]), "ns")}
    assert values["m.mean"] == (2.0, "ns")
    assert values["m.half_width_95"][0] == pytest.approx(4.303 / 3**0.5, rel=1e-3)  # t(0.975, 2) = 4.303
    assert values["m.repetitions"] == (3, "repetitions")
    assert [one.metric for one in quantities("m", interval([1.0]), "ns")] == ["m.mean", "m.repetitions"]


@pytest.mark.parametrize(
    ("deployments", "remark"),
    [
        ("aaaaa", (f"{INDEPENDENT} within one deployment",)),
        ("aabbb", (f"{INDEPENDENT} within 2 deployments",)),
        ("abcde", ()),
    ],
)
def test_an_interval_says_of_how_many_deployments_it_is(deployments: str, remark: tuple[str, ...]) -> None:
    """Where deployments differ as repetitions do, 95 % of one held the mean of all in 66 of 100 cases."""
    done = [
        Tried(seq=seq, result=float(seq), deployment=name) for seq, name in enumerate(deployments, start=1)
    ]
    assert answered(done, ASKED).quality == remark


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("aaaaa", "n = 5, if independent, within one deployment"),
        ("aabbb", "n = 5, if independent, within 2 deployments"),
        ("abcde", "n = 5"),
        ("a", "n = 1"),
        (("a", ""), "n = 2"),  # one of them does not tell its own
    ],
)
def test_what_stands_in_brackets_behind_a_mean_says_of_how_many_deployments_it_is(names, words) -> None:
    valid = [Tried(seq=seq, result=float(seq), deployment=name) for seq, name in enumerate(names)]
    found = (
        *quantities("m", interval([one.result for one in valid]), "ns"),
        *deployments("m", deployed(valid)),
    )
    told = {one.metric.removeprefix("m."): one.number for one in found}
    assert of_repetitions(told) == words
    assert of_repetitions(told, each="8 pods") == words.replace(str(len(valid)), f"{len(valid)} of 8 pods", 1)


def test_percentiles_stand_in_the_same_order_whatever_order_a_repetition_tells_them_in() -> None:
    told = {"p50": 5, "p99.99": 9, "max": 12, "min": 1}
    again = dict(sorted(told.items()))  # as a journal gives it back
    assert percentiles("m", [told, told]) == percentiles("m", [again, again])


def test_repetitions_that_follow_each_other_alike_are_remarked() -> None:
    assert alike([5.0, 4.0, 6.0, 5.0, 3.0, 6.0, 4.0, 5.0]) == ()
    assert alike([float(number) for number in range(7)]) == ()  # too few to tell
    assert alike([2.0] * 10) == ()
    (said,) = alike([float(number) for number in range(10)])  # a drift
    assert said == "each repetition is like the one before (correlation 0.95): its interval is too narrow"
