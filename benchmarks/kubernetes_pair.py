"""The same cell with pods of crun and of Kubernetes on one node, interleaved; and a pod's start by phases.

Both kinds of pod stand on a node of the embedded cluster with the same CNI option, one after the other, so
all but the runtime is equal. `--searches` finds the throughput of each (quick profile, 64 octets); without it
only starts are timed. The first forwarded frame is one of the benchmark's own, offered every few milliseconds
from before the pod is asked for. Prints JSON: of each value the median with the interval of order statistics
that covers it with at least 90 %, or the whole range and what that covers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake

from bmwg.drivers import registry
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.answers.order_statistics import median_interval
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.search.bisection import search
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, judge

sys.path.append(str(Path(__file__).parents[1]))
from tests.contract.paths_support import PacketTester

ROOT = Path(__file__).parents[1]
TESTBED = ROOT / "testbeds" / "kubernetes.yaml"
ENVELOPE_FPS = 1_600_000  # as in path_spread
RUNTIMES = ("crun", "kubernetes")


class FirstFrame:
    """Offers frames to port 0 until one comes out at port 1; `at_ns` is then, of the monotonic clock."""

    def __init__(self, bed: Bed) -> None:
        sides = bed.sides()
        self._ports = (routed_port(bed, sides[0]), routed_port(bed, sides[1]))
        self._stop = threading.Event()
        self.at_ns: int | None = None
        self._thread = threading.Thread(target=self._offer, daemon=True)

    def __enter__(self) -> FirstFrame:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.join(20.0)
        self._stop.set()
        self._thread.join(5.0)

    def _offer(self) -> None:
        with PacketTester(self._ports) as tester:
            while not self._stop.is_set() and self.at_ns is None:
                with suppress(AssertionError, OSError):
                    if self._carried(tester):
                        self.at_ns = time.monotonic_ns()

    def _carried(self, tester: PacketTester) -> bool:
        receive = tester.receive

        def quick(number: int, wanted: Any, deadline_s: float = 0.001) -> bytes | None:
            found: bytes | None = receive(number, wanted, min(deadline_s, 0.002))
            return found

        tester.receive = quick  # type: ignore[method-assign]
        try:
            return tester.carry(0, b"first-frame") is not None
        finally:
            tester.receive = receive  # type: ignore[method-assign]


def once(bed: Bed, tester: EmbeddedTraffic | None, runtime: Any, cell: Cell) -> dict[str, Any]:
    """Deploy by this runtime, time the start, search if there is a tester, remove; returns what was found."""
    bed.__dict__["runtime"] = runtime
    profile = load_profile("quick")
    began_ns = time.monotonic_ns()
    frame = FirstFrame(bed)
    told: dict[str, Any] = {}
    with frame:
        deploying = path_driver(cell, bed).deploy()
        deployment = deploying.__enter__()
        told["deployed_ms"] = round((time.monotonic_ns() - began_ns) / 1e6, 1)
    try:
        if frame.at_ns is not None:
            told["first_frame_ms"] = round((frame.at_ns - began_ns) / 1e6, 1)
        told |= dict(deployment.evidence["pod"].get("start_phases_ms", {}))
        if tester is not None:
            goal = profile.goal(cell, max_load_fps=ENVELOPE_FPS, envelope_fps=ENVELOPE_FPS)
            tester.attach(deployment.ports)
            tester.learn(goal.spec(goal.min_load_fps))
            seen: Counter[str] = Counter()

            def measure(spec: TrialSpec) -> JudgedTrial:
                trial = judge(RecordedTrial(seq=seen.total() + 1, result=tester.run(spec)), profile.policy)
                seen[trial.validity.value] += 1
                return trial

            found = search(measure, goal)
            tester.detach()
            told |= {
                "type": found.type.value,
                "lower_fps": found.lower.load_fps if found.lower else None,
                "trials": dict(seen),
            }
    finally:
        ending_ns = time.monotonic_ns()
        deploying.__exit__(None, None, None)
        told["removed_ms"] = round((time.monotonic_ns() - ending_ns) / 1e6, 1)
    return told


def interval(values: list[float]) -> dict[str, Any]:
    """Return the median and an interval of order statistics that covers it with at least 90 %, else all."""
    if not values:
        return {"count": 0}
    return {name: round(figure, 4) for name, figure in asdict(median_interval(values)).items()}


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--network", default="bridge")
    options.add_argument("--function", default="kernel-l3")
    options.add_argument("--searches", action="store_true")
    wanted = options.parse_args()
    cell = Cell(path="pvp", hosting="pod", function=wanted.function, network=wanted.network, frame_octets=64)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in RUNTIMES}
    testbed = load_testbed(TESTBED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed:
            made = {"kubernetes": bed.runtime}
            made["crun"] = registry.runtime("crun", run_dir=str(folder), undo=bed.undo)
            took_s = bed.runtime.describe()["took_s"]
            drain_s = load_profile("quick").policy.drain_s
            with EmbeddedTraffic.for_testbed(testbed, folder, drain_s) as tester:
                for number in range(wanted.pairs):
                    # each first as often as the other
                    for runtime in RUNTIMES if number % 2 == 0 else tuple(reversed(RUNTIMES)):
                        used = tester if wanted.searches else None
                        runs[runtime].append(once(bed, used, made[runtime], cell))
                        print(json.dumps({"runtime": runtime, **runs[runtime][-1]}), file=sys.stderr)
            bed.__dict__["runtime"] = made["kubernetes"]
    pairs = list(zip(runs["crun"], runs["kubernetes"], strict=True))
    both = [(a, b) for a, b in pairs if a.get("type") == b.get("type") == "measured"]
    keys = sorted({key for one in runs["kubernetes"] for key in one if key.endswith("_ms")})
    keys += ["api_accept", "scheduled", "cni_add", "networks_reported", "container_running"]
    print(
        json.dumps(
            {
                "benchmark": "kubernetes_pair",
                "kept_awake": held,
                "cell": str(cell),
                "cluster_took_s": took_s,
                "start_ms": {
                    runtime: {
                        key: interval([float(one[key]) for one in found if one.get(key) is not None])
                        for key in keys
                        if any(key in one for one in found)
                    }
                    for runtime, found in runs.items()
                },
                "throughput_fps": {
                    runtime: interval([one["lower_fps"] for one in found if one.get("type") == "measured"])
                    for runtime, found in runs.items()
                },
                "types": {
                    runtime: dict(Counter(one.get("type") for one in found))
                    for runtime, found in runs.items()
                },
                "kubernetes_to_crun": interval([b["lower_fps"] / a["lower_fps"] for a, b in both]),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
