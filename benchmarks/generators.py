"""Traffic generators side by side: one device under test whose truth is known, searched with each of them.

A policer on the way out of a routing node lets a stated rate through (60 octets a frame of 64: no Linux queue
counts the FCS). Two goals: throughput without loss by bisection at a low rate, and one per cent of loss by
MLRsearch higher up. For each generator (a testbed file) and run the bounds, and whether the intervals of two
generators agree within the sum of their widths. Prints JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from known_truth import CELL

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import TrafficDriver
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.search import bisection
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge
from bmwg.methodology.trial.traffic import Traffic

WIRE_BITS = 480  # of a frame of 64 octets in a Linux queue
BUCKET_FRAMES = 50
WIDTH = 0.02
LOSS_RATIO = 0.01
DURATION_S = 1.0
ENVELOPE_FPS = 10_000_000
DRAIN_S = 0.05
POLICY = TrialPolicy(set_aside_host_stalls=True, max_stall_frames=200)  # as profile low-rate
Measure = Callable[[TrialSpec], JudgedTrial]
Bounds = tuple[str, int | None, int | None]


def police(pid: int, rate_fps: int) -> None:
    """Let `rate_fps` frames of 64 octets a second out of the node, and a bucket of frames beyond it."""
    bucket = str(BUCKET_FRAMES * WIRE_BITS // 8)
    limits = ["rate", f"{rate_fps * WIRE_BITS}bit", "burst", bucket, "limit", bucket]
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "add", "dev", "nic1", "root", "tbf", *limits],
        check=True,
        capture_output=True,
        timeout=10,
    )


@contextmanager
def policed(testbed_file: Path, rate_fps: int) -> Iterator[TrafficDriver]:
    """Yield a testbed's generator on both sides of a node that routes through the policer."""
    testbed = load_testbed(testbed_file)
    kind = registry.load("traffic", testbed.tester.driver)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed:
            police(bed.node("dut1").pid, rate_fps)
            with (
                path_driver(CELL, bed).deploy() as deployment,
                kind.for_testbed(testbed, folder, DRAIN_S) as tester,
            ):
                tester.attach(deployment.ports)
                tester.learn(lossless(rate_fps).spec(1_000))
                yield tester
                tester.detach()


def lossless(rate_fps: int) -> ThroughputGoal:
    """Throughput without loss, around the policer's rate."""
    return ThroughputGoal(
        offer=Traffic(frame_octets=64),
        duration_s=DURATION_S,
        min_load_fps=rate_fps // 2,
        max_load_fps=rate_fps * 2,
        relative_width=WIDTH,
        envelope_fps=ENVELOPE_FPS,
        max_repeats=40,
        max_reopenings=6,
    )


def by_bisection(measure: Measure, rate_fps: int) -> Bounds:
    """Bounds of the throughput."""
    found = bisection.search(measure, lossless(rate_fps))
    lower = found.lower.load_fps if found.lower else None
    upper = found.upper.load_fps if found.upper else None
    return found.type.value, lower, upper


def by_loss_goal(measure: Measure, rate_fps: int) -> Bounds:
    """Bounds of the load at which one per cent is lost."""
    goal = SearchGoal(
        name="one per cent",
        goal_final_trial_duration_s=DURATION_S,
        goal_duration_sum_s=DURATION_S,
        goal_loss_ratio=LOSS_RATIO,
        goal_exceed_ratio=0.0,
        goal_width=WIDTH,
    )
    wanted = ControllerInput(
        goals=(goal,),
        offer=Traffic(frame_octets=64),
        min_load_fps=rate_fps // 2,
        max_load_fps=rate_fps * 2,
        envelope_fps=ENVELOPE_FPS,
        max_repeats=40,
        max_trials=200,
    )
    (found,) = engine.search(measure, wanted).results
    kind = "regular" if found.regular else f"irregular: {found.reason}"
    return kind, found.relevant_lower_bound_fps, found.relevant_upper_bound_fps


GOALS = {"no loss": by_bisection, "1 % loss": by_loss_goal}


def run(testbed_file: Path, goal: str, rate_fps: int) -> dict[str, object]:
    """One search of one generator."""
    trials: list[JudgedTrial] = []
    with policed(testbed_file, rate_fps) as tester:

        def measure(spec: TrialSpec) -> JudgedTrial:
            result = tester.run(spec)
            time.sleep(0.05)
            trials.append(judge(RecordedTrial(seq=len(trials) + 1, result=result), POLICY))
            return trials[-1]

        began_s = time.monotonic()
        kind, lower, upper = GOALS[goal](measure, rate_fps)
    beyond = sorted(trial.result.wall_time_ns / 1e9 - trial.result.spec.duration_s for trial in trials)
    return {
        "generator": testbed_file.stem,
        "goal": goal,
        "truth_fps": rate_fps,
        "found": kind,
        "lower_fps": lower,
        "upper_fps": upper,
        "trials": dict(Counter(trial.validity.value for trial in trials)),
        "why": dict(Counter(_kind(trial.reason) for trial in trials if not trial.valid)),
        "beyond_duration_s": [round(beyond[index], 3) for index in (0, len(beyond) // 2, -1)],
        "wall_s": round(time.monotonic() - began_s, 1),
    }


def _kind(reason: str) -> str:
    return " ".join(word for word in reason.split() if not any(letter.isdigit() for letter in word))[:60]


def agree(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether two intervals overlap, or stand apart by no more than the sum of their stated widths."""
    (low, high), (low2, high2) = ((entry["lower_fps"], entry["upper_fps"]) for entry in (one, other))
    if not all(isinstance(value, int) for value in (low, high, low2, high2)):
        return False
    return bool(abs(low - low2) <= WIDTH * (high + high2))  # type: ignore[operator]


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("testbeds", nargs="+", type=Path)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--low-fps", type=int, default=5_000)
    options.add_argument("--high-fps", type=int, default=10_000)
    wanted = options.parse_args()
    rows = []
    for _ in range(wanted.runs):
        for goal, rate_fps in (("no loss", wanted.low_fps), ("1 % loss", wanted.high_fps)):
            for testbed_file in wanted.testbeds:
                rows.append(run(testbed_file, goal, rate_fps))
                print(json.dumps(rows[-1]), flush=True)
    verdicts = [
        agree(one, other)
        for one, other in itertools.combinations(rows, 2)
        if one["goal"] == other["goal"] and one["generator"] != other["generator"]
    ]
    print(json.dumps({"kept_awake": held, "pairs": len(verdicts), "agree": sum(verdicts)}))


if __name__ == "__main__":
    main()
