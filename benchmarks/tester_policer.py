"""Known truth: a token bucket of 100,000 frames/s on a bridge's egress, the bridge on a CPU of its own.

Bisection for zero loss; a trial with loss is judged only when the tester itself was not stalled; the answer
must be carried by loss, not by the sender falling short. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import tester_bed as bed
from tester_latency import STALL_LIMIT_NS, spread

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec

TRUTH_FPS = 100_000  # 48 Mbit/s over 60 octets: a frame has no FCS at a Linux queue


def judged(tester: EmbeddedTraffic, load_fps: int, seconds: float, attempts: int) -> tuple[bool | None, int]:
    """Loss-free or not, by the first undisturbed trial; None when there is none. Also how many it took."""
    for attempt in range(1, attempts + 1):
        spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=seconds)
        result = tester.run_trial(spec)
        counts = result.streams[0]
        if counts.unsent_frames == 0 and counts.lost_frames == 0:
            return True, attempt
        if counts.unsent_frames == 0 and counts.largest_gap_ns <= STALL_LIMIT_NS:
            return False, attempt
    return None, attempts


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--io", default="af_xdp")
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--attempts", type=int, default=15)
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    answers, trials, undecided = [], 0, 0
    with tempfile.TemporaryDirectory() as folder, bed.forwarder(wanted.io, cpu=last) as (left, right, dut):
        bed.police(dut, bed.egress(dut), rate_mbit=48, burst_octets=6144, limit_octets=6144)
        with EmbeddedTraffic(EmbeddedConfig(run_dir=Path(folder))) as tester:
            tester.attach((left, right))
            for _ in range(wanted.runs):
                low, high = 80_000, 130_000
                while high - low > 200:
                    middle = (low + high) // 2
                    clean, took = judged(tester, middle, wanted.seconds, wanted.attempts)
                    trials += took
                    if clean is None:
                        undecided += 1
                        break
                    low, high = (middle, high) if clean else (low, middle)
                else:
                    answers.append(low)
    within = [abs(answer - TRUTH_FPS) <= 0.005 * TRUTH_FPS for answer in answers]
    print(
        json.dumps(
            {
                "benchmark": "tester_policer",
                "io": wanted.io,
                "truth_fps": TRUTH_FPS,
                "answer_fps": spread([float(answer) for answer in answers]),
                "answers": answers,
                "within_half_percent": sum(within),
                "undecided_runs": undecided,
                "trials": trials,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
