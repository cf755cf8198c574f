"""How much of what a real DUT loses, far below what it carries, was due while a CPU was gone?

Trials of a quick run at low loads through a kernel forwarder, in turns. A trial that `quick` sets aside is
attributed (`methodology.models.attribution`). Prints JSON: the law of this machine's stalls as the watchdogs
tell it, and for each load how many trials were set aside, lossy, and without loss outside the windows.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tester_bed as bed
from holding import keep_awake

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import TrialResult, TrialSpec, Validity
from bmwg.methodology.simulated_devices.attribution import attribution
from bmwg.methodology.trial.judging import assess

AWAY = (Validity.TESTER_STALLED, Validity.HOST_STALLED)
EDGES_NS = (100_000, 400_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000)


def law(results: list[TrialResult], seconds: float) -> dict[str, Any]:
    """Return how often a second each watched CPU was gone for at least so long."""
    found: dict[str, list[int]] = {}
    for result in results:
        for watch in result.disturbance.watches if result.disturbance else ():
            name = "tester" if watch.tester else "sut"
            found.setdefault(name, []).extend(end - begin for begin, end in watch.intervals)
    return {
        name: {
            f"{edge / 1e6:g} ms": round(sum(ns >= edge for ns in lengths) / seconds, 2) for edge in EDGES_NS
        }
        for name, lengths in found.items()
    }


def told(results: list[TrialResult], depth_frames: int, most_covered: float) -> dict[str, Any]:
    """Return what became of the trials of one load."""
    policy = load_profile("quick").policy
    count = dict.fromkeys(
        ("trials", "set_aside", "set_aside_lossy", "attributed", "attributed_lossless", "counted_lossy"), 0
    )
    lost = masked = 0
    for result in results:
        away = assess(result, policy).validity in AWAY
        count["trials"] += 1
        count["set_aside"] += away
        count["set_aside_lossy"] += away and result.lost_frames > 0
        count["counted_lossy"] += not away and result.lost_frames > 0
        found = attribution(result, depth_frames=depth_frames)
        if not away or found is None or found.covered_ratio > most_covered:
            continue
        count["attributed"] += 1
        lost += result.lost_frames
        masked += found.masked_frames
        count["attributed_lossless"] += result.lost_frames == found.masked_frames
    return {**count, "lost_frames": lost, "masked_frames": masked}


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=150)
    options.add_argument("--seconds", type=float, default=0.2)
    options.add_argument("--loads", type=int, nargs="+", default=[50_000, 150_000, 300_000])
    options.add_argument("--io", default="af_xdp")
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    results: dict[int, list[TrialResult]] = {load: [] for load in wanted.loads}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        left, right, _ = stack.enter_context(bed.forwarder(wanted.io, cpu=last))
        tester = stack.enter_context(EmbeddedTraffic(EmbeddedConfig(run_dir=folder, watch_cpus=(last,))))
        tester.attach((left, right))
        for _ in range(wanted.trials):
            for load in wanted.loads:
                spec = TrialSpec(frame_octets=64, load_fps=load, duration_s=wanted.seconds, loss_times=True)
                results[load].append(tester.run(spec))
    every = [result for one in results.values() for result in one]
    print(
        json.dumps(
            {
                "benchmark": "attributed_losses",
                "kept_awake": held,
                "load_average": os.getloadavg(),
                "stalls_a_second_of_at_least": law(every, wanted.seconds * len(every)),
                "loads": {load: told(found, 256, 0.25) for load, found in results.items()},
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
