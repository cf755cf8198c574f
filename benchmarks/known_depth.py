"""Back-to-back frames (RFC 9004) against a queue of known depth: real packets, our search, our trial policy.

The device is a bridge whose way out is a token bucket: 9.6 Mbit/s are 20,000 frames/s of 64 octets (60 at a
Linux queue, which sees no FCS); 60,000 octets of queue and 2,998 of bucket (for 3,000) hold 1,049 frames. A
burst of n frames at m frames/s needs n - n/m * 20,000 of them (docs/adr/0111). Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.back_to_back import BurstGoal
from bmwg.methodology.records import Cell, Outcome, OutcomeType, TrialResult, TrialSpec
from bmwg.methodology.search.stepwise import run
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge

QUEUE_FRAMES = 1_000
BUCKET_FRAMES = 2_998 / 60
SERVED_FPS = 20_000
PORT_FPS = 150_000  # what this bed declares as its port's maximum: the forwarder carries it without loss
DEPTH_S = (QUEUE_FRAMES + BUCKET_FRAMES) / PORT_FPS
TRUTH_FRAMES = (QUEUE_FRAMES + BUCKET_FRAMES) / (1 - SERVED_FPS / PORT_FPS)
WITHIN = 0.01
CORRECTED = "buffer_time.rfc9004.corrected"
POLICY = TrialPolicy(set_aside_host_stalls=True)
# While the bridge stands still, the ring before it takes frames and its queue goes on to be served. A pause
# that the policy accepts makes what is found longer by that, never shorter.
PAUSED_FRAMES = SERVED_FPS * POLICY.max_host_stall_ns / 1e9
MOST_FRAMES = (QUEUE_FRAMES + BUCKET_FRAMES + PAUSED_FRAMES) / (1 - SERVED_FPS / PORT_FPS)
CELL = Cell(path="node", hosting="baremetal", function="bridge", network="none", frame_octets=64)
GOAL = BurstGoal(
    cell=CELL,
    max_rate_fps=PORT_FPS,
    max_burst_s=0.016,
    step_frames=3,
    repetitions=2,
    max_trials=4,
    threshold_frames=100,
    throughput_fps=SERVED_FPS,
    max_repeats=60,
    short_limit=20,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One answer, with the trials behind it as they were run and as they were judged."""

    outcome: Outcome
    trials: tuple[JudgedTrial, ...]

    @property
    def values(self) -> dict[str, float]:
        """Numbers by metric; none unless it was measured."""
        return {value.metric: value.number for value in self.outcome.values}

    @property
    def lost_before(self) -> int:
        """Frames that the ring before the bridge had no room for, of bursts that its queue holds.

        They say that the bridge was too slow at that moment, and nothing of its queue.
        """
        results = [trial.result for trial in self.trials]
        return sum(
            count
            for result in results
            if result.spec.intended_frames <= TRUTH_FRAMES
            for name, count in result.auxiliary
            if name.endswith(".tx_dropped")
        )

    @property
    def apart(self) -> float:
        """By which share of the truth its repetitions differ; the queue itself never varies."""
        values = self.values
        most, least = (values.get(f"{back_to_back.METRIC}.{end}", 0.0) for end in ("max", "min"))
        return (most - least) / TRUTH_FRAMES

    @property
    def of_queue(self) -> bool:
        """Whether it was measured, lost frames at the queue alone, and found the same each time."""
        measured = self.outcome.type is OutcomeType.MEASURED
        return measured and not self.lost_before and self.apart <= WITHIN


def searches(
    count: int, within_s: float, folder: Path, *, until_of_queue: bool = False, io: str = "xdp"
) -> list[Found]:
    """Search up to `count` times on one bed, or until an answer is of the queue; ends after `within_s`."""
    found: list[Found] = []
    config = EmbeddedConfig(run_dir=folder, watch_cpus=((os.cpu_count() or 1) - 1,), drain_quiet_s=0.03)
    end_s = time.monotonic() + within_s
    with EmbeddedTraffic(config) as tester, bed.forwarder(io, cpu=(os.cpu_count() or 1) - 1) as ports:
        left, right, dut = ports
        limits = ["rate", "9600kbit", "burst", "3000", "limit", str(60 * QUEUE_FRAMES)]
        bed.inside(dut, "tc", "qdisc", "add", "dev", bed.egress(dut), "root", "tbf", *limits)
        tester.attach((left, right))
        tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
        while len(found) < count and time.monotonic() < end_s:
            found.append(_search(tester, end_s))
            if until_of_queue and found[-1].of_queue:
                break
        tester.detach()
    return found


def _search(tester: EmbeddedTraffic, end_s: float) -> Found:
    results: list[TrialResult] = []

    def measure(spec: TrialSpec) -> JudgedTrial:
        if time.monotonic() > end_s:
            raise TimeoutError(f"{len(results)} trials until the deadline did not do")
        results.append(tester.run(spec))
        time.sleep(0.02)  # the tester has waited until the queue was empty
        return judge(RecordedTrial(seq=len(results), result=results[-1]), POLICY)

    ended = run(back_to_back.procedure(GOAL), measure)
    return Found(outcome=back_to_back.outcome(ended, GOAL, outcome_id="b"), trials=ended.trials)


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--io", default="xdp")
    options.add_argument("--within-s", type=float, default=300.0)
    wanted = options.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = searches(wanted.runs, wanted.within_s, Path(folder), io=wanted.io)
    measured = [one for one in found if one.outcome.type is OutcomeType.MEASURED]
    bursts = [one.values[back_to_back.METRIC] for one in measured]
    depths = [one.values[CORRECTED] for one in measured]
    document = {
        "benchmark": "known_depth",
        "io": wanted.io,
        "kept_awake": held,
        "truth_frames": round(TRUTH_FRAMES, 1),
        "truth_buffer_time_s": round(DEPTH_S, 6),
        "runs": [one.outcome.type.value for one in found],
        "searches_a_run": GOAL.repetitions,
        "answers_frames": bursts,
        "answer_frames": spread(bursts) if bursts else None,
        "buffer_time_s": spread(depths) if depths else None,
        "bursts_within_a_percent": sum(abs(one - TRUTH_FRAMES) <= WITHIN * TRUTH_FRAMES for one in bursts),
        "buffer_times_within_a_percent": sum(abs(one - DEPTH_S) <= WITHIN * DEPTH_S for one in depths),
        "trials": dict(Counter(trial.validity.value for one in found for trial in one.trials)),
        "reasons": [one.outcome.reason for one in found if one.outcome.reason],
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
