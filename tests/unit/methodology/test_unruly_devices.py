"""Devices without a steady rate, and those that lose frames at any load, get no plain number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bmwg.methodology.records import Direction, OutcomeType, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.search.contradictions import contradiction
from bmwg.methodology.simulated_devices import restless
from bmwg.methodology.simulated_devices.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Device, HardLimit, LuckZone, SoftKnee
from bmwg.methodology.simulated_devices.restless import POLICY, Tally
from bmwg.methodology.simulated_devices.study import holds
from bmwg.methodology.simulated_devices.unruly import (
    Bistable,
    CorrelatedBursts,
    Fatiguing,
    NonMonotone,
    PerFrameLossy,
)
from bmwg.methodology.trial.judging import JudgedTrial

SEARCHES = {
    "bisection": bisect(verification=3),
    "tst009": verify_loss(trials=2),
    "mlrsearch": mlrsearch(),
    "mlrsearch-half": mlrsearch(sum_s=120.0, exceed_ratio=0.5),
}
CASES = 30


def tally(make: Callable[[int], Device], search: Algorithm) -> Tally:
    return restless.tally(make, search, cases=CASES)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_device_that_tires_gets_no_plain_number(search: str) -> None:
    """TST009 and MLRsearch answered it by two different plain numbers before."""
    assert tally(lambda fps: Fatiguing(limit_fps=fps, fading_per_s=5e-4), SEARCHES[search]).plain == 0


@pytest.mark.parametrize("search", SEARCHES)
def test_a_forwarder_that_drops_one_in_100000_gets_no_plain_number(search: str) -> None:
    """It was answered as a plain number of 51,225 and 53,703 before."""
    assert tally(lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-5), SEARCHES[search]).plain == 0


@pytest.mark.parametrize("search", SEARCHES)
def test_bursts_that_take_the_testers_cpu_with_them_give_no_plain_number(search: str) -> None:
    assert tally(lambda fps: CorrelatedBursts(limit_fps=fps, share=0.7), SEARCHES[search]).plain == 0


@pytest.mark.parametrize("search", ["tst009", "mlrsearch", "mlrsearch-half"])
def test_loss_at_half_of_what_was_found_is_seen(search: str) -> None:
    assert tally(lambda fps: NonMonotone(limit_fps=fps), SEARCHES[search]).wrong == 0


def test_a_device_of_two_states_is_seldom_taken_for_one_of_one() -> None:
    """By luck alone it stays in one state while a bound is tried again; no search can tell."""
    found = tally(lambda fps: Bistable(limit_fps=fps, changes=0.4), SEARCHES["bisection"])
    assert found.wrong <= CASES // 3


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "make",
    [lambda fps: HardLimit(limit_fps=fps), lambda fps: SoftKnee(knee_fps=fps)],
    ids=["hard", "soft"],
)
def test_a_steady_device_keeps_its_plain_number(make: Callable[[int], Device], search: str) -> None:
    seen = tally(make, SEARCHES[search])
    assert (seen.plain, seen.wrong) == (CASES, 0)


def test_a_limit_that_varies_by_a_tenth_is_no_contradiction() -> None:
    for seed in range(CASES):
        device = LuckZone(limit_fps=500_000, zone=0.1)
        bench = ModelBench(device=device, seed=seed, policy=POLICY)
        found = SEARCHES["bisection"].answer(bench)
        assert not contradiction(bench.trials, lower_fps=found.lower_fps, upper_fps=found.upper_fps)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_worse_direction_is_the_answer_of_both(search: str) -> None:
    for seed in range(5):
        bench = ModelBench(
            device=HardLimit(limit_fps=600_000),
            reverse=HardLimit(limit_fps=300_000),
            seed=seed,
            policy=POLICY,
        )
        found = SEARCHES[search].answer(bench)
        assert found.type is OutcomeType.MEASURED
        assert holds(found, 300_000, SEARCHES[search])
        assert {trial.result.spec.direction for trial in bench.trials} == {Direction.BOTH}


def trial(seq: int, load_fps: int, lost: int, duration_s: float = 1.0) -> JudgedTrial:
    spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=duration_s)
    sent = spec.intended_frames
    stream = StreamCounts(intended_frames=sent, sent_frames=sent, received_frames=sent - lost)
    result = TrialResult(spec=spec, streams=(stream,), wall_time_ns=10**9)
    return JudgedTrial(seq=seq, result=result, validity=Validity.VALID)


@pytest.mark.parametrize(
    ("trials", "lower", "upper", "said"),
    [
        ([trial(1, 100, 0), trial(2, 200, 0)], 100, None, ""),
        ([trial(1, 100, 5), trial(2, 200, 0)], 200, None, "100 frames/s lost frames (trials [1]) and 200"),
        ([trial(1, 100, 5), trial(2, 100, 0), trial(3, 200, 0)], 200, None, ""),
        ([trial(1, 170, 5), trial(2, 200, 0)], 200, None, ""),
        (
            [trial(1, 200, 0), trial(2, 205, 60)],
            200,
            205,
            "205 frames/s came through at 145 frames/s (trial 2)",
        ),
        ([trial(1, 200, 0), trial(2, 205, 30)], 200, 205, ""),  # as a shared machine moves a device
        ([trial(1, 200, 0), trial(2, 400, 300)], 200, 205, ""),  # far above, a device may fall
        ([trial(1, 250, 0), trial(2, 200, 5)], 100, 200, "250 frames/s lost none (trial 1) and 200"),
        ([trial(1, 250, 0, 0.2), trial(2, 200, 5)], 100, 200, ""),  # what a buffer may carry
        (
            [trial(1, 100_000, 1), trial(2, 50_000, 1)],
            40_000,
            50_000,
            "loss does not depend on load: a ratio",
        ),
        ([trial(1, 100_000, 900), trial(2, 50_000, 1)], 40_000, 50_000, ""),
        ([trial(1, 100_000, 49_000), trial(2, 50_000, 49_000)], None, 50_000, ""),
    ],
)
def test_trials_contradict_an_answer(
    trials: list[JudgedTrial], lower: int | None, upper: int | None, said: str
) -> None:
    found = contradiction(trials, lower_fps=lower, upper_fps=upper)
    assert found.startswith(said)
    assert bool(found) == bool(said)
