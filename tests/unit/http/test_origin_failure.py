"""An origin that fails: what is counted of made requests, when that is a measurement, what it answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.cli.main import main
from bmwg.drivers.workload.origin_failure import counted, percentiles
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.origin_failure import (
    CLASSES,
    FRESH,
    NEW,
    STALE,
    OriginFailed,
    OriginFails,
)
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.kinds.requests.answers import answers_of, time
from bmwg.reports.kinds.requests.physics import PHYSICS
from bmwg.reports.kinds.requests.section import http_section
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import RunStore, read_run

MS, S = 1_000_000, 1_000_000_000
FAILS = OriginFails(
    fails="refuses", rate_rps=6, fail_s=2.0, return_s=1.0, answer_s=0.5, objects=2, cache=True
)
PROFILED = profile.load("origin").data["experiments"][0]["origin"]
RETURNED_MS, LAST_FAILED_MS = 2050, 2000


def spec(**changes: Any) -> RequestsSpec:
    fields: dict[str, Any] = {
        "experiment": "origin_failure",
        "workload": Workload.ORIGIN_FAILURE,
        "cache": True,
        "origin": FAILS,
        "asked_requests": FAILS.asked_requests,
    }
    return made.spec(**{**fields, **changes})


def told(right: bool, took_ms: float, status: int = 200, fault: str = "") -> dict[str, Any]:
    return {"right": right, "total_ns": round(took_ms * MS), "status": status, "fault": fault}


def look(number: int, *, right: bool) -> tuple[int, int, bool]:
    return number * 50 * MS - MS, number * 50 * MS, right


def looks() -> list[tuple[int, int, bool]]:
    """Looks that failed until 2 s after the beginning, and were right from 2.05 s on."""
    return [look(number, right=number > 40) for number in range(1, 60)]


def asked(*, stale_right: bool = True, new: dict[str, Any] | None = None) -> list[Any]:
    """Requests each 166.7 ms by turns; fresh ones are right, new ones fail until the return."""
    found = []
    for number in range(FAILS.asked_requests):
        of, sent_ns = CLASSES[number % 3], number * S // 6
        right = of == FRESH or (of == STALE and stale_right) or sent_ns > RETURNED_MS * MS
        wrong = (new or told(False, 2, 503)) if of == NEW else told(False, 3, 504)
        found.append((of, sent_ns, told(True, 1) if right else wrong))
    return found


def failure(requests: Any = None, seen: Any = None, *, behind: int = 0, filled: int = 4) -> OriginFailed:
    data = counted(requests or asked(), looks() if seen is None else seen, 500 * MS, behind, cache=True)
    return OriginFailed.from_builtins({**data, "filled": filled})


def result(of: OriginFailed, **changes: Any) -> RequestsResult:
    fields: dict[str, Any] = {
        "asked_requests": FAILS.asked_requests,
        "requests": sum(one.sent for one in of.asked),
        "failed": sum(sum(one.failures.values()) for one in of.asked),
        "non_2xx": sum(sum(one.statuses.values()) for one in of.asked),
        "elapsed_ns": 3 * S,
        "process_ns": 3 * S,
        "wall_ns": 9 * S,
        "probes": made.RIGHT,
        "failure": of,
    }
    return RequestsResult(**{**fields, **changes})


def test_each_request_is_in_one_count() -> None:
    found = failure()
    assert {of: (one.sent, one.right, one.wrong) for of, one in found.meanwhile.items()} == {
        FRESH: (5, 4, 0),
        STALE: (4, 4, 0),
        NEW: (4, 0, 4),
    }
    assert found.meanwhile[NEW].statuses == {"503": 4}
    assert found.meanwhile[NEW].error_ns == dict.fromkeys(("min", "p50", "p95", "p99", "max"), 2 * MS)
    assert sum(one.right for one in found.afterwards.values()) == 5
    assert found.meanwhile[FRESH].right_after == 1  # sent with the last look that failed
    assert all(one.told == one.sent for one in found.asked)
    assert (found.looks, found.failed_looks) == (59, 40)
    assert (found.failed_ns, found.resolution_ns) == (LAST_FAILED_MS * MS, 50 * MS)
    assert found.recovery_ns == 14 * S // 6 + 1 * MS - LAST_FAILED_MS * MS


@pytest.mark.parametrize(
    ("found", "failures", "statuses"),
    [
        (told(False, 1, 0, "ConnectionResetError: by peer"), {"ConnectionResetError": 4}, {}),
        (told(False, 500, 0, "TimeoutError: timed out"), {"no answer in time": 4}, {}),
        (told(True, 501), {"no answer in time": 4}, {}),
        (told(False, 1, 200), {"another body": 4}, {}),
        (
            told(False, 1, 200, "body of 3 octets, 1000 were announced"),
            {"body of 3 octets, 1000 were announced": 4},
            {},
        ),
        (told(False, 1, 404), {}, {"404": 4}),
    ],
)
def test_what_is_not_the_right_body_in_time_is_named(found: Any, failures: Any, statuses: Any) -> None:
    new = failure(asked(new=found)).meanwhile[NEW]
    assert (new.right, dict(new.failures), dict(new.statuses)) == (0, failures, statuses)


def test_an_answer_that_comes_with_the_origins_return_is_none_of_the_cache() -> None:
    requests = [*asked()[:-1], (NEW, 1_900 * MS, told(True, 200))]
    new = failure(requests).meanwhile[NEW]
    assert (new.sent, new.right, new.right_after) == (5, 0, 1)
    assert failure(requests).recovery_ns == 100 * MS


def test_a_look_that_ends_after_the_return_makes_no_answer_of_the_origin_the_caches() -> None:
    """The origin stalls until 2 s; a look of before then is given up at 2.01 s, requests are answered."""
    stalled = [(number * 50 * MS, number * 50 * MS + 500 * MS, False) for number in range(30)]
    late = (1_520 * MS, 2_010 * MS, False)
    seen = [*stalled, late, *((number * 50 * MS, 2_020 * MS, True) for number in range(31, 40))]
    pending = [(NEW, 1_800 * MS, told(True, 203)), (STALE, 1_850 * MS, told(True, 155))]
    data = counted([*pending, (FRESH, 1_000 * MS, told(True, 1))], seen, 500 * MS, 0, cache=True)
    found = OriginFailed.from_builtins({**data, "filled": 4})
    assert {of: (one.right, one.right_after) for of, one in found.meanwhile.items()} == {
        NEW: (0, 1), STALE: (0, 1), FRESH: (1, 0)
    }  # fmt: skip
    assert (found.failed_ns, found.failed_ns + found.resolution_ns) == (1_950 * MS, 2_003 * MS)


def test_a_right_answer_before_a_look_that_failed_is_given_while_the_origin_fails() -> None:
    requests = [*asked()[:-1], (NEW, 1_800 * MS, told(True, 100))]
    assert failure(requests).meanwhile[NEW].right == 1


def test_percentiles_are_by_nearest_rank() -> None:
    assert percentiles([]) == {}
    assert percentiles(range(1, 101)) == {"min": 1, "p50": 50, "p95": 95, "p99": 99, "max": 100}
    assert percentiles([7])["p99"] == 7


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (failure(filled=3), "3 of 4 objects were answered rightly before the origin failed"),
        (failure(asked()[:-1]), "17 of 18 requests were sent"),
        (failure(behind=2), "2 of 18 requests were sent late by the client"),
        (failure(seen=[(0, S, False)]), "no look at the origin told that it returned"),
        (
            failure(seen=[(0, S, False), (0, S + MS, True)]),
            "the origin was seen to fail for 1.000 s, 2 s were asked for",
        ),
        (failure(seen=[(0, 1, True)]), "no stale object was asked for while the origin failed"),
    ],
)
def test_what_did_not_come_about_as_asked_makes_it_incomplete(of: OriginFailed, words: str) -> None:
    found = REQUESTS.assessed(spec(), result(of))
    assert found.validity is Validity.INCOMPLETE
    assert words in found.reason


def test_a_probe_before_it_must_be_right_and_one_after_it_may_fail() -> None:
    of = failure()
    assert REQUESTS.assessed(spec(), result(of)).validity is Validity.VALID
    after = result(of, probes=((200, True), (0, False)))
    assert REQUESTS.assessed(spec(), after).validity is Validity.VALID
    before = result(of, probes=((502, False), (200, True)))
    assert "the probe before it got status 502" in REQUESTS.assessed(spec(), before).reason


@pytest.mark.parametrize(
    ("cache", "requests", "words"),
    [
        (True, asked(new=told(True, 1)), "4 new objects, which were never asked before"),
        (False, asked(), "4 fresh objects, which nothing keeps"),
    ],
)
def test_a_right_answer_that_nobody_can_have_given_is_inconsistent(
    cache: bool, requests: Any, words: str
) -> None:
    found = REQUESTS.assessed(spec(origin=replace(FAILS, cache=cache)), result(failure(requests)))
    assert found.validity is Validity.INCONSISTENT
    assert words in found.reason


def test_an_answer_has_counts_of_all_repetitions_and_the_mean_share() -> None:
    of = spec()
    one, other = failure(), failure(asked(stale_right=False))
    outcome = REQUESTS.answered(made.planned(of), made.tried(of, [result(one), result(other)]))
    assert outcome.type is OutcomeType.MEASURED
    found = {value.metric.removeprefix("answered_without_origin."): value.number for value in outcome.values}
    assert found["mean"] == pytest.approx((8 / 13 + 4 / 13) / 2)
    assert (found["stale.sent"], found["stale.right"], found["stale.wrong"]) == (8, 4, 4)
    assert (found["fresh.sent"], found["fresh.right"], found["fresh.right_after"]) == (10, 8, 2)
    assert (found["new.right"], found["new.wrong"], found["new.error.max"]) == (0, 8, 2 * MS)
    assert found["recovery.repetitions"] == 2
    assert outcome.quality[-1] != ""


def test_a_return_without_a_right_new_object_is_told() -> None:
    of = spec()
    never = failure([one for one in asked() if one[0] != NEW or one[1] < RETURNED_MS * MS])
    never = replace(never, recovery_ns=None)
    outcome = REQUESTS.answered(
        made.planned(of, max_invalid=2, wanted=1), made.tried(of, [result(failure())])
    )
    assert not any("no new object" in one for one in outcome.quality)
    told = REQUESTS.remarks([result(never), result(failure())])
    assert told == ("in 1 of 2 repetitions no new object was answered rightly after the origin's return",)


def test_the_journal_gives_back_what_it_was_given() -> None:
    of, found = spec(number=1), result(failure())
    body = REQUESTS.body_of(of, found, {})
    assert REQUESTS.result_of(body) == found
    assert REQUESTS.spec_of(body).origin == FAILS


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"right": 3}, "requests by what became of them"),
        ({"sent": 6}, "requests by what became of them"),
        ({"error_ns": {"p50": 9, "p99": 3}}, "error_ns"),
    ],
)
def test_counts_that_do_not_add_up_are_found(change: dict[str, Any], what: str) -> None:
    of = failure()
    changed = replace(of, meanwhile={**of.meanwhile, FRESH: replace(of.meanwhile[FRESH], **change)})
    broken = [one for one in PHYSICS.counts(spec(), result(changed)) if _out(one)]
    assert any(what in one.what for one in broken)
    assert not [one for one in PHYSICS.counts(spec(), result(of)) if _out(one)]


def _out(one: Any) -> bool:
    least = one.least if one.least is not None else 0
    return one.found < least or (one.most is not None and one.found > one.most)


def test_the_profile_plans_each_failure_with_a_cache_and_without() -> None:
    plan = profile.load("origin").plan()
    assert {one.test_id for one in plan} == {profile.ORIGIN_TEST}
    assert {one.metric for one in plan} == {profile.ANSWERED}
    assert len({one.key for one in plan}) == len(plan) == 3 * (3 + 2)
    for one in plan:
        cell = one.cell
        axes = {"axes": dict(cell.axes), "hosting": cell.hosting, "network": cell.network}
        assert REQUESTS.cell({**axes, "function": cell.function}) == cell


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"origin": {**PROFILED, "fails": ["sleeps"]}}, "sleeps"),
        ({"origin": {**PROFILED, "fail_s": 0}}, "fail_s"),
        ({"origin": {**PROFILED, "rate_rps": 1}}, "rate_rps"),
        ({"proxies": [2]}, "proxies"),
        ({"tls": ["tls13-aes128-p256"]}, "tls"),
        ({"workload": "ab", "functions": None}, "workload ab, id origin_failure, with settings"),
        ({"origin": None}, "origin"),
        ({"functions": ["nginx-stal"]}, "nginx-stale"),
    ],
)
def test_a_wrong_profile_is_refused_in_a_plan_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    data = {**profile.load("origin").data}
    first = {key: value for key, value in {**data["experiments"][0], **change}.items() if value is not None}
    file = tmp_path / "mine.yaml"
    file.write_text(str({**data, "experiments": [first]}).replace("True", "true").replace("False", "false"))
    suite = "testcases/http_proxy/10__origin_failure.robot"
    assert main(["plan", suite, "--profile", str(file)]) == 2
    said = capsys.readouterr()
    assert "HPROF-02" in said.err + said.out
    assert words in said.err + said.out


def test_a_failure_of_another_kind_is_no_spec() -> None:
    with pytest.raises(ValueError, match="fails: expected refuses, error, stalls"):
        replace(FAILS, fails="sleeps")


def test_the_report_has_counts_statuses_and_the_return(tmp_path: Path) -> None:
    used = profile.load("origin")
    (planned,) = [one for one in used.plan() if one.cell.cell_id.endswith("10000o/1c/refuses/cache")]
    used = made.shortened(used, repetitions=2)
    (planned,) = [one for one in used.plan() if one.key == planned.key]
    with RunStore.create(tmp_path, "r", made.header(used, [planned])) as store:
        of = failure()
        made.answer(store, planned, [_as_planned(planned.spec, of)] * 2)
    run = read_run(tmp_path / "r")
    assert [time(one) for one in answers_of(run)] == [None]  # a share is no time of a request
    told = restructured(http_section(run))
    assert "An experiment of ours" in told
    assert "refuses connections" in told
    assert "503\\: 8" in told


def _as_planned(of: RequestsSpec, found: OriginFailed) -> RequestsResult:
    """Return a result that fits the load of a plan: its counts are multiplied."""
    assert of.origin is not None
    more = of.origin.asked_requests - sum(one.sent for one in found.asked)
    fresh = found.meanwhile[FRESH]
    fresh = replace(fresh, sent=fresh.sent + more, right=fresh.right + more)
    found = replace(
        found,
        filled=2 * of.origin.objects,
        failed_ns=round(of.origin.fail_s * S),
        meanwhile={**found.meanwhile, FRESH: fresh},
    )
    return result(
        found, asked_requests=of.asked_requests, elapsed_ns=10 * S, process_ns=10 * S, wall_ns=20 * S
    )
