"""Capacity: frames sent, received and accounted without loss, against dpdk-testpmd on the same veth pair.

dpdk-testpmd sends (txonly) on one CPU and receives (rxonly) on the other; its figure is the rate at which
frames arrive. The tester's figure is the highest load of a bisection that then holds for a run of the full
length without loss. Both are measured in turn, so that the ratio stands on one machine in one state.
Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import tester_bed as bed
from holding import keep_awake
from spread import spread
from tester_latency import STALL_LIMIT_NS

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.drivers.traffic.embedded.ports import device_arguments, ring_for
from bmwg.methodology.records import FCS_OCTETS, TrialSpec

SPEC = TrialSpec(frame_octets=64, load_fps=1, duration_s=1.0)
MOST_FPS = 3_000_000
START_DEADLINE_S = 30.0
_BEGUN_AND_ENDED = 2  # seconds that are no steady ones: the first and the last


def testpmd(port: TesterPort, mode: str, cpus: str, folder: Path, frame_octets: int) -> subprocess.Popen[str]:
    """Start one dpdk-testpmd in the port's namespace; it forwards at once and prints counts every second."""
    prefix = f"bt{os.getpid()}{mode}"
    argv = [
        "ip",
        "netns",
        "exec",
        Path(str(port.netns)).name,
        "dpdk-testpmd",
        "--no-huge",
        "--no-pci",
        "-m",
        "256",
    ]
    argv += ["--no-shconf", "--no-telemetry", "--file-prefix", prefix, "--lcores", cpus]
    argv += [
        "--vdev",
        device_arguments(port, 0, ring_for(frame_octets)),
        "--",
        f"--forward-mode={mode}",
        "--no-mlockall",
    ]
    argv += ["--total-num-mbufs=16384", "--stats-period=1", "--txd=2048", "--rxd=2048", "--auto-start"]
    argv += [f"--txpkts={frame_octets - FCS_OCTETS}"]
    process = subprocess.Popen(
        ["nice", "-n", "-20", *argv],
        stdin=subprocess.DEVNULL,
        stdout=(folder / mode).open("w"),
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    # The precedence that the tester takes for itself, so that the two are compared on equal terms.
    Path(f"/proc/{process.pid}/autogroup").write_text("-20")
    return process


def printed_fps(text: str) -> list[int]:
    """Rates of arrival that dpdk-testpmd printed, one a second, without those before the first frame."""
    return [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", text) if int(rate)]


def testpmd_fps(
    ports: tuple[TesterPort, TesterPort], seconds: float, folder: Path, frame_octets: int
) -> float:
    """Rate at which dpdk-testpmd counts frames that arrived (its own last statistics)."""
    sink = testpmd(ports[1], "rxonly", "(0,1)@1", folder, frame_octets)
    source = testpmd(ports[0], "txonly", "(0,1)@0", folder, frame_octets)
    enough = math.ceil(seconds) + _BEGUN_AND_ENDED
    deadline_s = time.monotonic() + seconds + START_DEADLINE_S
    try:
        # by what it printed, not by the clock: how long it takes to begin differs from machine to machine
        while len(printed_fps((folder / "rxonly").read_text())) < enough and time.monotonic() < deadline_s:
            time.sleep(0.2)
    finally:
        for process in (source, sink):
            process.send_signal(signal.SIGINT)
        for process in (source, sink):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    steady = printed_fps((folder / "rxonly").read_text())[1:-1]
    if not steady:
        raise RuntimeError((folder / "rxonly").read_text()[-2000:] + (folder / "txonly").read_text()[-2000:])
    return sum(steady) / len(steady)


def holds(tester: EmbeddedTraffic, spec: TrialSpec) -> bool:
    """Whether one undisturbed trial of at most five sends all and loses none, in each direction."""
    for _ in range(5):
        streams = tester.run(spec).streams
        if all(counts.unsent_frames == 0 and counts.lost_frames == 0 for counts in streams):
            return True
        if streams[0].largest_gap_ns <= STALL_LIMIT_NS:
            return False
    return False


def tester_fps(
    ports: tuple[TesterPort, TesterPort],
    seconds: float,
    folder: Path,
    spec: TrialSpec,
    most_fps: int,
) -> int:
    """Highest load that holds: bisected in 0.5 s trials, then lowered by 2 % until a full run holds."""
    with EmbeddedTraffic(EmbeddedConfig(run_dir=folder)) as tester:
        tester.attach(ports)
        low, high = 100_000, most_fps
        while high - low > 25_000:
            middle = (low + high) // 2
            held = holds(tester, replace(spec, load_fps=middle, duration_s=0.5))
            low, high = (middle, high) if held else (low, middle)
        while low > 100_000 and not holds(tester, replace(spec, load_fps=low, duration_s=seconds)):
            low = low * 98 // 100
    return low


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--io", default="af_xdp")
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--seconds", type=float, default=5.0)
    wanted = options.parse_args()
    if wanted.seconds <= 0 or wanted.runs < 1:
        options.error(
            f"expected --seconds above 0 and --runs from 1 on, found {wanted.seconds}, {wanted.runs}"
        )
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(wanted.runs):
            with bed.direct(wanted.io) as ports:
                theirs.append(testpmd_fps(ports, wanted.seconds, Path(folder), SPEC.frame_octets))
            with bed.direct(wanted.io) as ports:
                ours.append(tester_fps(ports, wanted.seconds, Path(folder), SPEC, MOST_FPS))
    print(
        json.dumps(
            {
                "benchmark": "tester_capacity",
                "kept_awake": held,
                "io": wanted.io,
                "frame_octets": 64,
                "tester_fps": spread(ours),
                "testpmd_fps": spread(theirs),
                "ratio": spread([mine / other for mine, other in zip(ours, theirs, strict=True)]),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
