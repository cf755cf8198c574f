"""What searches cost without traffic: time a trial, replay and classification of 100,000; as JSON.

The replay of MLRsearch is split into the time of the package, which chooses the loads, and ours.
"""

import json
import resource
import statistics
import time
from collections.abc import Callable

from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch.classify import goal_result, trial_outputs
from bmwg.methodology.mlrsearch.goal import rfc2544_goal
from bmwg.methodology.search import tst009
from bmwg.methodology.search.tst009 import Tst009Goal
from bmwg.methodology.simulated_devices.algorithms import bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.simulated_devices.page import two_goals
from bmwg.methodology.trial.traffic import Traffic

TRIALS = 100_000
REPEATS = 5


def timed(act) -> dict[str, float]:
    """Return median, least and most seconds of CPU over the repeats."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        act()
        times.append(time.process_time() - started)
    return {"median_s": statistics.median(times), "min_s": min(times), "max_s": max(times)}


def shares(act: Callable[[], object]) -> dict[str, float]:
    """Return of one replay the seconds of CPU within the package, in answering it, and around it."""
    spent = {"package": 0.0, "answers": 0.0}
    searching, answering = engine.MultipleLossRatioSearch.search, engine._Controller.measure

    def clocked(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def timed_call(*arguments: object, **named: object) -> object:
            started = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                spent[name] += time.process_time() - started

        return timed_call

    engine.MultipleLossRatioSearch.search = clocked("package", searching)
    engine._Controller.measure = clocked("answers", answering)
    started = time.process_time()
    try:
        act()
    finally:
        engine.MultipleLossRatioSearch.search, engine._Controller.measure = searching, answering
    whole = time.process_time() - started
    return {
        "package_s": spent["package"] - spent["answers"],
        "answers_s": spent["answers"],
        "classification_and_set_up_s": whole - spent["package"],
        "whole_s": whole,
    }


def main() -> None:
    """Measure and print."""
    figures: dict[str, object] = {}
    for algorithm in (bisect(), verify_loss(), mlrsearch()):
        trials = 0

        def searches(algorithm=algorithm) -> None:
            nonlocal trials
            trials = sum(
                algorithm.answer(ModelBench(device=HardLimit(limit_fps=400_000), seed=seed)).trials
                for seed in range(100)
            )

        spent = timed(searches)
        figures[f"ms a trial, model included: {algorithm.name}"] = {
            name.replace("_s", "_ms"): round(1e3 * value / trials, 4) for name, value in spent.items()
        }
    bench = ModelBench(device=HardLimit(limit_fps=400_000), seed=1)
    goal = Tst009Goal(offer=Traffic(frame_octets=64), duration_s=60.0, step_fps=5000, max_load_fps=1_500_000)
    record = [bench.measure(goal.trial(index % goal.count)) for index in range(TRIALS)]
    figures["classify 100,000 trials"] = timed(
        lambda: goal_result(trial_outputs(record), rfc2544_goal(), max_load_fps=1_500_000)
    )
    kept = []
    tst009.search(lambda spec: kept.append(bench.measure(spec)) or kept[-1], goal)
    figures["replay 100,000 trials of TST009 searches"] = timed(
        lambda: [tst009.legal_next(kept, goal) for _ in range(TRIALS // len(kept))]
    )
    wanted = two_goals()
    found = engine.search(ModelBench(device=HardLimit(limit_fps=400_000), seed=1).measure, wanted)

    def replay() -> None:
        for _ in range(TRIALS // len(found.trials)):
            engine.legal_next(found.trials, wanted)

    figures["replay 100,000 trials of MLRsearch searches"] = timed(replay)
    figures["the same, split"] = shares(replay)
    figures["peak memory of this process, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
