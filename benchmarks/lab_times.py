"""What a deployment on a host over SSH costs, and how long `bmwg lab check` of a lab takes. Prints JSON.

A lab of three machines (the runner's with the tester, two hosts over SSH) stands in namespaces of this one.
Each path is deployed in turns on this machine and on the first host. The ratio is of the median times, once
two round trips were taken from the host's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from spread import spread
from tests.contract.frame_lab import GOOD, UNDERLAY, FrameLab, frame_lab

from bmwg.drivers.api.protocols import PathDriver
from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.paths.select import path_driver
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.hosts import hosts_of
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import Cell

LOCAL = Path(__file__).parent.parent / "testbeds" / "embedded.yaml"
CHECK_LIMIT_S, RATIO_LIMIT = 20.0, 1.3
CELLS = {
    "node": Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64),
    "pvp bridge": Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
}


def deployed_s(driver: PathDriver) -> float:
    """Deploy a path once and return how long that took."""
    begun_s = time.perf_counter()
    with driver.deploy():
        return time.perf_counter() - begun_s


def inside(testbed: Path, folder: Path, repeats: int) -> dict[str, object]:
    """Measure on the runner's machine, whose home has the way to the hosts."""
    with ExitStack() as stack:
        hosts = stack.enter_context(open_hosts(hosts_of(load_testbed(testbed))))
        beds = []
        for name, file, reached in (("here", LOCAL, {}), ("there", testbed, hosts)):
            (folder / name).mkdir()
            ledger = Ledger(folder / f"{name}.jsonl", index_dir=folder / "index")
            beds.append(
                stack.enter_context(open_bed(load_testbed(file), ledger, folder / name, hosts=reached))
            )
        trips_s = []
        for _ in range(200):
            begun_s = time.perf_counter()
            hosts["dut1"].call(probe.echo, value=1)
            trips_s.append(time.perf_counter() - begun_s)
        found: dict[str, object] = {"round_trip": spread(trips_s, "s")}
        for name, cell in CELLS.items():
            drivers = [path_driver(cell, bed) for bed in beds]
            for driver in drivers:
                driver.probe()
                deployed_s(driver)  # fills what is cached
            pairs = [[deployed_s(driver) for driver in drivers] for _ in range(repeats)]
            here_s, there_s = zip(*pairs, strict=True)
            away_s = statistics.median(there_s) - 2 * statistics.median(trips_s)
            found[name] = {
                "here": spread(list(here_s), "s"),
                "there": spread(list(there_s), "s"),
                "ratio": away_s / statistics.median(here_s),
            }
    return found


def checks(lab: FrameLab, repeats: int) -> dict[str, float]:
    """Time `bmwg lab check` of the lab's file, from the command to its last line."""
    took_s = []
    for _ in range(repeats):
        begun_s = time.perf_counter()
        done = lab.bmwg("lab", "check", "--testbed", str(lab.testbed))
        took_s.append(time.perf_counter() - begun_s)
        if not done.stdout:
            raise SystemExit(done.stderr)
    return spread(took_s, "s")


def main() -> int:
    """Measure both and print what was found beside the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bmwg-bench-") as name:
        folder = Path(name)
        if arguments.inside:
            json.dump(inside(arguments.inside, folder, arguments.repeats), sys.stdout)
            return 0
        with frame_lab(folder / "lab", (*GOOD, UNDERLAY), ("dut1", "dut2")) as lab:
            took_s = checks(lab, arguments.repeats)
            words = [*lab.command()[:-2], str(Path(__file__).resolve()), "--inside", str(lab.testbed)]
            words += ["--repeats", str(arguments.repeats)]
            environment = {**lab.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
            told = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, text=True, timeout=1800, env=environment
            )
            found = {"lab_check": took_s, **json.loads(told.stdout)}
    found |= {"benchmark": "lab_times", "check_limit_s": CHECK_LIMIT_S, "ratio_limit": RATIO_LIMIT}
    json.dump(found, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
