"""The throughput of the bridge and ptp paths, found again and again in one process; and the memory it takes.

A new pod with two CNI interfaces each time, the quick profile and its search, 64 octets. With every
answer, the resident memory of the tester, of the agents on the nodes and in the pod, and of this process.
Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from memory import resident_mib
from tester_latency import spread

from bmwg.drivers.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.search.bisection import search
from bmwg.methodology.search.goal import SearchResult
from bmwg.methodology.trial import JudgedTrial, RecordedTrial, judge

ENVELOPE_FPS = 1_600_000  # choice: about what the tester carries on veth; no path comes near


def find(bed: Bed, tester: EmbeddedTraffic, network: str) -> tuple[SearchResult, Counter[str]]:
    """Deploy the path, search once, remove it; return the answer and the trials by validity."""
    profile = load_profile("quick")
    cell = Cell(path="pvp", hosting="pod", function="kernel-l3", network=network, frame_octets=64)
    goal = profile.goal(cell, max_load_fps=ENVELOPE_FPS, envelope_fps=ENVELOPE_FPS)
    validity: Counter[str] = Counter()
    with path_driver(cell, bed).deploy() as deployment:
        tester.attach(deployment.ports)
        tester.learn(goal.spec(goal.min_load_fps))

        def measure(spec: TrialSpec) -> JudgedTrial:
            trial = judge(RecordedTrial(seq=validity.total() + 1, result=tester.run(spec)), profile.policy)
            validity[trial.validity.value] += 1
            time.sleep(profile.policy.restabilize_s)
            return trial

        found = search(measure, goal)
        tester.detach()
    return found, validity


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--seconds", type=float, default=0.0, help="go on for so long at least")
    wanted = options.parse_args()
    began_s = time.monotonic()
    runs: list[dict[str, object]] = []
    testbed = load_testbed()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed,
            EmbeddedTraffic.for_testbed(testbed, folder, load_profile("quick").policy.drain_s) as tester,
        ):
            while len(runs) < 2 * wanted.runs or time.monotonic() - began_s < wanted.seconds:
                network = ("bridge", "ptp")[len(runs) % 2]
                found, validity = find(bed, tester, network)
                memory = resident_mib(os.getpid())
                runs.append(
                    {
                        "network": network,
                        "type": found.type.value,
                        "lower_fps": found.lower.load_fps if found.lower else None,
                        "remarks": found.quality,
                        "trials": dict(validity),
                        "at_s": round(time.monotonic() - began_s),
                        "memory_mib": memory,
                    }
                )
                print(json.dumps(runs[-1]), flush=True)
    answers = {
        network: {
            "types": dict(Counter(str(run["type"]) for run in runs if run["network"] == network)),
            "measured_fps": spread(
                [
                    float(str(run["lower_fps"]))
                    for run in runs
                    if run["network"] == network and run["type"] == "measured"
                ]
            ),
        }
        for network in ("bridge", "ptp")
    }
    print(json.dumps({"benchmark": "path_spread", "kept_awake": held, "answers": answers}, indent=1))


if __name__ == "__main__":
    main()
