"""Pacing: frames sent against intended over the time they took, at ten rates of 1 to 75 % of the maximum.

Prints JSON. The error is that of the rate (sent frames over the effective duration, against the load asked),
in parts per million; unsent frames count as error too. The clock is the tester's
own: the TSC, calibrated against CLOCK_MONOTONIC_RAW.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread
from tester_latency import STALL_LIMIT_NS

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec

SHARES = (0.01, 0.02, 0.05, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.75)


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--io", default="af_xdp")
    options.add_argument("--maximum-fps", type=int, default=1_400_000)
    options.add_argument("--seconds", type=float, default=5.0)
    wanted = options.parse_args()
    runs = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = stack.enter_context(bed.direct(wanted.io))
        tester = stack.enter_context(EmbeddedTraffic(EmbeddedConfig(run_dir=folder)))
        tester.attach(ports)
        for share in SHARES:
            load_fps = round(wanted.maximum_fps * share)
            counts = tester.run(
                TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=wanted.seconds)
            ).streams[0]
            # From first to last frame there is one interval less than frames.
            rate_fps = (counts.sent_frames - 1) * 1e9 / counts.effective_duration_ns
            runs.append(
                {
                    "load_fps": load_fps,
                    "unsent_ppm": counts.unsent_frames / counts.intended_frames * 1e6,
                    "rate_ppm": (rate_fps / load_fps - 1.0) * 1e6,
                    "lost_frames": counts.lost_frames,
                    "largest_lateness_ns": counts.largest_lateness_ns,
                    "disturbed": counts.largest_gap_ns > STALL_LIMIT_NS,
                }
            )
    errors = {
        kind: spread([max(abs(run["rate_ppm"]), run["unsent_ppm"]) for run in chosen])
        for kind, chosen in (("all", runs), ("undisturbed", [run for run in runs if not run["disturbed"]]))
    }
    print(
        json.dumps(
            {
                "benchmark": "tester_pacing",
                "kept_awake": held,
                "io": wanted.io,
                "error_ppm": errors,
                "runs": runs,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
