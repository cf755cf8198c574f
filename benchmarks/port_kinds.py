"""Port kinds of the embedded tester side by side on a direct veth pair: what each carries, and its latency.

In turn, so that every ratio stands on one machine in one state: dpdk-testpmd on net_af_xdp (txonly, rxonly),
then each kind of port. The tester's figure is the highest load of a bisection that then holds for the full
time, every frame sent and accounted for and none lost. Latency is that of all frames at each load. Runs in
which the tester's CPU was away for more than a millisecond are told apart ("disturbed") and counted.
Prints JSON; `--markdown` prints the tables as they stand in results/port_kinds.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import tester_bed as bed
from holding import keep_awake
from spread import spread
from tester_capacity import tester_fps, testpmd_fps
from tester_latency import STALL_LIMIT_NS, quantile_ns

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import Direction, TrialSpec

KINDS = ("af_packet", "af_xdp", "xdp")
MOST_FPS = 6_000_000


def capacity(
    frame_octets: int, direction: Direction, kinds: list[str], runs: int, seconds: float, folder: Path
) -> dict[str, Any]:
    """Frames/s without loss of each kind, per direction, and its ratio to testpmd of the same turn."""
    found: dict[str, list[float]] = {"testpmd": [], **{kind: [] for kind in kinds}}
    spec = TrialSpec(frame_octets=frame_octets, load_fps=1, duration_s=1.0, direction=direction)
    for _ in range(runs):
        with bed.direct("af_xdp") as ports:
            found["testpmd"].append(testpmd_fps(ports, seconds, folder, frame_octets))
        for kind in kinds:
            with bed.direct(kind) as ports:
                found[kind].append(tester_fps(ports, seconds, folder, spec, MOST_FPS))
    return {
        "frame_octets": frame_octets,
        "direction": direction.value,
        "fps": {name: spread(values) for name, values in found.items()},
        "ratio_to_testpmd": {
            kind: spread([mine / other for mine, other in zip(found[kind], found["testpmd"], strict=True)])
            for kind in kinds
        },
    }


def latency(load_fps: int, kinds: list[str], runs: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Median and 99 % of all frames' latency of each kind at one load; disturbed runs counted apart."""
    found: dict[str, Any] = {
        kind: {"p50_ns": [], "p99_ns": [], "disturbed": 0, "incomplete": 0} for kind in kinds
    }
    for _ in range(runs):
        for kind in kinds:
            with bed.direct(kind) as ports, EmbeddedTraffic(EmbeddedConfig(run_dir=folder)) as tester:
                tester.attach(ports)
                spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=seconds)
                counts = tester.run(spec).streams[0]
            if counts.largest_gap_ns > STALL_LIMIT_NS:
                found[kind]["disturbed"] += 1
            elif counts.received_frames < counts.intended_frames:
                found[kind]["incomplete"] += 1
            else:
                found[kind]["p50_ns"].append(quantile_ns(counts.latency, 0.5))
                found[kind]["p99_ns"].append(quantile_ns(counts.latency, 0.99))
    for kind in kinds:
        found[kind] |= {name: spread(found[kind][name]) for name in ("p50_ns", "p99_ns")}
    return {"load_fps": load_fps, "kinds": found}


def markdown(found: dict[str, Any]) -> str:
    """The two tables: medians with the range of the runs."""

    def cell(values: dict[str, float | int], scale: float = 1.0, digits: int = 0) -> str:
        if not values["runs"]:
            return "-"
        low, middle, high = (values[key] / scale for key in ("min", "median", "max"))
        return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"

    kinds = found["kinds"]
    lines = [f"| frames/s without loss | testpmd | {' | '.join(kinds)} | xdp / testpmd |"]
    lines.append("|---" * (len(kinds) + 3) + "|")
    for row in found["capacity"]:
        cells = [cell(row["fps"][name]) for name in ("testpmd", *kinds)]
        ratio = cell(row["ratio_to_testpmd"]["xdp"], digits=1) if "xdp" in kinds else "-"
        lines.append(f"| {row['frame_octets']} octets, {row['direction']} | {' | '.join(cells)} | {ratio} |")
    lines += ["", f"| p50 / p99, us | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for row in found["latency"]:
        cells = [
            f"{cell(row['kinds'][kind]['p50_ns'], 1e3, 1)} / {cell(row['kinds'][kind]['p99_ns'], 1e3, 1)}"
            for kind in kinds
        ]
        lines.append(f"| {row['load_fps']:,} frames/s | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--io", nargs="+", default=list(KINDS), choices=KINDS)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--seconds", type=float, default=3.0)
    options.add_argument("--frame-octets", type=int, nargs="+", default=[64, 512, 1518])
    options.add_argument("--load-fps", type=int, nargs="+", default=[150_000, 500_000, 1_000_000])
    options.add_argument("--both", action="store_true", help="both directions at once as well")
    options.add_argument("--markdown", action="store_true")
    wanted = options.parse_args()
    directions = [Direction.FORWARD, *([Direction.BOTH] if wanted.both else [])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "benchmark": "port_kinds",
            "kept_awake": held,
            "kinds": wanted.io,
            "capacity": [
                capacity(octets, direction, wanted.io, wanted.runs, wanted.seconds, folder)
                for octets in wanted.frame_octets
                for direction in directions
            ],
            "latency": [
                latency(load_fps, wanted.io, wanted.runs, wanted.seconds, folder)
                for load_fps in wanted.load_fps
            ],
        }
    print(markdown(found) if wanted.markdown else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
