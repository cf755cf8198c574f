"""What a search for a goal that forgives trials answers: steady devices their number, others none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from goals_of_share import (
    CASES,
    GOAL,
    OF_LITTLE_LOSS,
    QUICK,
    LosesInAShare,
    after,
    answers,
    eight_checks,
    outcomes_of_quick,
    share_of,
)

from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.mlrsearch.goal import Claim
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search import closing, steadiness, stepwise, sustained
from bmwg.methodology.search.contradictions import contradiction
from bmwg.methodology.simulated_devices.algorithms import mlrsearch
from bmwg.methodology.simulated_devices.bench import ModelBench, ModelHost, ModelTester
from bmwg.methodology.simulated_devices.device import HardLimit, Passed, WarmCache
from bmwg.methodology.simulated_devices.unruly import Bistable, Hysteretic
from bmwg.methodology.trial.traffic import Traffic


@pytest.mark.parametrize("stalls_per_s", [0, 2, 4])
def test_a_steady_device_keeps_its_number_whatever_stalls(stalls_per_s):
    host = ModelHost(stalls_per_s=stalls_per_s, stall_ns=2_000_000)
    plain = right = 0
    for made, answer in answers(GOAL, lambda fps: HardLimit(limit_fps=fps, buffer_frames=256), host=host):
        plain += answer.type is OutcomeType.MEASURED
        right += answer.type is OutcomeType.MEASURED and (
            answer.lower_fps <= 1.005 * made.limit_fps and made.limit_fps <= 1.005 * answer.upper_fps
        )
    assert plain >= CASES - 1
    assert right == plain


@pytest.mark.parametrize("share_of_a_second", [0.0003, 0.002, 0.01, 0.02])
def test_what_a_bucket_adds_is_within_the_interval(share_of_a_second):
    def device(fps):
        return HardLimit(limit_fps=fps, buffer_frames=int(fps * share_of_a_second))

    for made, answer in answers(GOAL, device):
        assert answer.type is OutcomeType.MEASURED
        assert answer.lower_fps <= 1.005 * made.limit_fps
        assert made.limit_fps <= 1.005 * answer.upper_fps


def test_what_only_a_buffer_carries_has_no_number():
    for _, answer in answers(GOAL, lambda fps: HardLimit(limit_fps=fps, buffer_frames=fps)):
        assert answer.type is not OutcomeType.MEASURED


@pytest.mark.parametrize(
    "device",
    [
        lambda fps: LosesInAShare(limit_fps=fps, share=0.4),
        lambda fps: Bistable(limit_fps=fps, changes=0.4),
        lambda fps: Hysteretic(limit_fps=fps),
    ],
    ids=["loses in 40 % of all trials", "two states", "falls once overloaded"],
)
def test_a_device_without_a_rate_has_no_number(device):
    plain = sum(answer.type is OutcomeType.MEASURED for _, answer in answers(GOAL, device))
    assert plain <= 1


@pytest.mark.parametrize(
    "device",
    [lambda fps: Bistable(limit_fps=fps, changes=0.4), lambda fps: Hysteretic(limit_fps=fps)],
    ids=["two states", "falls once overloaded"],
)
def test_a_goal_that_allows_some_loss_gives_such_a_device_no_number_either(device):
    plain = sum(answer.type is OutcomeType.MEASURED for _, answer in answers(OF_LITTLE_LOSS, device))
    assert plain <= 1


def test_trials_contradict_a_goal_by_more_loss_than_it_allows():
    claim = Claim(loss_ratio=0.005, exceed_ratio=0.5, duration_s=0.1)

    def said(load, limit_fps, most_loss=0.005):
        bench = ModelBench(device=HardLimit(limit_fps=limit_fps), seed=1)
        trials = [bench.measure(Traffic(frame_octets=64).spec(load, 0.1)) for _ in range(12)]
        asked = replace(claim, loss_ratio=most_loss)
        return contradiction(trials, lower_fps=100_000, upper_fps=103_000, claim=asked)

    assert said(100_000, 99_700) == ""  # loses 0.3 %, which the goal allows
    assert "came through at 70000" in said(100_000, 70_000)
    assert "70000 frames/s lost more than allowed" in said(70_000, 60_000)
    assert "150000 frames/s lost no more than allowed" in said(150_000, 149_700)
    assert said(150_000, 149_700, most_loss=0.2) == ""  # what a device loses a quarter above its rate


def test_a_bound_that_loses_by_luck_alone_is_no_bound_of_a_bisection():
    """A policer that a tester's bursts overflow loses in a part of the trials far below its rate."""

    @dataclass(kw_only=True)
    class Unlucky(HardLimit):
        def passes(self, frames, duration_s, dice):
            received = min(frames, int(self.limit_fps * duration_s))
            unlucky = frames > 0.7 * self.limit_fps * duration_s and dice.random() < 0.4
            return Passed(received=received - 3 * unlucky)

    wrong = 0
    for made, answer in answers(QUICK, lambda fps: Unlucky(limit_fps=fps)):
        if answer.type is OutcomeType.MEASURED:
            wrong += answer.upper_fps < made.limit_fps
    assert wrong == 0


@pytest.mark.parametrize(("loss_ratio", "exceed_ratio"), [(0.0, 0.5), (0.005, 0.0)])
def test_a_device_that_was_cold_has_no_number_by_a_goal_that_forgives(loss_ratio, exceed_ratio):
    """Of a conformance profile: the upper bound is not tried again there, the load far above it is."""
    search = mlrsearch(sum_s=120.0, loss_ratio=loss_ratio, exceed_ratio=exceed_ratio)
    for _, answer in answers(search, lambda fps: WarmCache(limit_fps=fps, cold_fps=fps // 2, warm_s=150.0)):
        assert answer.type is not OutcomeType.MEASURED


def test_the_upper_end_moves_to_where_most_trials_lose():
    found = after(HardLimit(limit_fps=112_000))
    assert found.refused == ""
    assert 112_000 < found.upper <= 116_000
    assert "the upper end moved from 103000" in found.remarks[0]


def test_an_upper_end_that_few_more_trials_cannot_show_moves():
    """Three quarters of the trials at it lose: neither kept nor clearly exceeded, for dozens of trials."""

    @dataclass(kw_only=True)
    class Often(HardLimit):
        def passes(self, frames, duration_s, dice):
            received = min(frames, int(self.limit_fps * duration_s))
            return Passed(received=received - (frames >= 10_250 and dice.random() < 0.75))

    for seed in range(10):
        bench = ModelBench(device=Often(limit_fps=104_000), seed=seed)
        found = stepwise.run(closing.upper_end(share_of()), bench.measure).found
        at_bound = [trial for trial in bench.trials if trial.load == 103_000]
        assert len(at_bound) <= closing.MOST_AT_END
        assert found.refused == ""
        assert found.upper is None or found.upper > 104_000


def test_an_upper_end_moves_to_a_load_near_the_step_that_the_search_has_tried():
    bench = ModelBench(device=HardLimit(limit_fps=104_000), seed=3)
    tried = tuple(bench.measure(Traffic(frame_octets=64).spec(106_300, 0.1)) for _ in range(11))
    found = stepwise.run(closing.upper_end(share_of(tried=tried)), bench.measure).found
    assert found.upper == 106_300
    assert len([trial for trial in bench.trials if trial.load == 106_300]) == 11


def test_more_checks_are_of_the_load_that_lost_frames():
    checks = eight_checks(load=100_000, upper=103_000)
    bench = ModelBench(device=LosesInAShare(limit_fps=101_000, share=0.5), seed=4)
    stepwise.run(steadiness.procedure(checks), bench.measure)
    loads = Counter(trial.load for trial in bench.trials)
    assert loads[154_500] == 4
    assert loads[95_000] > 4


@pytest.mark.parametrize("limit_fps", [120_000, 140_000, 155_000])
def test_a_machine_that_became_faster_is_told_as_wide_as_it_was(limit_fps):
    """What was found of a bad spell held to the end, and so did loads far above it."""
    found = after(HardLimit(limit_fps=limit_fps))
    assert found.refused == ""
    assert limit_fps < found.upper <= limit_fps / (1 - closing.MOST_STEP) + 1
    assert (1 - closing.MOST_WIDTH) * found.upper - 1 <= 100_000


@pytest.mark.parametrize(("limit_fps", "count"), [(102_000, 1), (120_000, 3), (170_000, 3)])
def test_an_upper_end_that_holds_after_all_other_trials_is_none(limit_fps, count):
    """The machine had a bad spell there: one trial that loses keeps the end, three that hold move it."""
    bench = ModelBench(device=HardLimit(limit_fps=limit_fps), seed=3)
    steps = closing.upper_end_again(share_of(upper=101_000), 103_000, 100_000)
    found = stepwise.run(steps, bench.measure).found
    assert len([trial for trial in bench.trials if trial.load == 103_000]) == count
    assert (found.upper or 103_000) > limit_fps or "the device's rate moves" in found.refused
    assert bool(found.refused) is (limit_fps == 170_000)


def test_without_an_upper_end_within_two_fifths_there_is_no_answer():
    assert "the device's rate moves" in after(HardLimit(limit_fps=170_000)).refused


def test_the_load_that_is_said_to_have_held_is_where_the_lower_end_stands():
    bench = ModelBench(device=HardLimit(limit_fps=160_000), seed=3)
    found = stepwise.run(closing.upper_end(share_of(), 90_000), bench.measure).found
    assert "90000 frames/s held, and 150000 frames/s lost" in found.refused


def test_a_search_without_a_step_has_its_own_upper_bound_or_none():
    assert "the device's rate moves" in after(HardLimit(limit_fps=104_000), step=0.0).refused


def test_the_lower_end_moves_to_what_holds_to_the_end():
    found = after(HardLimit(limit_fps=90_000))
    assert found.refused == ""
    assert (1 - closing.MOST_STEP) * 90_000 <= found.lower <= 90_000
    assert "the lower end moved to" in found.remarks[0]


def test_an_answer_of_which_three_fifths_no_longer_hold_is_refused():
    assert "did not hold at the end of the search" in after(HardLimit(limit_fps=60_000)).refused


def test_a_lower_end_that_is_moved_takes_few_trials_a_load():
    """At each of these loads seven of ten trials lose: neither kept nor clearly exceeded, for dozens."""

    @dataclass(kw_only=True)
    class Often(HardLimit):
        def passes(self, frames, duration_s, dice):
            received = min(frames, int(self.limit_fps * duration_s))
            return Passed(received=received - (frames >= 7_500 and dice.random() < 0.7))

    for seed in range(10):
        bench = ModelBench(device=Often(limit_fps=99_000), seed=seed)
        found = stepwise.run(closing.procedure(share_of()), bench.measure).found
        taken = Counter(trial.load for trial in bench.trials)
        moved = [load for load in taken if 75_000 <= load < 100_000]
        assert all(taken[load] <= closing.MOST_AT_END for load in moved)
        assert found.refused or found.lower < 100_000


def test_a_search_without_a_step_goes_down_for_nothing():
    assert "did not hold at the end of the search" in after(HardLimit(limit_fps=99_000), step=0.0).refused


def test_what_a_check_below_the_answer_lost_moves_the_lower_end_further():
    fell = closing.Ended(refused="95000 frames/s lost frames", fell=95_000)
    bench = ModelBench(device=HardLimit(limit_fps=90_000), seed=3)
    found = stepwise.run(closing.lower_end(share_of(), fell), bench.measure).found
    assert found.refused == ""
    assert (1 - closing.MOST_STEP) * 90_000 <= found.lower <= 90_000
    assert "95000 frames/s lost frames" in found.remarks[0]


def test_a_device_that_only_has_to_rest_depends_on_the_loads_before():
    fell = closing.Ended(refused="95000 frames/s lost frames", fell=95_000)
    bench = ModelBench(device=HardLimit(limit_fps=96_000), seed=3)
    found = stepwise.run(closing.lower_end(share_of(), fell), bench.measure).found
    assert "depends on the loads before" in found.refused


@dataclass(kw_only=True)
class Spell(HardLimit):
    """Carries three quarters of its rate for the first seconds of traffic, as in a bad spell of a machine."""

    spell_s: float
    seen_s: float = 0.0

    def passes(self, frames, duration_s, dice):
        share = 0.75 if self.seen_s < self.spell_s else 1.0
        self.seen_s += duration_s
        return Passed(received=min(frames, int(share * self.limit_fps * duration_s)))


def test_a_bad_spell_of_the_machine_is_within_the_interval():
    """It ends while the search is under way, or after it: what the device carries now is never outside."""
    plain = 0
    for spell_s in (2.0, 2.5, 3.0, 3.5):
        for made, answer in answers(GOAL, lambda fps, of=spell_s: Spell(limit_fps=fps, spell_s=of), cases=10):
            if answer.type is OutcomeType.MEASURED:
                plain += 1
                assert answer.lower_fps <= 1.005 * made.limit_fps
                assert 0.995 * made.limit_fps <= answer.upper_fps
    assert plain >= 20


def test_two_states_are_refused_however_wide_an_interval_may_be():
    """Where the load that was found lies between both states, the rate far above it tells the better one."""
    checks = eight_checks(load=110_000, upper=180_000)
    bench = ModelBench(device=Bistable(limit_fps=205_000, changes=0.5), seed=4)
    found = stepwise.run(steadiness.procedure(checks), bench.measure).found
    assert "unlike the others" in found.refused
    assert len(bench.trials) < checks.most  # more of them would have told nothing more


def test_loss_at_the_lowest_load_is_told_and_refused():
    found = after(LosesInAShare(limit_fps=101_000, share=0.4))
    assert found.refused.startswith("loss does not depend on load")


def test_a_long_trial_bounds_what_a_buffer_adds():
    def tried(buffer_frames):
        long = sustained.Sustained(
            offer=Traffic(frame_octets=64),
            found=110_000,
            load=110_000,
            duration_s=0.1,
            loss_ratio=0.0,
            max_repeats=5,
            short_limit=2,
        )
        bench = ModelBench(device=HardLimit(limit_fps=100_000, buffer_frames=buffer_frames), seed=1)
        return stepwise.run(sustained.procedure(long), bench.measure).found

    assert 110_000 * tried(1000).came_through == pytest.approx(100_000, rel=0.001)
    assert tried(110_000).came_through == pytest.approx(1.0)
    deep = sustained.Sustained(
        offer=Traffic(frame_octets=64),
        found=500_000,
        load=500_000,
        duration_s=0.1,
        loss_ratio=0.0,
        max_repeats=5,
        short_limit=2,
    )
    bench = ModelBench(device=HardLimit(limit_fps=100_000, buffer_frames=40_000), seed=1)
    assert "a buffer fills" in stepwise.run(sustained.procedure(deep), bench.measure).found.refused


def test_the_ends_of_an_interval_stand_beside_the_bounds_of_the_search():
    found = outcomes_of_quick(HardLimit(limit_fps=300_000, buffer_frames=3_000))[0]
    assert found.type is OutcomeType.MEASURED
    named = {value.metric.split(".")[0]: value.number for value in found.values}
    assert named["relevant_lower_bound"] == found.lower.load_fps
    assert named["relevant_upper_bound"] == found.upper.load_fps  # the search's, whatever came after
    low, high = interval(found)
    assert low == named["sustained_load"] <= 300_000 < found.lower.load_fps
    assert high == named.get("upper_end", found.upper.load_fps)


def test_each_goal_of_a_profile_asks_a_load_far_above_again_after_a_rest():
    outcomes = outcomes_of_quick(Hysteretic(limit_fps=300_000))
    assert [outcome.type for outcome in outcomes] == [OutcomeType.UNSTABLE] * 2
    assert all("depends on the loads before" in outcome.reason for outcome in outcomes)


def test_what_the_tester_cannot_send_is_neither_an_end_nor_a_bound_of_a_buffer():
    bench = ModelBench(device=HardLimit(limit_fps=112_000), seed=3, tester=ModelTester(limit_fps=105_000))
    found = stepwise.run(closing.procedure(share_of()), bench.measure).found
    assert "the tester fell short of" in found.refused
    assert found.upper is None
    long = sustained.Sustained(
        offer=Traffic(frame_octets=64),
        found=110_000,
        load=110_000,
        duration_s=0.1,
        loss_ratio=0.0,
        max_repeats=5,
        short_limit=2,
    )
    told = stepwise.run(sustained.procedure(long), bench.measure).found
    assert told.came_through is None
    assert "a buffer's part is unknown" in told.remarks[0]
