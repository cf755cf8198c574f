"""A profile that counts every loss says beside an answer how many of its trials had a stall."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.methodology.stalled import StalledBench, StallLaw

from bmwg.methodology.answers import throughput
from bmwg.methodology.answers.believed import believed
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    Bound,
    Cell,
    Outcome,
    OutcomeType,
    Quantity,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.simulated_devices.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.counted_stalls import remark, stalled
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy

CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
COUNTING = load_profile("rfc2544").policy
ASIDE = load_profile("guest").policy


def trial(seq: int, load_fps: int, lost: int, stall_ns: int = 0, *, tester: bool = False) -> JudgedTrial:
    spec = TrialSpec(load_fps=load_fps, duration_s=1.0, frame_octets=64)
    gone = CpuWatch(cpu=1, tester=tester, absences=int(stall_ns > 0), absent_ns=stall_ns, longest_ns=stall_ns)
    stream = StreamCounts(intended_frames=load_fps, sent_frames=load_fps, received_frames=load_fps - lost)
    seen = HostDisturbance(largest_stall_ns=() if tester else ((1, stall_ns),), watches=(gone,))
    result = TrialResult(spec=spec, streams=(stream,), wall_time_ns=10**9, disturbance=seen)
    return JudgedTrial(seq=seq, result=result, validity=Validity.VALID)


def found(
    lower: int | None = 100_000, upper: int | None = 110_000, kind: OutcomeType = OutcomeType.MEASURED
) -> Outcome:
    return Outcome(
        outcome_id="id",
        metric=throughput.METRIC,
        cell=CELL,
        type=kind,
        values=(Quantity(metric=throughput.METRIC, number=lower, unit="frames/s"),) if lower else (),
        lower=Bound(load_fps=lower, trials=(1,)) if lower else None,
        upper=Bound(load_fps=upper, trials=(2,)) if upper else None,
    )


def test_the_losses_that_stalls_may_have_brought_about_are_counted() -> None:
    trials = [
        trial(1, 100_000, 0),
        trial(2, 110_000, 900, 9_000_000),
        trial(3, 110_000, 40),
        trial(4, 105_000, 700, 12_300_000),
        trial(5, 400_000, 9_000, 2_000_000),  # above the upper bound: it lowers nothing
    ]
    assert remark(found(), trials, COUNTING) == (
        "in 3 of 5 trials a CPU of the SUT was gone, for at most 12.3 ms at once, and what was lost meanwhile"
        " counts as loss: 2 of the 3 trials that lost frames at 110000 frames/s or below had such a stall, so"
        " stalls of the host may have lowered this answer"
    )


def test_stalls_that_lost_nothing_below_the_upper_bound_lowered_nothing() -> None:
    said = remark(found(), [trial(1, 100_000, 0, 3_000_000), trial(2, 110_000, 90)], COUNTING)
    assert said.startswith("in 1 of 2 trials")
    assert "lowered" not in said


@pytest.mark.parametrize(
    ("trials", "policy"),
    [
        ([trial(1, 100_000, 0), trial(2, 110_000, 90)], COUNTING),  # no stall
        ([trial(2, 110_000, 90, 9_000_000)], ASIDE),  # set aside, and told as that
        ([trial(2, 110_000, 90, 9_000_000, tester=True)], COUNTING),  # the tester's own is repeated
        ([trial(2, 110_000, 90, 900_000)], COUNTING),  # 99 frames, which a queue takes
    ],
    ids=["none", "set aside", "the tester's", "too short"],
)
def test_nothing_is_said_without_such_a_stall(trials: list[JudgedTrial], policy: TrialPolicy) -> None:
    assert remark(found(), trials, policy) == ""


@pytest.mark.parametrize(("load", "told"), [(200_000, False), (600_000, True)])
def test_a_stall_is_as_long_as_a_queue_takes_to_fill(load: int, told: bool) -> None:
    assert bool(stalled(trial(1, load, 0, 600_000), COUNTING)) is told


def test_a_blind_watchdog_shows_no_stall() -> None:
    seen = trial(2, 110_000, 90, 9_000_000)
    blind = replace(
        seen.result.disturbance, watches=(replace(seen.result.disturbance.watches[0], throttled=1),)
    )
    held = replace(seen, result=replace(seen.result, disturbance=blind))
    assert remark(found(), [held], COUNTING) == ""


def test_loss_at_the_lowest_load_says_so_as_well() -> None:
    floor = found(None, 1_000, OutcomeType.AT_FLOOR)
    said = remark(floor, [trial(1, 1_000, 3, 300_000_000)], COUNTING)
    assert "all of the 1 trials that lost frames at 1000 frames/s or below" in said
    assert believed(floor, [trial(1, 1_000, 3, 300_000_000)], most_ratio=0.1, continued=False).quality == ()


@pytest.mark.parametrize(
    "search", [bisect(verification=3), verify_loss(trials=2), mlrsearch()], ids=lambda one: one.name
)
def test_an_answer_that_stalls_lowered_is_told_as_that(search: Algorithm) -> None:
    """At one stall a second the number is what a queue takes up, far below the device."""
    told = 0
    for seed in range(12):
        device = HardLimit(limit_fps=300_000)
        law = StallLaw(per_s=1.0)
        bench = StalledBench(device=device, carries_fps=300_000, seed=seed, policy=COUNTING, sut=law)
        answer = search.answer(bench)
        if answer.type is not OutcomeType.MEASURED:
            continue
        assert answer.lower_fps is not None
        assert answer.lower_fps < 150_000
        outcome = found(answer.lower_fps, answer.upper_fps)
        now = believed(outcome, bench.trials, most_ratio=0.1, continued=False, by_cpu=True, policy=COUNTING)
        assert any("may have lowered this answer" in one for one in now.quality)
        told += 1
    assert told


def test_a_quiet_machine_is_not_accused() -> None:
    bench = StalledBench(device=HardLimit(limit_fps=300_000), carries_fps=300_000, seed=1, policy=COUNTING)
    answer = bisect(verification=3).answer(bench)
    assert answer.type is OutcomeType.MEASURED
    assert remark(found(answer.lower_fps, answer.upper_fps), bench.trials, COUNTING) == ""
