"""OVS-DPDK between two virtio_user ports: the highest loss-free load one way, 64 octets, 1 s trials.

Open vSwitch runs in a folder of its own with its own database, sockets and pid files; the machine's
service is never touched. No hugepages: both sides share memory by memfd. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tester_bed as bed
from ending import end_in_order
from holding import keep_awake
from tester_latency import STALL_LIMIT_NS, spread

from bmwg.drivers.api import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.records import TrialSpec

SWITCH = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


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
        return self.run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=30", *argv)

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
        ovs.run("ovsdb-tool", "create", f"{folder}/conf.db", SCHEMA)
        ovs.start("ovsdb-server", f"{folder}/conf.db", f"--remote=punix:{folder}/db.sock", "--no-chdir")
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
        ovs.start("ip", "netns", "exec", space, SWITCH, f"unix:{folder}/db.sock", "--no-chdir")
        ovs.vsctl("add-br", "br", "--", "set", "bridge", "br", "datapath_type=netdev")
        for side in (0, 1):
            ovs.vsctl(
                "add-port", "br", f"vu{side}", "--", "set", "interface", f"vu{side}", "type=dpdkvhostuser"
            )
        for one, other in ((0, 1), (1, 0)):
            rule = f"in_port=vu{one},actions=output:vu{other}"
            ovs.run("ovs-ofctl", "add-flow", f"unix:{folder}/br.mgmt", rule)
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


def loss_free(tester: EmbeddedTraffic, load_fps: int, attempts: int = 6) -> tuple[bool, dict[str, int]]:
    """Whether one of the undisturbed 1 s trials sent all and lost none."""
    seen: dict[str, int] = {}
    for _ in range(attempts):
        counts = tester.run(TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=1.0)).streams[0]
        seen = {
            "load_fps": load_fps,
            "unsent": counts.unsent_frames,
            "lost": counts.lost_frames,
            "gap_ns": counts.largest_gap_ns,
        }
        if counts.unsent_frames == 0 and counts.lost_frames == 0:
            return True, seen
        if counts.largest_gap_ns <= STALL_LIMIT_NS and counts.unsent_frames:
            return False, seen
    return False, seen


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--highest-fps", type=int, default=8_000_000)
    wanted = options.parse_args()
    last = (os.cpu_count() or 1) - 1
    answers: list[float] = []
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
        with EmbeddedTraffic(EmbeddedConfig(run_dir=folder)) as tester:
            tester.attach((ports[0], ports[1]))
            time.sleep(1.0)
            tester.learn(TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0))
            for _ in range(wanted.runs):
                low, high = 100_000, wanted.highest_fps
                while high - low > 100_000:
                    middle = (low + high) // 2
                    clean, seen = loss_free(tester, middle)
                    log.append(seen)
                    low, high = (middle, high) if clean else (low, middle)
                answers.append(float(low))
    print(
        json.dumps(
            {"benchmark": "ovs_dpdk", "kept_awake": held, "loss_free_fps": spread(answers), "trials": log},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
