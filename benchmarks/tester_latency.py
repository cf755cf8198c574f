"""Latency of the direct pair at 10 % of what the tester carries: median and 99 %, with the sender's lateness.

Prints JSON. `--io`, `--load-fps`, `--runs`, `--seconds`. Runs in which the tester itself was stalled for more
than 1 ms are told apart ("disturbed") and counted, never dropped silently.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.frame_times import LatencyHistogram

STALL_LIMIT_NS = 1_000_000


def quantile_ns(histogram: LatencyHistogram, share: float) -> int:
    """The highest value of the bucket in which this share of all frames is reached."""
    reached = 0
    for _, high, frames in histogram.buckets:
        reached += frames
        if reached >= share * histogram.frames:
            return high
    raise ValueError("the histogram is empty")


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--io", default="af_xdp")
    options.add_argument("--load-fps", type=int, default=150_000)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--seconds", type=float, default=2.0)
    wanted = options.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder, bed.direct(wanted.io) as ports:
        config = EmbeddedConfig(run_dir=Path(folder))
        with EmbeddedTraffic(config) as tester:
            tester.attach(ports)
            for _ in range(wanted.runs):
                spec = TrialSpec(frame_octets=64, load_fps=wanted.load_fps, duration_s=wanted.seconds)
                counts = tester.run(spec).streams[0]
                runs.append(
                    {
                        "p50_ns": quantile_ns(counts.latency, 0.5),
                        "p99_ns": quantile_ns(counts.latency, 0.99),
                        "max_ns": counts.latency.max_ns,
                        "frames": counts.latency.frames,
                        "lost_frames": counts.lost_frames,
                        "largest_lateness_ns": counts.largest_lateness_ns,
                        "disturbed": counts.largest_gap_ns > STALL_LIMIT_NS,
                    }
                )
    calm = [run for run in runs if not run["disturbed"]]
    print(
        json.dumps(
            {
                "benchmark": "tester_latency",
                "kept_awake": held,
                "io": wanted.io,
                "load_fps": wanted.load_fps,
                "p50_ns": spread([run["p50_ns"] for run in runs]),
                "p99_ns": spread([run["p99_ns"] for run in runs]),
                "undisturbed_p50_ns": spread([run["p50_ns"] for run in calm]),
                "undisturbed_p99_ns": spread([run["p99_ns"] for run in calm]),
                "runs": runs,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
