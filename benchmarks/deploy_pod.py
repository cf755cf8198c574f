"""How long a pod with two interfaces takes to deploy and to remove; JSON on standard output, seconds.

`runtime`: crun and two veth ends moved in, what the hosting form alone costs. `pvp`: the whole path by an
option of the testbed file: a pod with two CNI attachments plus routes, device queues and evidence. With
`--accelerated` pods of the user-space and the eBPF models and chains of three instead, against the limits
3 s and 6 s without the start of a vSwitch, which stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake
from spread import spread

from bmwg.drivers.containers import oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes.links import connect
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.paths.select import path_driver
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import Cell

LIMIT_S, POD_LIMIT_S, CHAIN_LIMIT_S = 0.5, 3.0, 6.0
ACCELERATED = (("ovs-dpdk", "testpmd"), ("ebpf-tc", "kernel-l3"), ("af-xdp", "testpmd"))
CHAINED = (("ovs-dpdk", "testpmd"), ("ebpf-tc", "kernel-l3"), ("bridge", "kernel-l3"))
TESTBED = Path(__file__).parent.parent / "testbeds" / "embedded.yaml"


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
            pod = dut.call(oci.create, spec=spec, state_dir=state_dir)
            for side in (0, 1):
                dut.call(interfaces.move, interface=f"nic{side}", pid=pod["pid"], name=f"eth{side}")
            dut.call(oci.start, pod_id=pod_id, state_dir=state_dir)
            deploy_s.append(time.perf_counter() - begun_s)
            begun_s = time.perf_counter()
            ledger.undo(number, {"dut1": dut})
            remove_s.append(time.perf_counter() - begun_s)
            for side in (0, 1):
                tester.call(interfaces.delete, interface=f"p{side}")
    return {"deploy": spread(deploy_s, "s"), "remove": spread(remove_s, "s")}


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
    return {"deploy": spread(deploy_s, "s"), "remove": spread(remove_s, "s")}


def accelerated(repeats: int, folder: Path, cell: Cell) -> dict[str, Any]:
    """Time one path by an option that needs more than a plugin; the vSwitch's own start is told apart."""
    deploy_s, started_s, remove_s = [], [], []
    ledger = Ledger(folder / f"{cell.path}-{cell.network}.jsonl", index_dir=folder / "index")
    with open_bed(load_testbed(TESTBED), ledger, folder) as bed:
        driver = path_driver(cell, bed)
        if missing := driver.probe():
            return {"missing": missing.reason}
        for _ in range(repeats):
            begun_s = time.perf_counter()
            with driver.deploy() as deployment:
                took_s = time.perf_counter() - begun_s
                told = [one.get("vswitch_start_s", 0.0) for one in deployment.evidence["attachments"]]
                started_s.append(max(told))
                deploy_s.append(took_s - started_s[-1])
                begun_s = time.perf_counter()
            remove_s.append(time.perf_counter() - begun_s)
    limit_s = CHAIN_LIMIT_S if cell.axes else POD_LIMIT_S
    return {
        "deploy": spread(deploy_s, "s"),
        "vswitch_start": spread(started_s, "s"),
        "remove": spread(remove_s, "s"),
        "limit_s": limit_s,
        "within_limit": max(deploy_s) <= limit_s,
    }


def all_accelerated(repeats: int, folder: Path) -> dict[str, Any]:
    """Time pods of each accelerated option, and chains of three."""
    found = {}
    for path, options in (("pvp", ACCELERATED), ("chain", CHAINED)):
        for network, function in options:
            axes = (("chain", "a>b>c"),) if path == "chain" else ()
            cell = Cell(
                path=path, hosting="pod", function=function, network=network, frame_octets=64, axes=axes
            )
            found[f"{path} {network}"] = accelerated(repeats, folder, cell)
    return found


def main() -> int:
    """Measure and judge against the limit; exit status 1 above it."""
    held = keep_awake()
    end_in_order()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument(
        "--network", action="append", help="option of the testbed file (default: bridge, ptp)"
    )
    parser.add_argument("--accelerated", action="store_true", help="user-space and eBPF, and chains of three")
    arguments = parser.parse_args()
    if arguments.accelerated:
        with tempfile.TemporaryDirectory(prefix="bmwg-bench-") as name:
            found = all_accelerated(arguments.repeats, Path(name))
        json.dump({"benchmark": "deploy_pod", "kept_awake": held, "accelerated": found}, sys.stdout, indent=1)
        print()
        return 0 if all(one.get("within_limit") for one in found.values()) else 1
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
