"""A lab of three machines, each with a kernel of its own but the runner's: tester and device are hosts.

Both are QEMU guests with an sshd; the runner, on which this runs in namespaces of its own, only steers. The
tester's NICs are igb behind an IOMMU, which the run takes by vfio-pci; the device's are virtio. Cables end at
taps that bridges of a namespace apart join, so the runner sees no test frame.

The runner is killed and the run resumed; the tester's host loses its power amid it, and the run goes on; a
cable is pulled and put back. Usage: third.py FOLDER. The exit status is that of `bmwg verify`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.rehearsal.accidents import amid, run_of, said
from tests.rehearsal.apart import BOOT_DEADLINE_S, CALL_DEADLINE_S, begun, furnish, mac, reached, serve

from bmwg.drivers.machines import guest_run, guest_views, qemu
from bmwg.drivers.machines.qemu import MachineSpec, Nic, NicModel
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import pages
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import embedded_file
from bmwg.drivers.traffic.embedded import build

TESTER, DEVICE = "gen", "dut1"
CABLES = 2
HUGEPAGES = 128
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")
_PULLED_S = 10.0
_PROFILE = """
extends: guest-sriov
name: third
title: Function with tester and device on hosts with kernels of their own, indicative only
paths:
  - {path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}
  - {path: node, hosting: baremetal, function: kernel-l3, networks: none, frame_octets: [64]}
  - {path: pvp, hosting: pod, function: kernel-l3, networks: [bridge, ptp], frame_octets: [64]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A guest that stands for a host; its NICs after the first end at taps `<name>1`, `<name>2`."""

    name: str
    number: int
    model: NicModel
    wire: bool  # whether a cable joins two more NICs of its own, of the same model

    @property
    def taps(self) -> tuple[str, ...]:
        """Its ends of the cables, on this machine."""
        return tuple(f"{self.name}{cable}" for cable in range(1, CABLES + 1))

    @property
    def macs(self) -> tuple[str, ...]:
        """The MACs of its NICs at the cables."""
        return tuple(mac(0x20 * self.number + cable) for cable in range(1, CABLES + 1))

    def address(self, end: int) -> str:
        """The address for management: of the runner (1), of the host (2); documentation's own (RFC 5737)."""
        return f"192.0.2.{4 * self.number + end}"

    def spec(self, folder: Path) -> MachineSpec:
        """The guest."""
        ports = zip(self.taps, self.macs, strict=True)
        return MachineSpec(
            name=self.name,
            cpus=2,
            memory_octets=2 << 30,
            accelerator=qemu.probe_accelerator()[0],
            nics=(
                Nic(tap=f"mg-{self.name}", mac=mac(0x20 * self.number), address=f"{self.address(2)}/30"),
                *(Nic(tap=tap, mac=address, model=self.model) for tap, address in ports),
            ),
            cables=((self.model, self.model),) if self.wire else (),
            shares={str(folder): "bmwg-lab"},  # a guest has a /tmp of its own
            views=guest_views.hidden(),
        )


HOSTS = (
    Host(name=TESTER, number=1, model=NicModel.IGB, wire=True),
    Host(name=DEVICE, number=2, model=NicModel.VIRTIO, wire=False),
)


class Trio:
    """The machines while they stand, as a context manager; `boot` starts one anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "python"
        self.machines: dict[str, Machine] = {}
        self._between: subprocess.Popen[str] | None = None

    def __enter__(self) -> Trio:
        build.ensure_built()  # here, where the compiler is fast; a guest finds it
        furnish(self.folder, self.python)
        words = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--net",
            "sh",
            "-c",
            "echo made; exec sleep inf",
        ]
        self._between = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._between.stdout is not None
        self._between.stdout.readline()
        self._ip("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        for cable in range(1, CABLES + 1):
            self._ip("ip", "link", "add", f"br{cable}", "type", "bridge", "mcast_snooping", "0")
            self._ip("ip", "link", "set", f"br{cable}", "up")
        for host in HOSTS:
            self.boot(host)
        self._write()
        return self

    def __exit__(self, *exc: object) -> None:
        for machine in self.machines.values():
            machine.stop()
        if self._between is not None:
            self._between.kill()
            self._between.wait()

    def _ip(self, *words: str) -> None:
        """Run a command in the namespace that lies between the hosts."""
        assert self._between is not None
        enter = ["nsenter", f"--target={self._between.pid}", "--net"]
        subprocess.run([*enter, *words], check=True, timeout=10)

    def boot(self, host: Host) -> None:
        """Start a guest, after the end of the one before, cable it, and wait until ssh reaches it."""
        if host.name in self.machines:
            self.machines.pop(host.name).stop()
        machine = Machine(host.spec(self.folder), boot_deadline_s=BOOT_DEADLINE_S)
        self.machines[host.name] = machine.__enter__()
        assert self._between is not None
        interfaces.add_address(interface=f"mg-{host.name}", address=f"{host.address(1)}/30")
        interfaces.up(interface=f"mg-{host.name}")
        for cable, tap in enumerate(host.taps, start=1):
            interfaces.move(interface=tap, pid=self._between.pid)
            self._ip("ip", "link", "set", tap, "txqueuelen", "10000", "master", f"br{cable}", "up")
        if host.wire:
            modules = ["igb", "vfio-pci", "tun", "nf_conntrack_netlink"]
            machine.node.call_within(CALL_DEADLINE_S, guest_run.load, modules=modules)
            made = machine.node.call_within(CALL_DEADLINE_S, pages.set_aside, size_kib=2048, pages=HUGEPAGES)
            assert made == HUGEPAGES
        serve(machine, self.folder, host.name, host.address(2))
        reached(self.folder, self.python, host.name)

    def pull(self, number: int, *, pulled: bool) -> None:
        """Take a cable (1 or 2) out of the device's port, or put it back."""
        monitor = self.machines[DEVICE].monitor
        monitor.execute("set_link", {"name": f"net{number}", "up": not pulled})

    def ports(self, host: Host) -> list[str]:
        """The names of a host's NICs at the cables, then those of its own cable."""
        found = self.machines[host.name].node.call_within(CALL_DEADLINE_S, interfaces.listing)
        names = {str(one["mac"]): str(one["name"]) for one in found}
        own = [f"02:00:00:00:{end:02x}:00" for end in range(2)] if host.wire else []
        return [names[address] for address in (*host.macs, *own)]

    def _write(self) -> None:
        data = yaml.safe_load(embedded_file().read_text())
        tester, device = (self.ports(host) for host in HOSTS)
        ends = [(f"tester/{a}", f"{DEVICE}/{b}") for a, b in zip(tester, device, strict=False)]
        ends.append((f"tester/{tester[2]}", f"tester/{tester[3]}"))
        python = str(self.python)
        data |= {
            "name": "third",
            "nodes": {
                host.name: {"kind": "ssh", "ssh": f"root@lab-{host.name}", "python": python} for host in HOSTS
            },
            "links": [{"a": a, "b": b, "kind": "cable"} for a, b in ends],
            "lab_ports": tester,
            # 2,000 frames/s of 64 octets: QEMU paces nothing, and loses frames above
            "medium": {"kind": "qemu-tap", "line_rate_bps": 1344000},
            "dut": {"cpus": [1], "device_queue": "inline"},
            "pods": {**data["pods"], "cpus": "1"},
        }
        data["tester"] = {
            "driver": "embedded",
            "host": TESTER,
            "ports": [f"tester/{port}" for port in tester[:2]],
            "io": "pci",
            "cpus": [1],
        }
        (self.folder / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        (self.folder / "third.yaml").write_text(_PROFILE)


def main(folder: Path) -> int:
    """Let all three happen in one run; return whether it did not verify."""
    with Trio(folder) as lab:
        words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/third.yaml"]
        words += ["--results", "FOLDER/results", *(word for test in TESTS for word in ("--test", test))]
        command = begun(folder, *words)
        amid(folder, command, 3)
        command.send_signal(signal.SIGKILL)
        said("run, runner killed", command)
        run = run_of(folder)
        said("cleanup", begun(folder, "cleanup", run))

        command = begun(folder, "resume", run)
        amid(folder, command, 3)
        lab.machines[TESTER].monitor.execute("quit")
        said("resume, tester's host without power", command)
        lab.boot(HOSTS[0])
        said("cleanup", begun(folder, "cleanup", run))

        command = begun(folder, "resume", run)
        amid(folder, command, 3)
        lab.pull(1, pulled=True)
        time.sleep(_PULLED_S)
        lab.pull(1, pulled=False)
        said("resume, a cable pulled and put back", command)
        return said("verify", begun(folder, "verify", run))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
