"""What searches and classification cost in time and memory, without any traffic."""

import random
import time
import tracemalloc

from bmwg.methodology.mlrsearch.classify import goal_result, trial_outputs
from bmwg.methodology.mlrsearch.goal import rfc2544_goal, tst009_goal
from bmwg.methodology.search import tst009
from bmwg.methodology.search.tst009 import Tst009Goal
from bmwg.methodology.simulated_devices.algorithms import bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.traffic import Traffic

TRIALS = 100_000


def test_a_search_takes_less_than_a_millisecond_a_trial():
    for algorithm in (bisect(), verify_loss(), mlrsearch()):
        trials, started = 0, time.process_time()
        for seed in range(50):
            trials += algorithm.answer(ModelBench(device=HardLimit(limit_fps=400_000), seed=seed)).trials
        assert (time.process_time() - started) / trials < 1e-3


def test_a_hundred_thousand_trials_are_classified_in_seconds():
    dice = random.Random(1)
    bench = ModelBench(device=HardLimit(limit_fps=400_000), seed=1)
    goal = Tst009Goal(offer=Traffic(frame_octets=64), duration_s=60.0, step_fps=1, max_load_fps=1_000_000)
    trials = [bench.measure(goal.trial(dice.randrange(1_000_000))) for _ in range(TRIALS)]
    started = time.process_time()
    found = [
        goal_result(trial_outputs(trials), one, max_load_fps=10**6) for one in (rfc2544_goal(), tst009_goal())
    ]
    assert time.process_time() - started < 5
    assert found[0].relevant_lower_bound_fps <= 400_000 < found[0].relevant_upper_bound_fps
    tracemalloc.start()
    goal_result(trial_outputs(trials[: TRIALS // 10]), rfc2544_goal(), max_load_fps=10**6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 10 * peak < 300e6


def test_replaying_a_hundred_thousand_trials_takes_seconds():
    goal = Tst009Goal(offer=Traffic(frame_octets=64), duration_s=60.0, step_fps=5000, max_load_fps=1_500_000)
    bench = ModelBench(device=HardLimit(limit_fps=400_000), seed=1)
    kept = []

    def measure(spec):
        kept.append(bench.measure(spec))
        return kept[-1]

    tst009.search(measure, goal)
    times = TRIALS // len(kept)
    started = time.process_time()
    for _ in range(times):
        tst009.legal_next(kept, goal)
    assert time.process_time() - started < 5
