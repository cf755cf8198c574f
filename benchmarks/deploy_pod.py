"""How long a pod with two interfaces takes to deploy and to remove; JSON on standard output, seconds.

`runtime`: crun and two veth ends moved in, what the hosting form alone costs. `pvp`: the whole path by an
option of the testbed file: a pod with two CNI attachments plus routes, device queues and evidence.
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

from ending import end_in_order
from holding import keep_awake

from bmwg.drivers.hosting.bundle import PodSpec
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.links import connect
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.paths.select import path_driver
from bmwg.drivers.testbed import load_testbed
from bmwg.methodology.records import Cell

OCI = "bmwg.drivers.hosting.oci:"
INTERFACES = "bmwg.drivers.hosting.interfaces:"
LIMIT_S = 0.5
TESTBED = Path(__file__).parent.parent / "testbeds" / "embedded.yaml"


def spread(values: list[float]) -> dict[str, Any]:
    """Median with minimum and maximum, seconds."""
    return {
        "median_s": statistics.median(values),
        "min_s": min(values),
        "max_s": max(values),
        "runs": len(values),
    }


def runtime(repeats: int, folder: Path) -> dict[str, Any]:
    """Time crun alone; every undo goes through a ledger, as in a run."""
    cpu = str(max(os.sched_getaffinity(0)))
    state_dir = str(folder / "pods")
    deploy_s, remove_s = [], []
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    with NamespaceNode("dut1") as dut, NamespaceNode("tester") as tester:
        for repeat in range(repeats):
            for side in (0, 1):
                connect(tester, f"p{side}", dut, f"nic{side}")
            pod_id = f"bench{os.getpid()}-{repeat}"
            spec = PodSpec(pod_id=pod_id, cpus=cpu, memory_octets=256 << 20).as_builtins()
            begun_s = time.perf_counter()
            number = ledger.before("pod", dut.place, pod_id=pod_id, state_dir=state_dir)
            pod = dut.call(OCI + "create", spec=spec, state_dir=state_dir)
            for side in (0, 1):
                dut.call(INTERFACES + "move", interface=f"nic{side}", pid=pod["pid"], name=f"eth{side}")
            dut.call(OCI + "start", pod_id=pod_id, state_dir=state_dir)
            deploy_s.append(time.perf_counter() - begun_s)
            begun_s = time.perf_counter()
            ledger.undo(number, {"dut1": dut})
            remove_s.append(time.perf_counter() - begun_s)
            for side in (0, 1):
                tester.call(INTERFACES + "delete", interface=f"p{side}")
    return {"deploy": spread(deploy_s), "remove": spread(remove_s)}


def pvp(repeats: int, folder: Path, network: str) -> dict[str, Any]:
    """Time the path pvp by one network option of the embedded testbed."""
    cell = Cell(path="pvp", hosting="pod", function="kernel-l3", network=network, frame_octets=64)
    deploy_s, remove_s = [], []
    ledger = Ledger(folder / f"{network}.jsonl", index_dir=folder / "index")
    with open_bed(load_testbed(TESTBED), ledger, folder) as bed:
        driver = path_driver(cell, bed)
        driver.probe()
        for _ in range(repeats):
            begun_s = time.perf_counter()
            with driver.deploy():
                deploy_s.append(time.perf_counter() - begun_s)
                begun_s = time.perf_counter()
            remove_s.append(time.perf_counter() - begun_s)
    return {"deploy": spread(deploy_s), "remove": spread(remove_s)}


def main() -> int:
    """Measure and judge against the limit; exit status 1 above it."""
    held = keep_awake()
    end_in_order()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument(
        "--network", action="append", help="option of the testbed file (default: bridge, ptp)"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bmwg-bench-") as name:
        found = {"runtime": runtime(arguments.repeats, Path(name))}
        for network in arguments.network or ["bridge", "ptp"]:
            found[f"pvp {network}"] = pvp(arguments.repeats, Path(name), network)
    within = all(part["median_s"] <= LIMIT_S for entry in found.values() for part in entry.values())
    json.dump(
        {"benchmark": "deploy_pod", "kept_awake": held, "limit_s": LIMIT_S, "within_limit": within, **found},
        sys.stdout,
        indent=1,
    )
    print()
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
