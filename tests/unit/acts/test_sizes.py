"""The report's table of sizes beside times to start: pods and guests, and what is not recorded."""

from __future__ import annotations

from types import SimpleNamespace

from tests.unit.acts.lives import PLAN, START, result, spec

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted
from bmwg.reports.kinds.acts import sizes
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.render.forms.rst import restructured

GUEST = next(one for one in profile.PROFILES.load("moves").plan() if one.test_id == "LC-START-3")
CHURN = next(one for one in PLAN if one.test_id == "LC-CHURN-1")
ARCHIVE = Booted(
    parts={
        booted.KERNEL: {Counted.LENGTH: 40_000_000, Counted.ALLOCATED: 40_001_536},
        booted.INITRAMFS: {Counted.LENGTH: 3_000_001, Counted.ALLOCATED: 3_002_368},
    }
).as_builtins()
IMAGE = Booted(parts={booted.LAYERS: {Counted.PACKED: 900, Counted.UNPACKED: 2_000}}).as_builtins()


def answered(planned, deployment: str, start_ms: int) -> Answered:
    results = [result(start_ms, cycles=planned.spec.cycles) for _ in range(planned.asked.wanted)]
    tried = [ACTS.tried(number, spec(planned, number), one) for number, one in enumerate(results, 1)]
    outcome = ACTS.answered(planned, tried)
    return Answered(
        outcome=outcome, planned=planned, results=tuple(results), deployment=deployment, by_number={}
    )


def text(deployments) -> str:
    run = SimpleNamespace(platform={"deployments": deployments})
    answers = [answered(START, "a", 1500), answered(GUEST, "b", 5200), answered(CHURN, "c", 900)]
    assert all(one.measured for one in answers)
    lines = sizes.lines(run, answers, lambda one: one.outcome.cell.path)
    return " ".join(restructured(lines).replace("\\", "").replace("\u00a0", " ").split())


def test_pods_and_guests_stand_in_one_table_with_octets_and_the_time_to_start() -> None:
    found = text(
        {
            "a": {"pod": {booted.KEY: booted.ROOT_OF_ITS_NODE.as_builtins()}},
            "b": {"machine": {booted.KEY: ARCHIVE}},
            "c": {"pod": {booted.KEY: IMAGE}},
        }
    )
    assert (
        "* - pod: pvp - none: the root of its node, read-only - — - — - — - — - 1.5 s (1.5 s to 1.5 s)"
        in found
    )
    assert "* - guest: pvp-moving - kernel and initramfs - 43,000,001 - 43,003,904 - — - — - 5.2 s" in found
    assert "* - pod: pvp - container image - — - — - 900 - 2,000 - 900 ms" in found
    for counted in (Counted.LENGTH, Counted.ALLOCATED, Counted.PACKED, Counted.UNPACKED):
        assert f"octets: {booted.WORDS[counted]}" in found
    assert booted.WORDS[Counted.ARCHIVE] not in found, "a column in which nothing stands"
    assert "the first test frame came out behind it" in found


def test_a_run_from_before_has_no_table_and_one_of_both_says_what_is_not_recorded() -> None:
    assert text({"a": {"pod": {}}, "b": {}}) == ""
    found = text({"a": {"pod": {}}, "b": {"machine": {booted.KEY: ARCHIVE}}})
    assert "* - pod: pvp - not recorded - — - — - 1.5 s (1.5 s to 1.5 s)" in found
