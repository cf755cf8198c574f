"""What the harness adds to iperf3: one TCP test by hand and as an execution, in turn, between the same pods.

Root, iperf3. Prints JSON: goodput of both, and the 90 % interval of the ratio of pairs (ours by hand).
Arguments: number of pairs (default 12), seconds of each test (default 3).
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import BetweenPods
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.drivers.watch.liveness import Liveness
from bmwg.drivers.workload.iperf3 import PORT, Iperf3
from bmwg.methodology.answers.student import interval, quantile
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.reports.store import PlannedCell, RunStore
from bmwg.resources.kinds.repeated.measure import CellExecutions, Stand
from bmwg.resources.kinds.streams.bench import between_looks
from bmwg.resources.run.header import header_of


def by_hand(between: BetweenPods, state_dir: Path, seconds: float) -> float:
    """Run server and client as a person would, by `crun exec`; goodput in bit/s.

    A process that only enters the namespaces is not in the pods' cgroups: it shares the CPU with all else.
    """
    mine, other = (["crun", "--root", str(state_dir), "exec", end.pod.pod_id] for end in between.ends)
    address = between.ends[1].address
    serve = [*other, "iperf3", "-s", "-1", "-B", address, "-p", str(PORT)]
    with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as server:
        time.sleep(0.3)
        ask = [*mine, "iperf3", "-c", address, "-p", str(PORT), "-J"]
        ask += ["-t", f"{seconds:g}", "-O", "1", "-l", "131072"]
        done = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=seconds + 30)
        server.wait(10)
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])


def in_turn(
    pairs: int, hand: Callable[[], float], ours: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Run both in pairs, the order within each pair in turn; figures by hand and of ours."""
    found: dict[str, list[float]] = {"hand": [], "ours": []}
    run = {"hand": hand, "ours": ours}
    for number in range(pairs):
        for name in ("ours", "hand") if number % 2 else ("hand", "ours"):
            found[name].append(run[name]())
    return found["hand"], found["ours"]


def tell(hand: list[float], ours: list[float], *, scale: float, unit: str, **more: Any) -> None:
    """Print the figures and the 90 % interval of the ratio of pairs, ours by hand."""
    logs = [math.log(mine / other) for mine, other in zip(ours, hand, strict=True)]
    middle, deviation = statistics.fmean(logs), statistics.stdev(logs)
    half = quantile(0.95, len(logs) - 1) * deviation / math.sqrt(len(logs))
    report = {
        **more,
        "pairs": len(logs),
        f"by_hand_{unit}": round(interval(hand).mean / scale, 1),
        f"ours_{unit}": round(interval(ours).mean / scale, 1),
        f"by_hand_deviation_{unit}": round(statistics.stdev(hand) / scale, 1),
        f"ours_deviation_{unit}": round(statistics.stdev(ours) / scale, 1),
        "ratio": round(math.exp(middle), 4),
        "ratio_90_percent": [round(math.exp(middle - half), 4), round(math.exp(middle + half), 4)],
    }
    print(json.dumps(report, indent=1))


def main() -> None:
    """Measure in pairs, the order within each pair in turn, and print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    held = keep_awake()
    end_in_order()
    planned = next(one for one in profile.PROFILES.load("quick").plan() if one.test_id == "PP-TCP-1")
    planned = replace(
        planned,
        spec=replace(planned.spec, duration_s=seconds),
        asked=replace(planned.asked, wanted=1, least=1, max_invalid=0),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with open_bed(load_testbed(), ledger, folder) as bed:
            path = registry.load(registry.PATH, "p2p")(planned.cell, bed)
            with path.between_pods() as between, LeakWatch() as leaks:
                header = header_of(
                    testbed={"name": "benchmark"},
                    profile=profile.PROFILES.load("quick").data,
                    plan=(PlannedCell(test_id=planned.test_id, metric=planned.metric, cell=planned.cell),),
                    families=STREAMS.families,
                    medium_kind="veth",
                )
                store = RunStore.create(folder / "results", "harness", header)
                workload = Iperf3([bed.node("dut1")])
                workload.attach(between.ends)
                store.add_deployment("d-1", {})
                stand = Stand(
                    deployment_id="d-1",
                    run=between_looks(between, workload),
                    fault=Liveness(bed).fault,
                    leaks=leaks,
                )

                def measured() -> float:
                    runs = CellExecutions(STREAMS, planned, store)
                    runs.run(stand)
                    return runs.done[-1].result.goodput_bps

                by_hand(between, folder / "pods", 1.0)  # warm-up
                hand, ours = in_turn(pairs, lambda: by_hand(between, folder / "pods", seconds), measured)
                store.close(None, "complete")
    tell(hand, ours, scale=1e6, unit="mbps", kept_awake=held, seconds=seconds)


if __name__ == "__main__":
    main()
