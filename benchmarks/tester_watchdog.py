"""Does the watchdog on the DUT's CPU fire no more at 200 % load than at 10 %? (design decision 13)

Trials of a low load and of twice what the forwarder carries alternate, so that the machine's own stalls meet
both alike. Prints JSON: for each load, the share of trials with a stall above 1 ms and the stalls' spread.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread
from tester_latency import STALL_LIMIT_NS

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=40)
    options.add_argument("--seconds", type=float, default=0.5)
    options.add_argument("--low-fps", type=int, default=50_000)
    options.add_argument("--high-fps", type=int, default=1_000_000)
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    stalls: dict[int, list[float]] = {wanted.low_fps: [], wanted.high_fps: []}
    received: dict[int, list[float]] = {wanted.low_fps: [], wanted.high_fps: []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        left, right, _ = stack.enter_context(bed.forwarder("af_xdp", cpu=last))
        config = EmbeddedConfig(run_dir=folder, watch_cpus=(last,))
        tester = stack.enter_context(EmbeddedTraffic(config))
        tester.attach((left, right))
        for _ in range(wanted.pairs):
            for load_fps in stalls:
                spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=wanted.seconds)
                result = tester.run(spec)
                if result.disturbance is None:
                    raise RuntimeError("the tester gave no disturbance record")
                stalls[load_fps].append(float(dict(result.disturbance.largest_stall_ns)[last]))
                received[load_fps].append(result.received_frames / wanted.seconds)
    print(
        json.dumps(
            {
                "benchmark": "tester_watchdog",
                "kept_awake": held,
                "loads": [
                    {
                        "load_fps": load_fps,
                        "received_fps": spread(received[load_fps]),
                        "largest_stall_ns": spread(found),
                        "share_above_1ms": sum(ns > STALL_LIMIT_NS for ns in found) / len(found),
                    }
                    for load_fps, found in stalls.items()
                ],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
