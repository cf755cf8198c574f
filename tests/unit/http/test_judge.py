"""What makes a repetition no measurement, and when a cell has an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.kinds.requests import judge
from bmwg.methodology.kinds.requests.kind import outcome_of
from bmwg.methodology.kinds.requests.records import HttpCell, Repetition, Workload
from bmwg.methodology.records import OutcomeType

ONE, TWO = (Repetitions(wanted=count, least=count, max_invalid=1) for count in (1, 2))

CELL = HttpCell(
    experiment="one_client",
    workload=Workload.AB,
    form="native",
    proxies=1,
    object_octets=1000,
    clients=1,
    cache=False,
    stress_cpus=0,
)
GOOD = Repetition(
    cell_id=CELL.cell_id,
    number=1,
    phase="measured",
    asked_requests=10,
    requests=10,
    body_octets=10_000,
    elapsed_ns=10_000_000,
    mean_request_ns=1_000_000,
    request_ns={"p50": 900, "max": 2000},
    probes=((200, True), (200, True)),
    hits=5,
    proxied=10,
)


def test_a_good_repetition_has_no_problem() -> None:
    assert judge.problems(GOOD, CELL) == ()


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
    found = judge.problems(replace(GOOD, **change), CELL)  # type: ignore[arg-type]
    assert any(words in text for text in found), found


def test_an_answer_needs_all_repetitions_and_names_what_was_set_aside() -> None:
    bad = replace(GOOD, faults=("the client was gone",))
    answer = judge.outcome(
        CELL, [(1, GOOD), (2, bad), (3, replace(GOOD, mean_request_ns=3_000_000))], asked=TWO
    )
    assert answer.type is OutcomeType.MEASURED
    assert answer.time is not None
    assert answer.time.mean == 2_000_000
    assert answer.time.count == 2
    assert answer.hit_ratio == 0.5
    assert answer.repetitions == (1, 2, 3)
    assert answer.quality == ("1 of 3 repetitions were invalid and set aside: the client was gone",)


def test_too_few_valid_repetitions_are_invalid_with_the_reason() -> None:
    answer = judge.outcome(CELL, [(1, GOOD), (2, replace(GOOD, faults=("gone",)))], asked=TWO)
    assert answer.type is OutcomeType.INVALID
    assert "1 of 2 repetitions are valid" in answer.reason
    assert answer.time is None


def test_warm_ups_take_no_part() -> None:
    answer = judge.outcome(CELL, [(1, replace(GOOD, phase="warm_up"))], asked=ONE)
    assert answer.type is OutcomeType.INVALID


def test_a_percentile_that_one_repetition_lacks_is_left_out() -> None:
    other = replace(GOOD, request_ns={"p50": 1100})
    answer = judge.outcome(CELL, [(1, GOOD), (2, other)], asked=TWO)
    ((name, found),) = answer.request_ns.items()
    assert (name, found.median, found.low, found.high, found.covers) == ("p50", 1000, 900, 1100, 0.5)


def test_a_share_of_the_cpu_that_one_repetition_does_not_tell_is_left_out() -> None:
    answer = judge.outcome(CELL, [(1, GOOD), (2, replace(GOOD, cpu_share=None))], asked=TWO)
    assert answer.type is OutcomeType.MEASURED
    assert answer.cpu_share is None
    assert judge.outcome(CELL, [(1, GOOD), (2, GOOD)], asked=TWO).cpu_share is not None


FEW = replace(GOOD, asked_requests=1000, requests=1000, body_octets=1_000_000)


@pytest.mark.parametrize("change", [{"failed": 3}, {"non_2xx": 3}, {"requests": 997}])
def test_a_share_of_failed_requests_stands_beside_a_mean_of_the_others(change: dict[str, int]) -> None:
    answer = judge.outcome(CELL, [(1, FEW), (2, FEW), (3, replace(FEW, **change))], asked=TWO)
    assert answer.type is OutcomeType.MEASURED
    assert answer.failed_ratio == 0.001
    assert "1 of 3 repetitions were invalid and set aside: " in answer.quality[0]


@pytest.mark.parametrize("failed", [40, 900])
def test_many_failed_requests_are_the_answer_and_no_mean_of_survivors_is(failed: int) -> None:
    answer = judge.outcome(CELL, [(1, FEW), (2, FEW), (3, replace(FEW, failed=failed))], asked=TWO)
    assert answer.type is OutcomeType.UNSTABLE
    assert answer.reason == (
        f"{failed} of 3000 requests failed ({failed / 3000:.2%}): a mean of the others is no answer"
    )


def test_requests_that_fail_in_every_repetition_are_no_broken_procedure() -> None:
    answer = judge.outcome(CELL, [(1, replace(FEW, failed=3)), (2, replace(FEW, failed=1))], asked=TWO)
    assert answer.type is OutcomeType.UNSTABLE
    assert answer.reason.startswith("4 of 2000 requests failed (0.20%)")


def test_a_proxy_that_is_gone_is_no_share_of_failed_requests() -> None:
    gone = replace(FEW, failed=1000, probes=((200, True), (0, False)))
    assert judge.outcome(CELL, [(1, FEW), (2, gone), (3, gone)], asked=TWO).type is OutcomeType.INVALID


def test_percentiles_of_requests_have_intervals_in_the_answer() -> None:
    reps = [
        (seq, replace(GOOD, request_ns={"p99": 100 * seq, "p50": seq, "max": 9}, ttfb_ns={"p50": 7}))
        for seq in range(1, 9)
    ]
    found = judge.outcome(CELL, reps, asked=Repetitions(wanted=8, least=8, max_invalid=0))
    told = {value.metric: value.number for value in outcome_of(found, "T").values}
    name = "processing_time.request.p99"
    ends = [told[f"{name}.{part}"] for part in ("median_low", "median", "median_high")]
    assert ends == [200, 450, 700]  # the second and the second to last of eight
    assert told[f"{name}.median_covers"] == pytest.approx(0.9297, abs=1e-4)
    assert told["processing_time.first_octet.p50.median"] == 7
    assert not any(".max" in metric for metric in told)
