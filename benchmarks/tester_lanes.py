"""What does a frame cost the tester's loop, and what do more lanes carry? Rings in the tester, 64 octets.

No kernel and no NIC takes part, so what is measured is the loop itself and DPDK's rings. Trials ask for more
than can be sent and take turns: one lane, two lanes, two lanes of which every second frame crosses to the
other; and, given a folder of the tester's source before (it needs kind `ring`), that one's one lane. Prints
JSON: TSC cycles of CPU time a frame (sending and receiving it), frames a second of the clock, and frames a
second of CPU time, which is what the lanes would carry if nobody else took their CPUs. Each ratio is taken
within a turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import tester_bed as bed
from holding import keep_awake

from bmwg.drivers.traffic.embedded.build import ensure_built
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.lanes import DESCRIPTORS, memory_for
from bmwg.methodology.records import Direction, TrialSpec

ONE, TWO, CROSSED, BEFORE = "one lane", "two lanes", "two lanes, half crosses", "one lane before"
WAYS = {ONE: "plain", TWO: "plain", CROSSED: "cross=2", BEFORE: "plain"}
DRAWS = 4000


class Told(EmbeddedTraffic):
    """A tester that keeps what its program answered to the last trial."""

    def __init__(self, config: EmbeddedConfig) -> None:
        super().__init__(config)
        self.reply: Mapping[str, Any] = {}

    def _trial(self, order: Mapping[str, Any], duration_s: float) -> Mapping[str, Any]:
        self.reply = super()._trial(order, duration_s)
        return self.reply


def interval(ratios: list[float]) -> list[float]:
    """95 % of the medians of samples drawn from the ratios."""
    draws = random.Random(1)
    medians = sorted(median(draws.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return [round(medians[round(share * DRAWS)], 4) for share in (0.025, 0.975)]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--before", type=Path, help="folder of the tester's source before")
    options.add_argument("--turns", type=int, default=40)
    options.add_argument("--seconds", type=float, default=0.1)
    options.add_argument("--frame-octets", type=int, default=64)
    options.add_argument("--both", action="store_true", help="both directions at once")
    options.add_argument("--cpus", type=int, nargs=2, default=(1, 0))
    wanted = options.parse_args()
    held = keep_awake()
    spec = TrialSpec(
        frame_octets=wanted.frame_octets,
        load_fps=80_000_000,
        duration_s=wanted.seconds,
        direction=Direction.BOTH if wanted.both else Direction.FORWARD,
    )
    kinds = [kind for kind in WAYS if kind != BEFORE or wanted.before]
    cycles: dict[str, list[float]] = {kind: [] for kind in kinds}
    by_clock: dict[str, list[float]] = {kind: [] for kind in kinds}
    by_cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        testers: dict[str, Told] = {}
        for kind in kinds:
            lanes = 1 if kind in (ONE, BEFORE) else 2
            config = EmbeddedConfig(
                run_dir=folder,
                cpus=tuple(wanted.cpus[:lanes]),
                memory_mib=memory_for(lanes, DESCRIPTORS),
                binary=ensure_built(wanted.before) if kind == BEFORE else ensure_built(),
            )
            tester = testers[kind] = Told(config)
            stack.enter_context(tester)
            tester.attach(bed.linked("ring", (WAYS[kind], WAYS[kind])))
        for turn in range(wanted.turns):
            at = turn % len(kinds)
            for kind in kinds[at:] + kinds[:at]:
                result = testers[kind].run(spec)
                while not result.fault and not result.sent_frames:  # its CPU was away all the time
                    result = testers[kind].run(spec)
                lost = sum(stream.lost_frames for stream in result.streams)
                if result.fault or lost:
                    raise SystemExit(f"{kind}: {result.fault or f'{lost} frames lost'}")
                lanes_told = testers[kind].reply["lanes"]
                hz = float(str(testers[kind].describe()["tsc_hz"]))
                cpu_s = [lane["cpu_ns"] / 1e9 for lane in lanes_told]
                cycles[kind].append(sum(cpu_s) * hz / result.sent_frames)
                by_cpu[kind].append(
                    sum(one["sent_frames"] / s for one, s in zip(lanes_told, cpu_s, strict=True))
                )
                longest_ns = max(stream.effective_duration_ns for stream in result.streams)
                by_clock[kind].append(result.sent_frames / max(1, longest_ns) * 1e9)
    told: dict[str, object] = {
        "turns": wanted.turns,
        "frame_octets": wanted.frame_octets,
        "directions": 2 if wanted.both else 1,
        "load": [round(load, 1) for load in os.getloadavg()],
        "awake": str(held),
    }
    for kind in kinds:
        told[kind] = {
            "cycles_a_frame": round(median(cycles[kind]), 1),
            "fps_of_the_clock": round(median(by_clock[kind])),
            "fps_of_cpu_time": round(median(by_cpu[kind])),
        }
    pairs = [("fps of CPU time, two lanes over one", by_cpu[TWO], by_cpu[ONE])]
    pairs.append(("fps of the clock, two lanes over one", by_clock[TWO], by_clock[ONE]))
    if wanted.before:
        pairs.append(("cycles a frame, one lane over one before", cycles[ONE], cycles[BEFORE]))
    for name, mine, theirs in pairs:
        ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
        told[name] = {"median": round(median(ratios), 4), "95 % of the median": interval(ratios)}
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
