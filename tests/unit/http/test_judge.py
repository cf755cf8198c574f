"""What makes a repetition no measurement, and when a cell has an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.http import judge
from bmwg.methodology.http.records import HttpCell, Repetition, Workload
from bmwg.methodology.records import OutcomeType

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
    bad = replace(GOOD, failed=1)
    answer = judge.outcome(
        CELL, [(1, GOOD), (2, bad), (3, replace(GOOD, mean_request_ns=3_000_000))], wanted=2
    )
    assert answer.type is OutcomeType.MEASURED
    assert answer.time is not None
    assert answer.time.mean == 2_000_000
    assert answer.time.count == 2
    assert answer.hit_ratio == 0.5
    assert answer.repetitions == (1, 2, 3)
    assert answer.quality == ("1 of 3 repetitions were invalid and set aside",)


def test_too_few_valid_repetitions_are_invalid_with_the_reason() -> None:
    answer = judge.outcome(CELL, [(1, GOOD), (2, replace(GOOD, failed=1))], wanted=2)
    assert answer.type is OutcomeType.INVALID
    assert "1 of 2 repetitions are valid" in answer.reason
    assert answer.time is None


def test_warm_ups_take_no_part() -> None:
    answer = judge.outcome(CELL, [(1, replace(GOOD, phase="warm_up"))], wanted=1)
    assert answer.type is OutcomeType.INVALID


def test_a_percentile_that_one_repetition_lacks_is_left_out() -> None:
    other = replace(GOOD, request_ns={"p50": 1100})
    answer = judge.outcome(CELL, [(1, GOOD), (2, other)], wanted=2)
    assert dict(answer.request_ns) == {"p50": 900}


def test_a_share_of_the_cpu_that_one_repetition_does_not_tell_is_left_out() -> None:
    answer = judge.outcome(CELL, [(1, GOOD), (2, replace(GOOD, cpu_share=None))], wanted=2)
    assert answer.type is OutcomeType.MEASURED
    assert answer.cpu_share is None
    assert judge.outcome(CELL, [(1, GOOD), (2, GOOD)], wanted=2).cpu_share is not None
