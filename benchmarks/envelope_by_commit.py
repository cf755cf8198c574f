"""What the testers of two checkouts send and count between two ports, in turn: the ratio new to old.

Each checkout has a tester of its own on a veth pair of its own; they offer more than either can carry, one
short trial each in turn. The figure is the rate at which frames were received. Prints both medians and the
geometric mean of the ratios with its 90 % interval by Student's t over the pairs' logarithms. Both use this
interpreter, so packages are alike.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from holding import keep_awake

from bmwg.methodology.answers.student import quantile

# Runs in either checkout: a trial for each line that comes, until there is none.
TESTER = """
import json, sys
from pathlib import Path
sys.path.insert(0, "benchmarks")
import tester_bed as bed
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec
io, load_fps, seconds, flows, folder = sys.argv[1:]
spec = TrialSpec(frame_octets=64, load_fps=int(load_fps), duration_s=float(seconds), flows=int(flows))
config = EmbeddedConfig(run_dir=Path(folder), drain_quiet_s=0.05)
with bed.direct(io) as ports, EmbeddedTraffic(config) as tester:
    tester.attach(ports)
    for line in sys.stdin:
        (stream,) = tester.run(spec).streams
        print(json.dumps([stream.received_frames, stream.effective_duration_ns]), flush=True)
    tester.detach()
"""
CONFIDENCE = 0.90


def started(checkout: Path, *words: str) -> subprocess.Popen[str]:
    """Start a tester of a checkout."""
    return subprocess.Popen(
        [sys.executable, "-c", TESTER, *words],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def rate_fps(tester: subprocess.Popen[str]) -> float:
    """Run one trial and return the rate at which its frames were received."""
    assert tester.stdin
    assert tester.stdout
    tester.stdin.write("\n")
    tester.stdin.flush()
    frames, ns = json.loads(tester.stdout.readline())
    return float(frames * 1e9 / ns)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--old", type=Path, required=True, help="a checkout of the commit before")
    options.add_argument("--new", type=Path, default=Path(__file__).resolve().parents[1])
    options.add_argument("--io", default="af_xdp")
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--load-fps", type=int, default=5_000_000)
    options.add_argument("--seconds", type=float, default=0.2)
    options.add_argument("--flows", type=int, default=1)
    wanted = options.parse_args()
    held = keep_awake()
    sides = [wanted.old.resolve(), wanted.new.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        testers = []
        for number, side in enumerate(sides):
            own = Path(folder) / str(number)
            own.mkdir()
            words = (wanted.io, str(wanted.load_fps), str(wanted.seconds), str(wanted.flows), str(own))
            testers.append(started(side, *words))
        try:
            pairs = []
            for number in range(wanted.pairs + 1):
                order = (0, 1) if number % 2 else (1, 0)
                found = {side: rate_fps(testers[side]) for side in order}
                if number:  # the first pair warms both up
                    pairs.append((found[0], found[1]))
        finally:
            for tester in testers:
                tester.communicate(timeout=60)  # it ends with its input
    logs = [math.log(new / old) for old, new in pairs]
    mean = statistics.fmean(logs)
    half = quantile(0.5 + CONFIDENCE / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    print(
        json.dumps(
            {
                "benchmark": "envelope_by_commit",
                "kept_awake": held,
                "io": wanted.io,
                "flows": wanted.flows,
                "pairs": len(pairs),
                "old_fps": round(statistics.median(old for old, _ in pairs)),
                "new_fps": round(statistics.median(new for _, new in pairs)),
                "ratio": round(math.exp(mean), 4),
                "ratio_90": [round(math.exp(mean - half), 4), round(math.exp(mean + half), 4)],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
