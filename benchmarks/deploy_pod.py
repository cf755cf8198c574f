"""How long a pod takes to deploy and to remove, on a namespace node; JSON on standard output.

Times are wall-clock seconds seen by the runner. The two interfaces are veth ends moved into the pod: what
the runtime and the node add. The cost of CNI plugins comes on top and is measured with the paths.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.hosting.bundle import PodSpec
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.links import connect

OCI = "bmwg.drivers.hosting.oci:"
LIMIT_S = 0.5


def spread(values: list[float]) -> dict[str, Any]:
    """Median with minimum and maximum, seconds."""
    return {
        "median_s": statistics.median(values),
        "min_s": min(values),
        "max_s": max(values),
        "runs": len(values),
    }


def measure(repeats: int, folder: str) -> dict[str, Any]:
    """Deploy and remove `repeats` times; every undo goes through a ledger, as in a run."""
    cpu = str(max(os.sched_getaffinity(0)))
    times: dict[str, list[float]] = {"open_node": [], "deploy_pod": [], "remove_pod": []}
    begun_s = time.perf_counter()
    with NamespaceNode("dut1") as dut, NamespaceNode("tester") as tester:
        times["open_node"].append((time.perf_counter() - begun_s) / 2)
        ledger = Ledger(f"{folder}/ledger.jsonl", index_dir=Path(folder, "index"))
        for repeat in range(repeats):
            for side in (0, 1):
                connect(tester, f"p{side}", dut, f"nic{side}")
            pod_id = f"bench{os.getpid()}-{repeat}"
            begun_s = time.perf_counter()
            number = ledger.before("pod", dut.place, pod_id=pod_id, state_dir=folder + "/pods")
            spec = PodSpec(pod_id=pod_id, cpus=cpu, memory_octets=256 << 20).as_builtins()
            pod = dut.call(OCI + "create", spec=spec, state_dir=folder + "/pods")
            for side in (0, 1):
                dut.call(
                    "bmwg.drivers.hosting.interfaces:move",
                    interface=f"nic{side}",
                    pid=pod["pid"],
                    name=f"eth{side}",
                )
            dut.call(OCI + "start", pod_id=pod_id, state_dir=folder + "/pods")
            times["deploy_pod"].append(time.perf_counter() - begun_s)
            begun_s = time.perf_counter()
            ledger.undo(number, {"dut1": dut})
            times["remove_pod"].append(time.perf_counter() - begun_s)
            for side in (0, 1):
                tester.call("bmwg.drivers.hosting.interfaces:delete", interface=f"p{side}")
    return {name: spread(values) for name, values in times.items()}


def main() -> int:
    """Measure and judge against the limit; exit status 1 above it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bmwg-bench-") as folder:
        found = measure(arguments.repeats, folder)
    within = all(found[name]["median_s"] <= LIMIT_S for name in ("deploy_pod", "remove_pod"))
    json.dump(
        {"benchmark": "deploy_pod", "limit_s": LIMIT_S, "within_limit": within, **found}, sys.stdout, indent=1
    )
    print()
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
