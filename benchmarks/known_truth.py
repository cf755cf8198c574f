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
from dataclasses import dataclass, replace
from pathlib import Path

from ending import end_in_order
from holding import keep_awake
from spread import spread

from bmwg.drivers.api.protocols import Node, TrafficDriver
from bmwg.drivers.network import ovs_switch
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.answers.believed import believed
from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, TrialResult, TrialSpec
from bmwg.methodology.search.bisection import SearchResult, search
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge
from bmwg.methodology.trial.traffic import Traffic

TRUTH_FPS = 100_000
GRAIN = 0.005  # of the truth: what a policer lets through beside its rate, and the clock that paces it
_FRAME_BITS = 480  # of 64 octets at a Linux queue, which counts no FCS
_SWITCH_OCTETS = 46  # at the vSwitch's policer, which counts neither FCS nor Ethernet header
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A path that is policed to `fps` frames/s by a bucket of so many frames, and trials of this length.

    What the bucket lets through beyond the rate must be small against a trial. `waiting_frames` are what may
    be held back for a while without loss, since queues and bucket take it; 0: a stall sets a trial aside.
    `link_behind` is the function of a chain behind which the policer stands, so that a link amid the chain is
    its slowest; empty: it stands where the path ends. With `by_rule` nftables drops what is too much where
    the DUT forwards, and no queue of the policer holds anything.
    """

    cell: Cell
    fps: int = TRUTH_FPS
    bucket_frames: int = 34
    duration_s: float = 0.9
    waiting_frames: int = 0
    link_behind: str = ""
    by_rule: bool = False

    @property
    def goal(self) -> ThroughputGoal:
        """The search for it."""
        return ThroughputGoal(
            offer=Traffic.of(self.cell),
            duration_s=self.duration_s,
            min_load_fps=self.fps * 6 // 10,
            max_load_fps=self.fps * 3 // 2,
            relative_width=0.003,
            envelope_fps=1_000_000,
            max_repeats=40,
            max_reopenings=6,
        )

    @property
    def policy(self) -> TrialPolicy:
        """When a trial counts."""
        if not self.waiting_frames:
            return TrialPolicy(set_aside_host_stalls=True)
        return TrialPolicy(max_stall_frames=self.waiting_frames)


# The baseline, and of each networking model one option, policed where its pod's frames leave. Pollers that
# share the DUT's one CPU wait for each other for milliseconds and hand on what came meanwhile at once: a
# slower rate, a bucket that takes it, and trials long enough that the bucket does not count. A pod's AF_XDP
# socket and DPDK's AF_PACKET device send past every queue of Linux: model ebpf-xdp has no policer here.
NODE = Truth(cell=CELL)
MODELS = {
    "kernel": Truth(cell=replace(CELL, path="pvp", hosting="pod", network="bridge")),
    "ebpf-tc": Truth(cell=replace(CELL, path="pvp", hosting="pod", network="ebpf-tc")),
    "user-space": Truth(
        cell=replace(CELL, path="pvp", hosting="pod", function="testpmd", network="ovs-dpdk"),
        fps=20_000,
        bucket_frames=400,
        duration_s=8.0,
        waiting_frames=200,
    ),
}
# A chain carries what its slowest link does: the one between two functions, at half of what the others carry.
CHAIN = Truth(
    cell=replace(CELL, path="chain", hosting="pod", network="bridge", axes=(("chain", "a>b"),)),
    fps=60_000,
    link_behind="a",
)
# Each of four ports of a bridge lets out what a full mesh has for it at the rate that each port sends.
MESH = Truth(
    cell=Cell(
        path="switch",
        hosting="baremetal",
        function="linux-bridge",
        network="none",
        frame_octets=64,
        axes=(("pattern", "full-mesh-4"),),
    ),
    fps=20_000,
)


def police_in_switch(node: Node, truth: Truth) -> None:
    """Have the vSwitch police what it takes from the pod's second port, by its own token bucket."""
    rate_kbps = truth.fps * _SWITCH_OCTETS * 8 // 1000
    burst_kilobit = math.ceil(truth.bucket_frames * _SWITCH_OCTETS * 8 / 1000)
    ports = node.call(ovs_switch.configure, words=["list-ports", "bmwg-br1"]).split()
    (port,) = (name for name in ports if name != "nic1")
    settings = [f"ingress_policing_rate={rate_kbps}", f"ingress_policing_burst={burst_kilobit}"]
    node.call(ovs_switch.configure, words=["set", "interface", port, *settings])


def police(pid: int, interface: str, truth: Truth) -> None:
    """Put the policer on the way out of an interface in the namespace of a process."""
    bucket = str(truth.bucket_frames * _FRAME_BITS // 8)
    limits = ["rate", f"{truth.fps * _FRAME_BITS}bit", "burst", bucket, "limit", bucket]
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "add", "dev", interface, "root", "tbf", *limits],
        check=True,
        capture_output=True,
        timeout=10,
    )


def police_by_rule(pid: int, truth: Truth) -> None:
    """Have nftables drop what the DUT forwards beyond the rate."""
    limit = f"limit rate over {truth.fps}/second burst {truth.bucket_frames} packets drop"
    table = f"table ip policer {{\nchain f {{\ntype filter hook forward priority 0;\n{limit}\n}}\n}}\n"
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "nft", "-f", "-"],
        input=table,
        text=True,
        check=True,
        capture_output=True,
        timeout=10,
    )


@contextmanager
def policed(folder: Path, io: str = "auto", truth: Truth = NODE) -> Iterator[TrafficDriver]:
    """Yield the tester, on ports of one kind, on both sides of a path with the policer on its way out.

    Raises TestbedError PATH-02 where the cell cannot be deployed here.
    """
    switch = truth.cell.path == "switch"
    testbed = load_testbed("testbeds/switch.yaml") if switch else load_testbed()
    testbed = replace(testbed, tester=replace(testbed.tester, io=io))
    with open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed:
        node = bed.node("dut1")
        switched = truth.cell.network == "ovs-dpdk"
        if truth.by_rule:
            police_by_rule(node.pid, truth)
        elif not switched and not truth.link_behind:
            for number in range(len(testbed.tester.ports)) if switch else (1,):
                police(node.pid, f"nic{number}", truth)
        with (
            path_driver(truth.cell, bed).deploy() as deployment,
            EmbeddedTraffic.for_testbed(testbed, folder, 0.02) as tester,
        ):
            if switched:
                police_in_switch(node, truth)
            for member in deployment.evidence.get("chain", {}).get("members", ()):
                if member["name"] == truth.link_behind:
                    police(bed.pods[member["pod"]].pid, "net1", truth)
            tester.attach(deployment.ports)
            tester.learn(truth.goal.spec(1_000))
            yield tester


def find(
    tester: TrafficDriver, *, limit_s: float = math.inf, truth: Truth = NODE
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
        trials.append(judge(RecordedTrial(seq=len(trials) + 1, result=result), truth.policy))
        return trials[-1]

    return search(measure, truth.goal), trials


def answer(tester: TrafficDriver, *, limit_s: float = math.inf, truth: Truth = NODE) -> Outcome:
    """Find the throughput as the default profile does, with what stands beside the answer.

    The outcome is `invalid` after `limit_s`.
    """
    profile = load_profile("quick")
    trials: list[JudgedTrial] = []
    end_s = time.monotonic() + limit_s

    def measure(spec: TrialSpec, phase: str) -> JudgedTrial:
        if time.monotonic() > end_s:
            raise TimeoutError(f"no answer in {limit_s:g} s and {len(trials)} trials")
        result: TrialResult = tester.run(spec)
        time.sleep(0.02)
        trials.append(judge(RecordedTrial(seq=len(trials) + 1, result=result), profile.policy))
        return trials[-1]

    asked = Asked(
        profile=profile,
        cell=truth.cell,
        outcome_id="known",
        trial=measure,
        max_load_fps=10 * truth.fps,
        envelope_fps=10 * truth.fps,
    )
    found = measurement("throughput").measure(asked).outcomes[0]
    return believed(
        found,
        [trials[seq - 1] for seq in found.trials],
        most_ratio=profile.policy.most_set_aside_ratio,
        continued=False,
        by_cpu=True,
        policy=profile.policy,
    )


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--io", default="auto")
    named = {**MODELS, "chain": CHAIN, "mesh": MESH}
    options.add_argument(
        "--model", choices=sorted(named), help="a pod on a network of this model, a chain, or a mesh"
    )
    options.add_argument(
        "--goal", action="store_true", help="search as the default profile does, by its goal"
    )
    options.add_argument("--fps", type=int, help="the policer's rate, frames/s")
    options.add_argument("--bucket", type=int, help="frames that the policer's bucket holds")
    options.add_argument("--by-rule", action="store_true", help="police by a rule of nftables, not by tbf")
    wanted = options.parse_args()
    truth = named.get(wanted.model, NODE)
    truth = replace(
        truth,
        fps=wanted.fps or truth.fps,
        bucket_frames=wanted.bucket or truth.bucket_frames,
        by_rule=wanted.by_rule,
    )
    answers: list[int] = []
    types: list[str] = []
    validity: Counter[str] = Counter()
    by_loss = True
    held_truths = 0
    intervals: list[tuple[int, int]] = []
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        policed(Path(folder), wanted.io, truth) as tester,
    ):
        for _ in range(wanted.runs if wanted.goal else 0):
            outcome = answer(tester, truth=truth)
            types.append(outcome.type.value)
            if outcome.type is OutcomeType.MEASURED and outcome.lower and (ends := interval(outcome)):
                answers.append(outcome.lower.load_fps)
                held_truths += ends[0] <= truth.fps * (1 + GRAIN) and truth.fps * (1 - GRAIN) <= ends[1]
                intervals.append(ends)
        for _ in range(0 if wanted.goal else wanted.runs):
            found, trials = find(tester, truth=truth)
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
        "truth_fps": truth.fps,
        "bucket_frames": truth.bucket_frames,
        "by_rule": truth.by_rule,
        "runs": types,
        "answers_fps": answers,
        "answer_fps": spread([float(answer) for answer in answers]),
        "within_half_percent": sum(abs(answer - truth.fps) <= 0.005 * truth.fps for answer in answers),
        "intervals_fps": intervals,
        "intervals_that_hold_the_truth": held_truths,
        "upper_bounds_by_loss": by_loss,
        "trials": dict(validity),
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
