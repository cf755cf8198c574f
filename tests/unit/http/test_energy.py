"""Energy of a request: of those that were answered rightly in the window, and of no start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.unit.http import made
from tests.unit.http.phases import modelled, phase

from bmwg.methodology.answers.power import Energy
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, Workload
from bmwg.reports.render.blocks import Grid, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.sections.power_section import section
from bmwg.reports.store import RunStore, read_run

S = 1_000_000_000


def test_what_failed_was_carried_by_nobody_and_a_start_is_no_request() -> None:
    asked = made.spec()
    body = REQUESTS.body_of(
        asked, made.result(asked, 1000, requests=100, failed=3, non_2xx=2, warm_up_requests=10), {}
    )
    assert REQUESTS.carried(body) == (105, "request")
    start = replace(asked, workload=Workload.START)
    assert REQUESTS.carried(REQUESTS.body_of(start, made.result(start, 1000), {})) is None


def test_transactions_carried_those_of_the_ramp_up_as_well() -> None:
    asked = made.spec(workload=Workload.TRANSACTIONS, rate_rps=1000, duration_s=10.0)
    told = RequestsResult(
        asked_requests=10_000,
        requests=10_000,
        sustain=phase(),
        whole={"connections": 15_000, "requests": 15_000},
    )
    assert REQUESTS.carried(REQUESTS.body_of(asked, told, {})) == (15_000, "request")


def test_the_power_of_a_searched_rate_is_that_of_its_own_load(tmp_path: Path) -> None:
    """Trials of a search have many loads: their mean is the power of none of them."""
    used = profile.PROFILES.load("rfc9411-quick")
    of = next(one for one in used.plan() if one.spec.experiment == "connections_per_second")
    with RunStore.create(tmp_path, "r", made.header(used, [of])) as store:
        store.add_driver({"name": "power meter", "meter": "file", "of": "a plug", "idle": {}})
        store.add_deployment("d-1", {"path": "http"})
        done = []
        for number, tried in enumerate(modelled(of, 9_000), start=1):
            watts = tried.spec.rate_rps // 100
            used_there = Energy(window_ns=2 * S, energy_uj=2 * watts * 1_000_000).counts()
            body = REQUESTS.body_of(replace(tried.spec, number=number), tried.result, used_there)
            seq = store.append(
                cell_id=of.key,
                deployment_id="d-1",
                metric=of.metric,
                test_id=of.test_id,
                phase=MEASURED,
                body=body,
                validity=REQUESTS.assess(body).validity,
                reason="",
            )
            done.append(REQUESTS.tried(seq, tried.spec, tried.result, "d-1"))
        outcome = REQUESTS.answered(of, done)
        store.add_outcome(outcome)
    blocks = flat(section(facts(read_run(store.folder))))
    grid = next(b for b in blocks if isinstance(b, Grid) and b.caption == "Power at the load of each answer")
    (row,) = grid.rows
    met = next(one.number for one in outcome.values if one.metric.endswith(".met"))
    assert row[2] == f"{met // 100:.1f}\u00a0W"
    assert len(done) > 3


def test_joules_a_request_stand_in_the_report(tmp_path: Path) -> None:
    used = profile.PROFILES.load("quick")
    one = used.plan()[0]
    with RunStore.create(tmp_path, "r", made.header(used, [one])) as store:
        idle = Energy(window_ns=60 * S, energy_uj=60 * 50_000_000).counts()
        store.add_driver({"name": "power meter", "meter": "file", "of": "a plug", "idle": idle})
        store.add_deployment("d-1", {"path": "http"})
        done = []
        for number in range(1, one.asked.wanted + 1):
            asked = replace(one.spec, number=number)
            result = made.result(asked, 1_000_000 + number)
            counts = Energy(window_ns=2 * S, energy_uj=2 * 150_000_000).counts()
            seq = store.append(
                cell_id=one.key,
                deployment_id="d-1",
                metric=one.metric,
                test_id=one.test_id,
                phase=MEASURED,
                body=REQUESTS.body_of(asked, result, counts),
                validity=REQUESTS.assessed(asked, result).validity,
                reason="",
            )
            done.append(REQUESTS.tried(seq, asked, result, "d-1"))
        store.add_outcome(REQUESTS.answered(one, done))
    blocks = list(flat(section(facts(read_run(store.folder)))))
    grid = next(b for b in blocks if isinstance(b, Grid) and b.caption == "Power at the load of each answer")
    (row,) = grid.rows
    carried = REQUESTS.carried(REQUESTS.body_of(one.spec, result, {}))
    assert carried == (300, "request")
    assert row[2:5] == ("150.0\u00a0W", "1\u00a0J a request", "667\u00a0mJ a request")
