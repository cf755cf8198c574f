"""The whole chain against a truth that is known: a policer of 100,000 frames/s on the DUT's way out.

Real nodes, the kernel forwarder on its own CPU, the embedded tester, our trial policy and our search.
48 Mbit/s are 100,000 frames/s of 64 octets, whose FCS no Linux queue counts (60 octets, 480 bit).
"""

import os
import subprocess
import time

import pytest

from bmwg.drivers.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.records import Cell, OutcomeType
from bmwg.methodology.search.bisection import search
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.trial import RecordedTrial, TrialPolicy, judge

TRUTH_FPS = 100_000
POLICY = TrialPolicy(set_aside_host_stalls=True)
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
GOAL = ThroughputGoal(
    frame_octets=64,
    duration_s=1.0,
    min_load_fps=60_000,
    max_load_fps=150_000,
    relative_width=0.003,
    envelope_fps=1_000_000,
    max_repeats=40,
    max_reopenings=6,
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


def police(pid: int, interface: str) -> None:
    limits = ["rate", "48mbit", "burst", "6kb", "limit", "6kb"]
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "add", "dev", interface, "root", "tbf", *limits],
        check=True,
        capture_output=True,
        timeout=10,
    )


def test_a_policer_of_100_000_frames_a_second_is_found_within_half_a_percent(tmp_path):
    testbed = load_testbed()
    results = []
    with open_bed(testbed, Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path), tmp_path) as bed:
        police(bed.node("dut1").pid, "nic1")
        with (
            path_driver(CELL, bed).deploy() as deployment,
            EmbeddedTraffic.for_testbed(testbed, tmp_path, 0.02) as tester,
        ):
            tester.attach(deployment.ports)
            tester.learn(GOAL.spec(1_000))

            def measure(spec):
                results.append(tester.run_trial(spec))
                time.sleep(0.01)
                return judge(RecordedTrial(seq=len(results), result=results[-1]), POLICY)

            for _ in range(3):
                results.clear()
                found = search(measure, GOAL)
                if found.type is OutcomeType.MEASURED:
                    break
            else:
                pytest.skip(f"needs CPUs that are not taken away: three searches, the last {found.type}")
    assert abs(found.lower.load_fps - TRUTH_FPS) <= 0.005 * TRUTH_FPS
    above = [results[seq - 1] for seq in found.upper.trials]
    assert above  # the answer is carried by loss, and by a sender that sent everything
    assert all(result.lost_frames > 0 for result in above)
    assert all(result.streams[0].unsent_frames == 0 for result in above)
