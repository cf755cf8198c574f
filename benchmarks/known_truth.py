"""The whole chain against a truth that is known: a policer of 100,000 frames/s on the DUT's way out.

Real nodes, the kernel forwarder on its own CPU, the embedded tester, our trial policy and our search.
48 Mbit/s are 100,000 frames/s of 64 octets, whose FCS no Linux queue counts (60 octets, 480 bit). Bucket and
device queue let about 270 frames through beyond the rate, 0.3 % of a trial of 0.9 s. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from tester_latency import spread

from bmwg.drivers.api import Node, TrafficDriver
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.records import Cell, OutcomeType, TrialResult, TrialSpec
from bmwg.methodology.search.bisection import SearchResult, search
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.traffic import Traffic
from bmwg.methodology.trial import JudgedTrial, RecordedTrial, TrialPolicy, judge

TRUTH_FPS = 100_000
BUCKET_OCTETS = 34 * 60
BURST_KILOBIT = 20  # of the vSwitch's policer: 54 frames of 46 octets
_SWITCH = "bmwg.drivers.network.ovs_switch"
POLICY = TrialPolicy(set_aside_host_stalls=True)
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
GOAL = ThroughputGoal(
    offer=Traffic.of(CELL),
    duration_s=0.9,
    min_load_fps=60_000,
    max_load_fps=150_000,
    relative_width=0.003,
    envelope_fps=1_000_000,
    max_repeats=40,
    max_reopenings=6,
)


# Of each networking model one option; every one of them is policed where its pod's frames leave.
MODELS = {
    "kernel": replace(CELL, path="pvp", hosting="pod", network="bridge"),
    "user-space": replace(CELL, path="pvp", hosting="pod", function="testpmd", network="ovs-dpdk"),
    "ebpf-tc": replace(CELL, path="pvp", hosting="pod", network="ebpf-tc"),
    "ebpf-xdp": replace(CELL, path="pvp", hosting="pod", function="testpmd", network="af-xdp"),
}


# Two pollers share the DUT's one CPU here, and carry less than the truth of the others.
SLOW = {"user-space": 20_000, "ebpf-xdp": 20_000}


def truth_of(model: str | None) -> int:
    """Return the rate (frames/s) to which a model's path is policed."""
    return SLOW.get(model or "", TRUTH_FPS)


def goal_of(model: str | None) -> ThroughputGoal:
    """Return the search for a model's truth."""
    truth = truth_of(model)
    return replace(GOAL, min_load_fps=truth * 6 // 10, max_load_fps=truth * 3 // 2)


def police_in_switch(node: Node, truth_fps: int) -> None:
    """Have the vSwitch police what it takes from the pod's second port, by its own token bucket.

    A frame of 64 octets counts with 46 there: neither FCS nor Ethernet header.
    """
    rate_kbps = truth_fps * 46 * 8 // 1000
    ports = node.call(f"{_SWITCH}:configure", words=["list-ports", "bmwg-br1"]).split()
    (port,) = (name for name in ports if name != "nic1")
    settings = [f"ingress_policing_rate={rate_kbps}", f"ingress_policing_burst={BURST_KILOBIT}"]
    node.call(f"{_SWITCH}:configure", words=["set", "interface", port, *settings])


def police(pid: int, interface: str, truth_fps: int = TRUTH_FPS) -> None:
    """Put the policer on the way out of an interface in the namespace of a process."""
    bucket = str(BUCKET_OCTETS)
    limits = ["rate", f"{truth_fps * 480}bit", "burst", bucket, "limit", bucket]
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "add", "dev", interface, "root", "tbf", *limits],
        check=True,
        capture_output=True,
        timeout=10,
    )


@contextmanager
def policed(folder: Path, io: str = "auto", model: str | None = None) -> Iterator[TrafficDriver]:
    """Yield the tester, on ports of one kind, on both sides of a path with the policer on its way out.

    Raises TestbedError PATH-02 where the model's cell cannot be deployed here.
    """
    cell, truth = MODELS.get(model or "", CELL), truth_of(model)
    testbed = load_testbed()
    testbed = replace(testbed, tester=replace(testbed.tester, io=io))
    with open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed:
        node = bed.node("dut1")
        switched, taken = cell.network == "ovs-dpdk", cell.network == "af-xdp"
        if not switched and not taken:
            police(node.pid, "nic1", truth)
        with (
            path_driver(cell, bed).deploy() as deployment,
            EmbeddedTraffic.for_testbed(testbed, folder, 0.02) as tester,
        ):
            if switched:
                police_in_switch(node, truth)
            if taken:  # the NIC stands in the pod
                (pod,) = bed.pods.values()
                police(pod.pid, "net1", truth)
            tester.attach(deployment.ports)
            tester.learn(GOAL.spec(1_000))
            yield tester


def find(
    tester: TrafficDriver, *, limit_s: float = math.inf, model: str | None = None
) -> tuple[SearchResult, list[JudgedTrial]]:
    """Search once; return the outcome and its trials, of which trial n is entry n - 1.

    The outcome is `invalid` after `limit_s`: on a machine whose CPUs are taken away, hardly a trial is valid.
    """
    trials: list[JudgedTrial] = []
    end_s = time.monotonic() + limit_s

    def measure(spec: TrialSpec) -> JudgedTrial:
        if time.monotonic() > end_s:
            raise TimeoutError(f"no answer in {limit_s:g} s and {len(trials)} trials")
        result: TrialResult = tester.run(spec)
        time.sleep(0.1)  # then the next trial may have real-time priority as well
        trials.append(judge(RecordedTrial(seq=len(trials) + 1, result=result), POLICY))
        return trials[-1]

    return search(measure, goal_of(model)), trials


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--io", default="auto")
    options.add_argument("--model", choices=sorted(MODELS), help="a pod on a network of this model")
    wanted = options.parse_args()
    truth = truth_of(wanted.model)
    answers: list[int] = []
    types: list[str] = []
    validity: Counter[str] = Counter()
    by_loss = True
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        policed(Path(folder), wanted.io, MODELS.get(wanted.model, CELL)) as tester,
    ):
        for _ in range(wanted.runs):
            found, trials = find(tester, model=wanted.model)
            types.append(found.type.value)
            validity.update(trial.validity.value for trial in trials)
            if found.type is OutcomeType.MEASURED and found.lower and found.upper:
                answers.append(found.lower.load_fps)
                above = [trials[seq - 1].result for seq in found.upper.trials]
                by_loss &= bool(above) and all(trial.streams[0].unsent_frames == 0 for trial in above)
    document = {
        "benchmark": "known_truth",
        "io": wanted.io,
        "model": wanted.model,
        "kept_awake": held,
        "truth_fps": truth,
        "runs": types,
        "answers_fps": answers,
        "answer_fps": spread([float(answer) for answer in answers]),
        "within_half_percent": sum(abs(answer - truth) <= 0.005 * truth for answer in answers),
        "upper_bounds_by_loss": by_loss,
        "trials": dict(validity),
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
