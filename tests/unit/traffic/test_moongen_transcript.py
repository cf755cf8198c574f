"""What MoonGen itself said: orders and results of trials that it ran, read as the driver reads them.

Taken on a veth pair with af_packet ports and a MoonGen of commit 7746ff2f (libmoon dfceafcb, DPDK 17.08).
In the third trial its own receiver got no CPU, and it told of no loss: its ring held 512 frames.
"""

import json
import re
from pathlib import Path

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.moongen import driver
from bmwg.methodology.records import Direction, TrialSpec

TRIALS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "moongen" / "transcript.jsonl").read_text().splitlines()
]
SPECS = [
    TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0),
    TrialSpec(frame_octets=512, load_fps=1000, duration_s=1.0, flows=16),
    TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0, direction=Direction.BOTH),
]


@pytest.fixture
def traffic(tmp_path):
    config = driver.MoonGenConfig(
        folder=tmp_path,
        ports=(0, 1),
        macs=("02:00:00:00:00:a0", "02:00:00:00:00:a1"),
        run_dir=tmp_path,
        software_pacing=True,
        drain_s=0.3,
    )
    opened = driver.MoonGenTraffic(config)
    opened.attach(
        tuple(
            TesterPort(name=f"p{n}", io="pci", device=f"0000:00:0{n}.0", ipv4=f"198.18.{n}.2/24")
            for n in (0, 1)
        )
    )
    return opened


@pytest.mark.parametrize(("trial", "spec"), list(zip(TRIALS, SPECS, strict=False)))
def test_the_order_is_the_one_that_moongen_ran(traffic, trial, spec):
    ran = {name: value for name, value in trial["order"].items() if name != "hardware_stamps"}  # 0: none
    assert traffic._order(spec) == ran


@pytest.mark.parametrize(
    ("number", "counts"),
    [(0, [(1000, 1000)]), (1, [(1000, 1000)]), (2, [(1000, 1000), (1000, 512)])],
)
def test_its_counts_are_read_by_stream(number, counts):
    found = driver._read(TRIALS[number]["result"])
    streams = [driver._stream(SPECS[number], found, side) for side in range(len(counts))]
    assert [(one.sent_frames, one.received_frames) for one in streams] == counts
    assert all(one.effective_duration_ns >= 1_000_000_000 * 999 // 1000 for one in streams)


@pytest.mark.parametrize(("flows", "frames"), [(1, 10), (500, 500), (16352, 16352)])
def test_it_learns_by_one_frame_a_flow_and_within_two_seconds(traffic, monkeypatch, flows, frames):
    ran = []
    monkeypatch.setattr(traffic, "_run", ran.append)
    traffic.learn(TrialSpec(frame_octets=64, load_fps=1000, duration_s=60.0, flows=flows))
    (told,) = ran
    assert told.intended_frames == frames
    assert told.duration_s <= 2.5


# What the script may call, as libmoon dfceafcb has it: of a device, its queues, memory and packets; of tasks.
OF_OBJECTS = {
    *("getDriverName", "getTxQueue", "getRxQueue", "getTxStats", "getRxStats"),
    *("setRate", "send", "tryRecv", "bufArray", "allocN", "free"),
    *("getUdpPacket", "fill", "calculateChecksum", "setSrcPort", "wait"),
    *("match", "argument", "write", "close"),  # of Lua itself and its parser of arguments
}
OF_MODULES = {
    "mg": {"running", "getTime", "startTask", "sleepMillisIdle", "stop", "version"},
    "device": {"config", "waitForLinks"},
    "memory": {"createMemPool", "bufArray"},
}


def test_the_script_calls_nothing_that_libmoon_lacks():
    script = re.sub(r"--.*", "", driver.SCRIPT.read_text())
    assert set(re.findall(r":(\w+)[({]", script)) <= OF_OBJECTS
    for module, known in OF_MODULES.items():
        assert set(re.findall(rf"\b{module}\.(\w+)", script)) <= known
    loaded = {"moongen", "device", "memory"}
    assert set(re.findall(r'require "(\w+)"', script)) == loaded
