"""OVS-DPDK between two virtio_user ports: the highest load without loss, beside dpdk-testpmd.

64 octets, trials of 1 s. In turn: dpdk-testpmd on both ports by one core (`flowgen`, which sends and receives
both ways as fast as it can; its figure is what arrived, loss allowed), then the tester by one core both ways,
then the tester one way, both without loss. Open vSwitch runs in a folder of its own with its own database,
sockets and pid files; the machine's service is never touched. No hugepages: both sides share memory by memfd.
Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tester_bed as bed
from ending import end_in_order
from holding import keep_awake
from spread import spread
from tester_capacity import printed_fps
from tester_latency import STALL_LIMIT_NS

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.network import ovs_parts
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import FCS_OCTETS, Direction, TrialSpec

FRAME_OCTETS = 64
PARTS = ovs_parts.require()
CONTROL = "switch.ctl"  # the switch's own name for it has the program's name and process in it


class Switch:
    """One Open vSwitch of our own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "OVS_RUNDIR": str(folder),
            "OVS_LOGDIR": str(folder),
            "OVS_DBDIR": str(folder),
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, *argv: str) -> str:
        """One command of the suite, in our folder."""
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            log = (self.folder / "log").read_text(errors="replace")[-3000:]
            raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}\n{log}")
        return done.stdout

    def start(self, *argv: str) -> None:
        """One daemon in the foreground, so that its pid is ours to end."""
        log = (self.folder / "log").open("ab")
        self.processes.append(
            subprocess.Popen(argv, env=self.environment, cwd=self.folder, stdout=log, stderr=log)
        )

    def vsctl(self, *argv: str) -> str:
        """ovs-vsctl on our database."""
        return self.run(PARTS.configure, f"--db=unix:{self.folder}/db.sock", "--timeout=30", *argv)

    def stop(self) -> None:
        """End our daemons, the youngest first."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def switch(folder: Path, cpu: int, space: str) -> Iterator[Switch]:
    """A switch whose two vhost-user ports are patched to each other by one rule each way."""
    ovs = Switch(folder)
    try:
        ovs.run(PARTS.database_tool, "create", f"{folder}/conf.db", PARTS.schema)
        ovs.start(PARTS.database, f"{folder}/conf.db", f"--remote=punix:{folder}/db.sock", "--no-chdir")
        wait_for(folder / "db.sock")
        ovs.vsctl("--no-wait", "init")
        settings = {
            "dpdk-init": "true",
            "dpdk-extra": '"--no-huge --legacy-mem -m 2048 --no-pci --no-telemetry --no-shconf"',
            "pmd-cpu-mask": hex(1 << cpu),
            "dpdk-lcore-mask": hex(1 << cpu),
        }
        ovs.vsctl(
            "--no-wait",
            "set",
            "Open_vSwitch",
            ".",
            *(f"other_config:{key}={value}" for key, value in settings.items()),
        )
        # Its bridge and datapath become interfaces: they live and go with a namespace of their own.
        program = [PARTS.switch, f"unix:{folder}/db.sock", f"--unixctl={folder}/{CONTROL}", "--no-chdir"]
        ovs.start("ip", "netns", "exec", space, *program)
        ovs.vsctl("add-br", "br", "--", "set", "bridge", "br", "datapath_type=netdev")
        for side in (0, 1):
            ovs.vsctl(
                "add-port", "br", f"vu{side}", "--", "set", "interface", f"vu{side}", "type=dpdkvhostuser"
            )
        for one, other in ((0, 1), (1, 0)):
            rule = f"in_port=vu{one},actions=output:vu{other}"
            ovs.run(PARTS.flows, "add-flow", f"unix:{folder}/br.mgmt", rule)
        for side in (0, 1):
            wait_for(folder / f"vu{side}")
        yield ovs
    finally:
        ovs.stop()


def wait_for(path: Path, seconds: float = 30.0) -> None:
    """Until a socket is there."""
    end_s = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end_s:
            raise RuntimeError(f"{path} did not appear within {seconds} s")
        time.sleep(0.05)


def loss_free(
    tester: EmbeddedTraffic, load_fps: int, direction: Direction, attempts: int = 6
) -> tuple[bool, dict[str, int]]:
    """Whether one of the undisturbed 1 s trials sent all and lost none, in each direction."""
    seen: dict[str, int] = {}
    for _ in range(attempts):
        spec = TrialSpec(frame_octets=FRAME_OCTETS, load_fps=load_fps, duration_s=1.0, direction=direction)
        streams = tester.run(spec).streams
        seen = {
            "load_fps": load_fps,
            "directions": len(streams),
            "unsent": sum(counts.unsent_frames for counts in streams),
            "lost": sum(counts.lost_frames for counts in streams),
            "gap_ns": max(counts.largest_gap_ns for counts in streams),
        }
        if seen["unsent"] == 0 and seen["lost"] == 0:
            return True, seen
        if seen["gap_ns"] <= STALL_LIMIT_NS and seen["unsent"]:
            return False, seen
    return False, seen


def highest(tester: EmbeddedTraffic, direction: Direction, most_fps: int, log: list[dict[str, int]]) -> int:
    """Return the highest load (frames/s a direction, to 50,000) that a trial carried without loss."""
    low, high = 50_000, most_fps
    while high - low > 50_000:
        middle = (low + high) // 2
        clean, seen = loss_free(tester, middle, direction)
        log.append(seen)
        low, high = (middle, high) if clean else (low, middle)
    return low


def testpmd_fps(folder: Path, seconds: int) -> float:
    """Return frames/s that arrived a port, of dpdk-testpmd that sends and receives on both by one core."""
    devices = [
        f"--vdev=virtio_user{side},path={folder}/vu{side},mac=02:00:00:00:00:0{side},queue_size=1024"
        for side in (0, 1)
    ]
    argv = ["nice", "-n", "-20", "dpdk-testpmd", "--no-huge", "--no-pci", "-m", "256", "--no-shconf"]
    argv += ["--no-telemetry", "--lcores=(0,1)@0", *devices, "--", "--forward-mode=flowgen", "--auto-start"]
    argv += ["--total-num-mbufs=16384", "--txd=1024", "--rxd=1024", "--stats-period=1", "--no-mlockall"]
    argv += [f"--txpkts={FRAME_OCTETS - FCS_OCTETS}"]
    said = folder / "testpmd"
    with said.open("w") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        Path(f"/proc/{process.pid}/autogroup").write_text("-20")
        end_s = time.monotonic() + seconds + 30
        try:
            while len(printed_fps(said.read_text())) < 2 * (seconds + 2) and time.monotonic() < end_s:
                time.sleep(0.2)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    steady = printed_fps(said.read_text())[2:-2]  # both ports' lines, without the first and the last second
    if not steady:
        raise RuntimeError(said.read_text()[-3000:])
    return sum(steady) / len(steady)


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--seconds", type=int, default=5, help="of each run of dpdk-testpmd")
    options.add_argument("--highest-fps", type=int, default=8_000_000)
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    found: dict[str, list[float]] = {"testpmd": [], "both": [], "forward": []}
    log: list[dict[str, int]] = []
    with (
        tempfile.TemporaryDirectory(prefix="bmwg-ovs-") as name,
        bed.namespace("o") as space,
        switch(Path(name), last, space),
    ):
        folder = Path(name)
        ports = tuple(
            TesterPort(
                name=f"tester/v{side}",
                io="virtio_user",
                device=str(folder / f"vu{side}"),
                mac=f"02:00:00:00:00:0{side}",
                ipv4=f"198.18.{side}.2/24",
            )
            for side in (0, 1)
        )
        for _ in range(wanted.runs):
            found["testpmd"].append(testpmd_fps(folder, wanted.seconds))
            with EmbeddedTraffic(EmbeddedConfig(run_dir=folder)) as tester:
                tester.attach((ports[0], ports[1]))
                time.sleep(1.0)
                tester.learn(TrialSpec(frame_octets=FRAME_OCTETS, load_fps=1000, duration_s=1.0))
                for direction in (Direction.BOTH, Direction.FORWARD):
                    fps = highest(tester, direction, wanted.highest_fps, log)
                    found[direction.value].append(float(fps))
    ratios = [mine / other for mine, other in zip(found["both"], found["testpmd"], strict=True)]
    document = {
        "benchmark": "ovs_dpdk",
        "kept_awake": held,
        "fps_each_direction": {name: spread(values) for name, values in found.items()},
        "ratio_both_to_testpmd": spread(ratios),
        "ratios": [round(one, 3) for one in ratios],
        "trials": log,
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
