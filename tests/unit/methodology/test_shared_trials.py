"""What goals of one search share of the trials after it, and what each has to take itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, Direction, FrameFormat, OutcomeType, Validity
from bmwg.methodology.search import closing, stepwise
from bmwg.methodology.search.contradictions import APART
from bmwg.methodology.search.stepwise import Step, reusing, valid_trial
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.traffic import Traffic

CELL = Cell(
    path="pvp",
    hosting="pod",
    function="kernel-l3",
    network="bridge",
    frame_octets=64,
    frame_format=FrameFormat.IPV4_UDP,
    direction=Direction.FORWARD,
)
OFFER = Traffic(frame_octets=64)


def taken(*loads: int, limit_fps: int = 100_000):
    bench = ModelBench(device=HardLimit(limit_fps=limit_fps), seed=1)
    return [bench.measure(OFFER.spec(load, 0.1)) for load in loads], bench


def tried(load: int, *, in_turn: bool = False):
    trial = yield from valid_trial(
        OFFER.spec(load, 0.1), "closing", max_repeats=1, short_limit=1, in_turn=in_turn
    )
    return trial


def both(*loads: int, in_turn: bool = False):
    found = []
    for load in loads:
        found.append((yield from tried(load, in_turn=in_turn)))
    return [trial.seq for trial in found]


def wanted(load: int, upper: int):
    return closing.Closing(
        offer=OFFER,
        load=load,
        half=load // 2,
        duration_s=0.1,
        loss_ratio=0.0,
        exceed_ratio=0.5,
        max_repeats=1,
        short_limit=1,
        upper=upper,
        upper_ratio=0.5,
        step=0.03,
        max_load=1_000_000,
    )


def test_a_trial_serves_once_and_in_its_order():
    earlier, bench = taken(1000, 2000, 1000)
    run = stepwise.run(reusing(both(1000, 1000, 1000, 2000), earlier), bench.measure)
    assert run.found == [1, 3, 4, 2]
    assert [trial.seq for trial in run.trials] == [4]


def test_a_trial_that_tells_by_what_came_before_it_is_taken_in_its_turn():
    earlier, bench = taken(1000, 2000)
    run = stepwise.run(reusing(both(1000, 2000, in_turn=True), earlier), bench.measure)
    assert run.found == [3, 4]


def test_the_rest_before_a_load_that_fell_is_taken_in_its_turn():
    fell = closing.Ended(refused="95000 frames/s lost frames", fell=95_000)
    earlier, bench = taken(50_000, 50_000, 50_000, limit_fps=90_000)
    run = stepwise.run(reusing(closing.lower_end(wanted(100_000, 103_000), fell), earlier), bench.measure)
    rests = [trial.seq for trial in run.trials if trial.load == 50_000]
    assert len(rests) == closing.RESTED_TRIALS
    assert set(rests).isdisjoint({1, 2, 3})


def test_both_ends_together_move_by_two_fifths_at_most():
    """A device of 255,000, of which 297,000 was found: the upper end decides how far is down."""
    fell = closing.Ended(refused="282150 frames/s lost frames", fell=282_150)
    for upper, held in ((306_000, True), (430_000, False)):
        bench = ModelBench(device=HardLimit(limit_fps=255_000), seed=1)
        found = stepwise.run(closing.lower_end(wanted(297_000, upper), fell), bench.measure).found
        assert bool(found.lower) is held
        assert bool(found.refused) is not held
        assert upper - (found.lower or upper) <= closing.MOST_WIDTH * upper


def measured(device):
    bench = ModelBench(device=device, seed=2)
    phases: list[str] = []

    def trial(spec, phase):
        phases.append(phase)
        return bench.measure(spec)

    asked = Asked(
        profile=load_profile("quick"), cell=CELL, outcome_id="CN", trial=trial, max_load_fps=1_000_000
    )
    answered = measurement("throughput").measure(asked)
    return answered, [one for one, phase in zip(bench.trials, phases, strict=True) if phase == closing.PHASE]


def test_goals_of_one_search_share_the_trials_after_it():
    answered, after = measured(HardLimit(limit_fps=300_000))
    first, second = answered.outcomes
    assert first.lower.load_fps == second.lower.load_fps
    assert {first.type, second.type} == {OutcomeType.MEASURED}
    assert first.trials == second.trials
    assert interval(first) is not None
    loads = Counter((trial.load, trial.spec.duration_s) for trial in after)
    above = closing.above_fps(first.upper.load_fps, 1_000_000)
    assert above >= APART * first.upper.load_fps
    # half, above and the longer trial once for both goals, the load three times
    assert loads[first.lower.load_fps // 2, 0.1] == 1
    assert loads[above, 0.1] == 1
    assert loads[first.lower.load_fps, 0.1] == 3
    assert loads[first.lower.load_fps, 0.5] == 1


def test_an_invalid_trial_stands_for_none():
    def one():
        return (yield Step(spec=OFFER.spec(1000, 0.1), phase="closing")).seq

    (earlier,), bench = taken(1000)
    set_aside = replace(earlier, validity=Validity.TESTER_STALLED)
    assert stepwise.run(reusing(one(), [set_aside]), bench.measure).found == 2
    assert stepwise.run(reusing(one(), [earlier]), bench.measure).found == 1
