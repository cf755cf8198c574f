"""What does it help to keep CPUs from halting? Trials of the quick profile, with and without (docs/adr/0230).

Trials of 0.2 s at a load that the kernel forwarder carries with ease, on one deployment with one tester.
Blocks of trials alternate between: nothing held, a request of 0 us on /dev/cpu_dma_latency, spinners on the
CPUs of tester and DUT, a spinner on the DUT's CPU alone. The order rotates from block to block, so that a
noisy neighbour meets all alike. Prints JSON: trials by validity, and how many of all and of the valid lost
frames.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ending import end_in_order

from bmwg.drivers.api.protocols import TrafficDriver
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import Testbed, load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.awake import kept_awake
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge
from bmwg.methodology.trial.keep_awake import KeepAwake

CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
MODES = {  # asked for, and on which of the testbed's CPUs
    "none": (KeepAwake.NONE, "both"),
    "pm_qos": (KeepAwake.PM_QOS, "both"),
    "spin": (KeepAwake.SPIN, "both"),
    "spin_dut": (KeepAwake.SPIN, "dut"),
}
SETTLE_S = 0.05  # choice: what a change of the mode leaves behind is over


@dataclass(kw_only=True)
class Tally:
    """Counts of one mode's trials; `held` counts blocks by what was really held."""

    trials: int = 0
    lossy: int = 0
    valid_lossy: int = 0
    lost_frames: int = 0
    by_validity: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)

    def count(self, trial: JudgedTrial) -> None:
        """Count one trial."""
        lost = trial.result.lost_frames
        self.trials += 1
        self.by_validity[trial.validity.value] += 1
        self.lossy += lost > 0
        self.valid_lossy += trial.valid and lost > 0
        self.lost_frames += lost

    def add(self, other: Tally) -> None:
        """Count what another counted as well."""
        self.trials += other.trials
        self.lossy += other.lossy
        self.valid_lossy += other.valid_lossy
        self.lost_frames += other.lost_frames
        self.by_validity += other.by_validity
        self.held += other.held

    def as_json(self) -> dict[str, Any]:
        """Builtins."""
        return {
            "trials": self.trials,
            "valid": self.by_validity["valid"],
            "by_validity": dict(sorted(self.by_validity.items())),
            "lossy": self.lossy,
            "valid_lossy": self.valid_lossy,
            "lost_frames": self.lost_frames,
            "held": dict(self.held),
        }


def rotated(modes: Sequence[str], block: int) -> list[str]:
    """The order of the modes in a block, counted from 0: each comes first in turn."""
    first = block % len(modes)
    return [*modes[first:], *modes[:first]]


@contextmanager
def deployed(testbed: Testbed, policy: TrialPolicy, folder: Path) -> Iterator[TrafficDriver]:
    """Yield the tester on both sides of a node that routes."""
    with (
        open_bed(testbed, Ledger(folder / "ledger.jsonl", index_dir=folder), folder) as bed,
        path_driver(CELL, bed).deploy() as deployment,
        EmbeddedTraffic.for_testbed(testbed, folder, policy.drain_s) as tester,
    ):
        tester.attach(deployment.ports)
        tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
        time.sleep(policy.learning_wait_s)
        yield tester


def measure(tester: TrafficDriver, policy: TrialPolicy, spec: TrialSpec, trials: int) -> Tally:
    """Run one block of trials."""
    tally = Tally()
    for seq in range(1, trials + 1):
        result = tester.run(spec)
        tally.count(judge(RecordedTrial(seq=seq, result=result), policy))
        time.sleep(policy.restabilize_s)
    return tally


def main() -> None:
    """Measure and print."""
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--blocks", type=int, default=4)
    options.add_argument("--trials", type=int, default=30, help="of each mode in each block")
    options.add_argument("--seconds", type=float, default=0.2)
    options.add_argument("--load-fps", type=int, default=150_000)
    options.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    wanted = options.parse_args()
    testbed, policy = load_testbed(), load_profile("quick").policy
    cpus: Mapping[str, tuple[int, ...]] = {
        "both": (*testbed.tester.cpus, *testbed.dut.cpus),
        "dut": testbed.dut.cpus,
    }
    spec = TrialSpec(frame_octets=64, load_fps=wanted.load_fps, duration_s=wanted.seconds)
    modes = list(dict.fromkeys(wanted.modes))
    whole = {mode: Tally() for mode in modes}
    blocks: list[dict[str, Any]] = []
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        deployed(testbed, policy, Path(folder)) as tester,
    ):
        for block in range(wanted.blocks):
            found: dict[str, Any] = {}
            for mode in rotated(modes, block):
                asked, where = MODES[mode]
                with kept_awake(asked, cpus[where]) as held:
                    time.sleep(SETTLE_S)
                    tally = measure(tester, policy, spec, wanted.trials)
                tally.held[held.held.value + (f" ({held.reason})" if held.reason else "")] += 1
                whole[mode].add(tally)
                found[mode] = tally.as_json()
            blocks.append(found)
    document = {
        "benchmark": "keep_awake",
        "load_fps": wanted.load_fps,
        "duration_s": wanted.seconds,
        "cpus": {"tester": list(testbed.tester.cpus), "dut": list(testbed.dut.cpus)},
        "modes": {mode: tally.as_json() for mode, tally in whole.items()},
        "blocks": blocks,
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
