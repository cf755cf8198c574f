"""The search by phases finds the limit of a function, and tells the client's limit from the function's."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.origin import origin
from tests.unit.http.phases import modelled, planned, values

from bmwg.drivers.workload import transactions
from bmwg.drivers.workload.of_requests import Served
from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import phase_search
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.records import OutcomeType
from bmwg.schemas.validation import problems


@pytest.mark.parametrize("limit", [200, 333, 900])
def test_a_limit_of_transactions_is_found_within_two_per_cent(limit: int) -> None:
    of = planned()
    recorded = modelled(of, limit)
    found = values(of, recorded)
    assert limit * 0.98 <= found["met"] <= limit * 1.02 < found["unmet"] * 1.02
    assert recorded[0].spec.rate_rps == 100  # the initial load
    assert recorded[1].spec.rate_rps == 1000  # the target
    assert (recorded[-1].spec.duration_s, found["sustained"]) == (10.0, 10.0)
    assert found["first_octet.mean"] == 2


def test_a_limit_of_connections_is_found_exactly() -> None:
    of = planned(holds=True, relative_width=0.001, max_rps=2000)
    found = values(of, modelled(of, 500))
    assert (found["met"], found["unmet"]) == (500, 501)


def test_what_holds_for_seconds_alone_is_no_answer() -> None:
    of = planned()
    found = values(of, modelled(of, 500, tires_after_s=10))
    assert 441 <= found["met"] < found["unmet"] <= 460  # 0.9 of 500, and the share that counts as reached
    outcome = REQUESTS.answered(of, modelled(of, 500, tires_after_s=10))
    assert any("did not hold for 10 s: target rate" in one for one in outcome.quality)


@pytest.mark.parametrize("each", [1, 10])
def test_times_are_told_at_half_of_what_was_found(each: int) -> None:
    of = planned(latency_s=20, requests_per_connection=each)
    recorded = modelled(of, 333)
    found = values(of, recorded)
    assert (recorded[-1].spec.rate_rps, recorded[-1].spec.duration_s) == (found["met"] // 2, 20.0)
    assert recorded[-2].spec.rate_rps == found["met"]
    assert (found["half.load"], found["half.first_octet.max"]) == (found["met"] // 2, found["met"] // 2)
    assert (found["half.first_octet.min"], found["half.first_octet.p50"]) == (1, 2)
    assert found["first_octet.max"] == found["met"]  # of the final iteration


def test_where_half_does_not_meet_the_criteria_or_is_not_offered_there_are_no_times_of_it() -> None:
    of = planned(latency_s=20)
    half = int(values(of, modelled(of, 333))["half.load"])
    recorded = modelled(of, 333, broken=half)
    found = values(of, recorded)
    assert found["met"] // 2 == half
    assert [name for name in found if name.startswith("half")] == []
    *_, remark = REQUESTS.answered(of, recorded).quality
    assert remark.startswith("no times at half of it: failed transactions: 1 of")
    short = [replace(one, result=replace(one.result, unsent_requests=1)) for one in modelled(of, 333)[-1:]]
    outcome = REQUESTS.answered(of, [*modelled(of, 333)[:-1], *short * 2])
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.quality[-1] == "no times at half of it: the client fell short"


def test_a_target_that_is_reached_has_no_half() -> None:
    of = planned(latency_s=20)
    recorded = modelled(of, 5000)
    assert recorded[-1].spec.rate_rps == 1000
    assert REQUESTS.answered(of, recorded).type is OutcomeType.AT_CEILING


def test_a_target_that_is_reached_is_no_limit() -> None:
    of = planned()
    found = REQUESTS.answered(of, modelled(of, 5000))
    assert found.type is OutcomeType.AT_CEILING
    assert "the target is reached: the criteria are met at 1000" in found.reason


def test_nothing_follows_where_the_initial_load_does_not_meet_the_criteria() -> None:
    of = planned()
    recorded = modelled(of, 50)
    found = REQUESTS.answered(of, recorded)
    assert (len(recorded), found.type) == (2, OutcomeType.AT_FLOOR)
    assert found.reason.startswith("at the initial 100 requests/s a criterion is not met, 2 times: ")


def test_one_pause_at_the_initial_load_is_no_answer() -> None:
    of = planned()
    recorded = modelled(of, 500, pauses=frozenset({1}))
    found = REQUESTS.answered(of, recorded)
    assert [one.spec.rate_rps for one in recorded[:2]] == [100, 100]
    assert found.type is OutcomeType.MEASURED
    assert found.values == REQUESTS.answered(of, modelled(of, 500)).values


def test_where_the_client_falls_short_there_is_no_number_of_the_function() -> None:
    of = planned()
    found = REQUESTS.answered(of, modelled(of, 5000, client=500))
    assert found.type is OutcomeType.TESTER_LIMITED
    assert "the criteria are met up to 49" in found.reason
    found = REQUESTS.answered(of, modelled(of, 5000, client=50))
    assert found.type is OutcomeType.TESTER_LIMITED
    assert found.reason.startswith("at the initial 100 requests/s the client fell short: 150 of 300")


def test_a_client_whose_cpu_is_full_says_nothing_of_the_function() -> None:
    of = planned()
    found = REQUESTS.answered(of, modelled(of, 5000, client_cpu=600))
    assert found.type is OutcomeType.TESTER_LIMITED
    assert "the criteria are met up to 60" in found.reason  # and 99 % of what was due is enough
    recorded = modelled(of, 5000, client_cpu=600)
    over = max(recorded, key=lambda tried: tried.spec.rate_rps)
    (why,) = over.problems
    assert why.startswith("the client itself used 100% of a CPU: target rate: 1800 transactions")
    assert values(of, modelled(of, 500, client_cpu=600))["met"] <= 505  # with CPU to spare it is the function


def test_a_trial_is_read_from_the_journal_as_it_was_written() -> None:
    of = planned()
    tried = modelled(of, 500)[3]
    body = REQUESTS.body_of(replace(tried.spec, number=1), tried.result, {})
    assert problems({"spec": body.spec, "result": body.result}, "requests") == []
    assert REQUESTS.result_of(body) == tried.result
    assert REQUESTS.spec_of(body).load == tried.spec.load
    of = planned(holds=True)
    body = REQUESTS.body_of(replace(modelled(of, 500)[3].spec, number=1), tried.result, {})
    assert problems({"spec": body.spec, "result": body.result}, "requests") == []
    assert REQUESTS.spec_of(body).held_connections > 0


TRIES = 2


def searched(port: int, **settings: Any) -> dict[str, float]:
    """Search with the client itself on loopback; returns the numbers of the answer."""
    of = planned(**settings)
    clients = transactions.TransactionClients(
        SimpleNamespace(
            client=SimpleNamespace(call_within=lambda within, function, **given: function(**given)),
            url=lambda octets: "/",
            path=lambda octets: "/",
            origin_host="o",
        ),  # type: ignore[arg-type]
        Path(os.devnull),
    )
    clients.attach([Served(address="127.0.0.1", port=port, forward=False)])
    recorded: list[Tried[RequestsResult]] = []

    def measure(spec: RequestsSpec) -> Tried[RequestsResult]:
        result = replace(clients.run(spec), probes=cells.RIGHT)
        recorded.append(REQUESTS.tried(len(recorded) + 1, spec, result, "d1"))
        return recorded[-1]

    for _ in range(TRIES):
        recorded.clear()
        phase_search.search(measure, of.spec)
        if REQUESTS.answered(of, recorded).type is OutcomeType.MEASURED:
            found = values(of, recorded)
            if "latency_s" not in settings or "half.load" in found:
                return found
    pytest.skip("needs CPUs that are not taken away")


@pytest.mark.slow
def test_an_origin_limited_to_200_transactions_per_second_is_found_within_two_per_cent() -> None:
    with origin(most_per_s=200) as port:
        found = searched(port, min_rps=50, max_rps=500, ramp_s=0.5, duration_s=4, sustain_s=5, max_repeats=3)
    assert 196 <= found["met"] <= 204


@pytest.mark.slow
def test_a_delay_of_ten_milliseconds_is_ten_milliseconds_more_at_half_of_the_rate() -> None:
    settings = {"min_rps": 50, "max_rps": 500, "ramp_s": 0.5, "duration_s": 2, "sustain_s": 2, "latency_s": 4}
    found = []
    for delay_s in (0.0, 0.01):
        with origin(most_per_s=200, delay_s=delay_s) as port:
            found.append(searched(port, **settings, relative_width=0.2, max_repeats=3))
    plain, delayed = found
    for event in ("first_octet", "last_octet"):
        more_ns = delayed[f"half.{event}.min"] - plain[f"half.{event}.min"]
        assert more_ns >= 9_900_000  # a sleep is never shorter


@pytest.mark.slow
def test_an_origin_limited_to_500_connections_is_found_exactly() -> None:
    with origin(most_connections=500) as port:
        found = searched(
            port,
            holds=True,
            min_rps=100,
            max_rps=1000,
            ramp_s=1,
            duration_s=1,
            sustain_s=2,
            relative_width=0.001,
        )
    assert (found["met"], found["unmet"]) == (500, 501)
