"""What a trial costs more where the tester is on a host of its own, over SSH on one machine.

Prints JSON. `driver`: trials of a local and of a remote tester by turns, each on a wire of its own. `run`:
trials of two short runs, whose tester is the runner's or on a host: what they took beside the tester's own
time, and what lies between two of them. Root, sshd; tests/contract/frame_lab.py is the lab.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from spread import spread
from tests.contract.frame_lab import GENERATOR, RUNNER, frame_lab

from bmwg.drivers.api.protocols import TesterPort, TrafficDriver
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.hosts import hosts_of
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.records import NOTHING, WIRE, Cell, TrialSpec
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.remote_tester import RemoteTraffic

_SPEC = TrialSpec(frame_octets=64, load_fps=1000, duration_s=0.1)
_CELL = Cell(path=WIRE, hosting=NOTHING, function=NOTHING, network=NOTHING, frame_octets=64)
_MS = 1e6


def by_turns(folder: Path, turns: int) -> dict[str, Any]:
    """Trials of both testers by turns; what each took beyond the tester's own time, ms."""
    with frame_lab(folder / "lab", tester=GENERATOR) as lab:
        os.environ["HOME"] = str(lab.folder)
        testbed = load_testbed(lab.testbed)
        specs = hosts_of(testbed)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        with (
            open_hosts(specs) as hosts,
            open_bed(
                testbed, ledger, folder, "cost", hosts=Machines(hosts, specs, tests_from_here=False).by_node
            ) as bed,
            path_driver(_CELL, bed).deploy() as deployment,
            EmbeddedTraffic(EmbeddedConfig(run_dir=folder)) as here,
            RemoteTraffic(testbed, bed, 0.05) as there,
        ):
            links.connect(bed.tester, "w0", bed.tester, "w1")
            there.attach(deployment.ports)
            one, other = deployment.ports
            here.attach((_moved(one, "w0", "w1"), _moved(other, "w1", "w0")))
            found: dict[str, list[float]] = {"here": [], "there": []}
            for _ in range(turns):
                for name, tester in (("here", here), ("there", there)):
                    found[name].append(_beyond_ms(tester))
            return {name: spread(values) for name, values in found.items()}


def _moved(port: TesterPort, name: str, peer: str) -> TesterPort:
    """The same port on an end of another pair."""
    mac, peer_mac = links.mac_of("tester", name), links.mac_of("tester", peer)
    return replace(port, name=name, device=name, mac=mac, peer_mac=peer_mac)


def _beyond_ms(tester: TrafficDriver) -> float:
    began_ns = time.monotonic_ns()
    result = tester.run(_SPEC)
    took_ns = time.monotonic_ns() - began_ns
    assert result.fault is None, result.fault
    assert result.streams[0].received_frames == result.streams[0].sent_frames
    return (took_ns - result.wall_time_ns) / _MS


def in_runs(folder: Path, tester: str) -> dict[str, Any]:
    """The trials of one run of wire and node."""
    with frame_lab(folder / f"lab-{tester}", tester=tester) as lab:
        done = lab.run("--test", "CN-TPUT-1.1", "--test", "CN-TPUT-1.2", within_s=600)
        assert "report:" in done.stdout, done.stdout + done.stderr
        (journal,) = lab.results.glob("*/trials.jsonl")
        trials = [one for one in map(json.loads, journal.read_text().splitlines()) if "times" in one]
    pairs = [
        (one, other)
        for one, other in pairwise(trials)
        if one["deployment"] == other["deployment"] and one["phase"] == other["phase"]
    ]
    between = [(other["times"]["began_ns"] - one["times"]["ended_ns"]) / _MS for one, other in pairs]
    beyond = [
        (one["times"]["ended_ns"] - one["times"]["began_ns"] - one["result"]["wall_time_ns"]) / _MS
        for one in trials
    ]
    return {"beyond_the_testers_time_ms": spread(beyond), "between_two_trials_ms": spread(between)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory(prefix="bmwg-remote-") as name:
        folder = Path(name)
        found: dict[str, Any] = {"driver": by_turns(folder, turns)}
        found["run"] = {name: in_runs(folder, name) for name in (RUNNER, GENERATOR)}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
