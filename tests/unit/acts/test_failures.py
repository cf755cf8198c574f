"""Starts that failed: how they are counted, what an answer says of them, and what cannot be."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.acts.lives import MS, life

from bmwg.drivers.workload.failed_starts import failure_of
from bmwg.methodology.answers.proportion import proportion
from bmwg.methodology.answers.repeated import quantities
from bmwg.methodology.answers.student import interval
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import ActsResult, Failure, Life
from bmwg.methodology.records import Outcome, OutcomeType, Validity
from bmwg.reports.kinds.repeated import beside
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.render.forms.rst import restructured
from bmwg.resources.kinds.acts.bench import ActsBench

PLAN = profile.PROFILES.load("failures").plan()
STAND_UPS = next(one for one in PLAN if one.test_id == "LC-FAIL-1" and one.spec.at_once == 1)
FIT = next(one for one in PLAN if one.test_id == "LC-FIT-1")


def lived(kinds: list[str], *, together: bool = False, apart_ms: int = 0) -> ActsResult:
    """Lives one after the other, or beside each other; those with a kind failed as it.

    With `apart_ms` each start takes so much longer than the one before.
    """
    each_ms = 3000
    lives = []
    for number, kind in enumerate(kinds):
        one = life(1500 + number * apart_ms, 50 + apart_ms + (0 if together else number * each_ms))
        if kind:
            one = Life(asked_ns=one.asked_ns, offered_frames=10, failed=kind, failed_by="CNI-10")
        lives.append(one)
    return ActsResult(lives=tuple(lives), wall_ns=(100 + len(kinds) * each_ms) * MS)


def stand_ups(cycles: int):
    return replace(STAND_UPS, spec=replace(STAND_UPS.spec, cycles=cycles))


def answered(planned, results):
    done = [ACTS.tried(at, replace(planned.spec, number=at), one) for at, one in enumerate(results, start=1)]
    return ACTS.answered(planned, done)


def test_twenty_of_a_hundred_are_twenty_by_kind_with_the_interval_of_the_share() -> None:
    kinds = (["no_network"] * 7 + ["not_booted"] * 6 + ["not_scheduled"] * 4 + ["no_frame"] * 3) + [""] * 80
    outcome = answered(stand_ups(100), [lived(kinds), lived(kinds)])
    assert outcome.type is OutcomeType.MEASURED
    told = {one.metric.removeprefix("pod_stand_up."): one.number for one in outcome.values}
    assert (told["attempts"], told["failed"], told["success_ratio"]) == (200, 40, 0.8)
    assert [told[f"failed.{kind}"] for kind in ("no_network", "not_booted", "not_scheduled", "no_frame")] == [
        14, 12, 8, 6,
    ]  # fmt: skip
    assert told["success_ratio_low_95"] == pytest.approx(0.7378, abs=1e-4)
    assert told["success_ratio_high_95"] == pytest.approx(0.8531, abs=1e-4)
    assert told["start.median"] == 1500 * MS

    line = ActsBench.figures(object.__new__(ActsBench), outcome, told)
    assert "80.00 % of 200 starts came to forward (73.78 to 85.31 %)" in line
    assert "14 no network" in line


def test_all_failed_and_none_failed_have_an_interval() -> None:
    for kinds, share in ((["not_booted"] * 10, 0.0), ([""] * 10, 1.0)):
        told = {v.metric: v.number for v in answered(stand_ups(10), [lived(kinds)] * 2).values}
        assert told["pod_stand_up.success_ratio"] == share
        low, high = (told[f"pod_stand_up.success_ratio_{end}_95"] for end in ("low", "high"))
        assert low < high
        assert low <= share <= high


def test_a_share_and_an_outage_of_none_stand_beside_a_neighbour_without_a_ratio(monkeypatch) -> None:
    """Neither has a mean to be divided by, and the whole report failed."""
    moved = next(one for one in profile.PROFILES.load("moves").plan() if one.test_id == "LC-MIGRATE-1")
    none_lost = Outcome(
        outcome_id="o",
        metric=moved.metric,
        cell=moved.cell,
        type=OutcomeType.MEASURED,
        values=quantities(moved.metric, interval([0.0, 0.0]), "ns"),
        trials=(1, 2),
    )
    both = ((stand_ups(2), answered(stand_ups(2), [lived(["", "no_network"])] * 2)), (moved, none_lost))

    def answers(run, kind, *, beside: bool = False) -> list[Answered]:
        found = []
        for planned, outcome in both:
            cell = neighbours.beside(planned.cell, "cpu-on-dut") if beside else planned.cell
            one = replace(outcome, cell=cell)
            found.append(Answered(outcome=one, planned=planned, results=(), deployment="", by_number={}))
        return found

    monkeypatch.setattr(beside, "answers_of", answers)
    page = " ".join(restructured(beside.lines(SimpleNamespace(executions=(), mends={}), ACTS)).split())
    page = page.replace("\\", "")
    share = "success_ratio 50\u00a0% (6.76\u00a0% to 93.24\u00a0%)"
    assert page.count(f"{' '.join(share.split())} - {' '.join(share.split())} - —") == 1, page
    assert page.count("0 ± 0 ns (n = 2) - 0 ± 0 ns (n = 2) - —") == 1, page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"failed": "no_frame"}, ""),
        ({"failed": "no_luck"}, "failed as no_luck, not as"),
        ({"failed_by": "CNI-10"}, "CNI-10 of a start that did not fail"),
    ],
)
def test_a_failure_that_cannot_be_is_inconsistent(change, said) -> None:
    spec = replace(STAND_UPS.spec, cycles=1, number=1)
    result = ActsResult(lives=(life(**change),), wall_ns=9000 * MS)
    found = ACTS.assessed(spec, result)
    assert found.validity is (Validity.INCONSISTENT if said else Validity.VALID)
    assert said in found.reason
    refused = ACTS.assessed(replace(spec, counts_failures=False), result)
    assert ("failure ends the execution" in refused.reason) is ("failed" in change)


def test_a_start_that_neither_failed_nor_forwarded_is_no_valid_execution() -> None:
    one = life(first_frame_ns=None, received_frames=0, last_frame_ns=None, not_before_ns=None)
    spec = replace(STAND_UPS.spec, cycles=1, number=1)
    found = ACTS.assessed(spec, ActsResult(lives=(one,), wall_ns=9000 * MS))
    assert found.validity is Validity.INCOMPLETE


def test_how_many_fit_is_a_number_only_where_every_execution_met_a_limit() -> None:
    full = lived([""] * 12 + ["no_network"], together=True)
    outcome = answered(FIT, [full, full])
    told = {one.metric: one.number for one in outcome.values}
    assert (outcome.type, told["pod_capacity.mean"]) == (OutcomeType.MEASURED, 12)
    endless = lived([""] * FIT.spec.cycles, together=True)
    outcome = answered(FIT, [endless, endless])
    assert (outcome.type, outcome.values) == (OutcomeType.AT_CEILING, ())
    assert outcome.statement == "no limit up to 64 pods"
    outcome = answered(FIT, [full, endless])
    assert (outcome.type, outcome.values) == (OutcomeType.UNSTABLE, ())
    assert "1 of 2 executions met a limit" in outcome.reason


def test_fewer_pods_than_asked_for_without_a_failure_are_no_limit() -> None:
    found = ACTS.assessed(replace(FIT.spec, number=1), lived([""] * 12, together=True))
    assert (found.validity, found.reason) == (Validity.INCOMPLETE, "12 of 64 pods were made")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TestbedError("CNI-10", "network", found="x"), Failure.NO_NETWORK),
        (DriverError("POD-05", "pod", found="ended"), Failure.NOT_BOOTED),
        (TestbedError("KUBE-40", "pod a was not placed on a node", found="x"), Failure.NOT_SCHEDULED),
        (DriverError("KUBE-40", "pod a", found="Pending; FailedCreatePodSandBox: x"), Failure.NO_NETWORK),
        (DriverError("KUBE-40", "pod a", found="CrashLoopBackOff"), Failure.NOT_BOOTED),
        (TestbedError("KUBE-23", "pod a", found="exceeded quota"), Failure.NOT_SCHEDULED),
        (DriverError("CLOUD-17", "server", found="No valid host was found"), Failure.NOT_SCHEDULED),
        (DriverError("NODE-03", "node", found="gone"), None),
        (DriverError("POD-06", "pod", found="cgroup left"), None),
    ],
)
def test_an_error_is_a_failure_of_a_start_or_none_of_its(error, kind) -> None:
    assert failure_of(error) is kind


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_share_is_clopper_and_pearsons(counted) -> None:
    hits, count = counted
    found = proportion(hits, count)
    assert 0 <= found.low <= hits / count <= found.high <= 1

    def at_most(k: int, share: float) -> float:
        return sum(comb(count, i) * share**i * (1 - share) ** (count - i) for i in range(k + 1))

    if hits:
        assert 1 - at_most(hits - 1, found.low) == pytest.approx(0.025, abs=1e-6)
    if hits < count:
        assert at_most(hits, found.high) == pytest.approx(0.025, abs=1e-6)


def test_no_attempt_has_no_share() -> None:
    for hits, count in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="hits"):
            proportion(hits, count)
