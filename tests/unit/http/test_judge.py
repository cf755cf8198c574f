"""What makes a repetition no measurement, and when a cell has an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.http import made

from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult
from bmwg.methodology.records import Outcome, OutcomeType

SPEC = made.spec()
GOOD = made.result(SPEC, 1_000_000, request_ns={"p50": 900, "max": 2000}, hits=5, proxied=10)


def answered(*results: RequestsResult, wanted: int = 2) -> Outcome:
    """Answer a cell, of whose repetitions one may be invalid."""
    spec = made.spec(asked_requests=results[0].asked_requests)
    planned = made.planned(spec, wanted=wanted, max_invalid=1)
    return REQUESTS.answered(planned, made.tried(spec, results))


def told(outcome: Outcome) -> dict[str, float]:
    """The numbers of an answer by name."""
    return {one.metric.removeprefix("processing_time."): one.number for one in outcome.values}


def test_a_good_repetition_has_no_problem() -> None:
    assert judge.problems(SPEC, GOOD) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"requests": 9, "body_octets": 9000}, "9 of 10 requests were completed"),
        ({"failed": 1}, "1 requests failed"),
        ({"non_2xx": 2}, "2 answers had a status other than 2xx"),
        ({"body_octets": 9_999}, "9999 octets of bodies, 10000 are 10 objects"),
        ({"probes": ((200, True), (200, False))}, "the body of the probe after it is another object"),
        ({"probes": ((503, False), (200, True))}, "the probe before it got status 503"),
        ({"probes": ((200, True), (0, False))}, "no answer after it"),
        ({"probes": ()}, "its bodies were not probed"),
        ({"faults": ("the program has ended",)}, "the program has ended"),
    ],
)
def test_each_thing_that_went_wrong_is_a_problem(change: dict[str, object], words: str) -> None:
    found = judge.problems(SPEC, replace(GOOD, **change))  # type: ignore[arg-type]
    assert any(words in text for text in found), found


def test_an_answer_needs_all_repetitions_and_names_what_was_set_aside() -> None:
    bad = replace(GOOD, faults=("the client was gone",))
    answer = answered(GOOD, bad, replace(GOOD, mean_request_ns=3_000_000))
    assert answer.type is OutcomeType.MEASURED
    assert told(answer)["mean"] == 2_000_000
    assert told(answer)["repetitions"] == 2
    assert answer.trials == (1, 2, 3)
    assert answer.quality[0] == "1 of 3 repetitions were invalid and set aside: the client was gone"


def test_hits_are_of_the_requests_that_were_told() -> None:
    untold = replace(GOOD, hits=None, proxied=None)
    assert judge.hit_ratio([GOOD, untold, replace(GOOD, hits=10)]) == 0.75
    assert judge.hit_ratio([untold]) is None


def test_too_few_valid_repetitions_are_invalid_with_the_reason() -> None:
    answer = answered(GOOD, replace(GOOD, faults=("gone",)))
    assert answer.type is OutcomeType.INVALID
    assert "1 of 2 repetitions are valid" in answer.reason
    assert answer.values == ()


def test_a_percentile_that_one_repetition_lacks_is_left_out() -> None:
    other = replace(GOOD, request_ns={"p50": 1100})
    numbers = told(answered(GOOD, other))
    found = {name: number for name, number in numbers.items() if name.startswith("request.")}
    assert found == {
        "request.p50.median": 1000,
        "request.p50.median_low": 900,
        "request.p50.median_high": 1100,
        "request.p50.median_covers": 0.5,
    }


FEW = made.result(made.spec(asked_requests=1000), 1_000_000)


@pytest.mark.parametrize("change", [{"failed": 3}, {"non_2xx": 3}, {"requests": 997}])
def test_a_share_of_failed_requests_stands_beside_a_mean_of_the_others(change: dict[str, int]) -> None:
    answer = answered(FEW, FEW, replace(FEW, **change))
    assert answer.type is OutcomeType.MEASURED
    assert told(answer)["failed_ratio"] == 0.001
    assert "1 of 3 repetitions were invalid and set aside: " in answer.quality[0]


@pytest.mark.parametrize("failed", [40, 900])
def test_many_failed_requests_are_the_answer_and_no_mean_of_survivors_is(failed: int) -> None:
    answer = answered(FEW, FEW, replace(FEW, failed=failed))
    assert answer.type is OutcomeType.UNSTABLE
    assert answer.reason == (
        f"{failed} of 3000 requests failed ({failed / 3000:.2%}): a mean of the others is no answer"
    )


def test_requests_that_fail_in_every_repetition_are_no_broken_procedure() -> None:
    answer = answered(replace(FEW, failed=3), replace(FEW, failed=1))
    assert answer.type is OutcomeType.UNSTABLE
    assert answer.reason.startswith("4 of 2000 requests failed (0.20%)")


def test_a_proxy_that_is_gone_is_no_share_of_failed_requests() -> None:
    gone = replace(FEW, failed=1000, probes=((200, True), (0, False)))
    assert answered(FEW, gone, gone).type is OutcomeType.INVALID


def test_percentiles_of_requests_have_intervals_in_the_answer() -> None:
    results = [
        replace(GOOD, request_ns={"p99": 100 * seq, "p50": seq, "max": 9}, ttfb_ns={"p50": 7})
        for seq in range(1, 9)
    ]
    found = told(answered(*results, wanted=8))
    name = "request.p99"
    ends = [found[f"{name}.{part}"] for part in ("median_low", "median", "median_high")]
    assert ends == [200, 450, 700]  # the second and the second to last of eight
    assert found[f"{name}.median_covers"] == pytest.approx(0.9297, abs=1e-4)
    assert found["first_octet.p50.median"] == 7
    assert not any(".max" in metric for metric in found)
