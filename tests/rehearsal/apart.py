"""A lab with a host that has a kernel of its own, as a program for root.

The host is a QEMU guest with an sshd. Its first NIC is for management; two more are cabled, by taps, to ports
of the machine on which this runs. Usage: `python -m tests.rehearsal.apart FOLDER -- WORDS`. FOLDER is made;
the words are a command of the toolkit, in which FOLDER stands for it, with its files `testbed.yaml` and
`lab.yaml`. The exit status is the command's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from tests.contract.ssh_support import make_keys
from tests.rehearsal.course import Course, in_own_namespaces

import bmwg
from bmwg.drivers.machines import guest_run, guest_views, qemu
from bmwg.drivers.machines.qemu import MachineSpec, Nic
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import links
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import embedded_file

ENDS_WITHIN_S = 1140
BOOT_DEADLINE_S = 300.0
CALL_DEADLINE_S = 240.0
MANAGED, HERE_IPV4, THERE_IPV4 = "mg0", "192.0.2.1", "192.0.2.2"  # documentation's own network (RFC 5737)
PORTS = ("tp1", "tp2")
LOOP = ("eth5", "eth6")
DEVICE = "dut1"  # the node that the guest is
_MODULES = (
    "bmwg.drivers.nodes.agent, bmwg.drivers.platform_record.collect, bmwg.drivers.watch.isolation, execnet"
)
_PROFILE = """
extends: low-rate
name: apart
title: Function on a host with a kernel of its own, indicative only
paths:
  - {path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}
  - {path: node, hosting: baremetal, function: kernel-l3, networks: none, frame_octets: [64]}
  - {path: pvp, hosting: pod, function: kernel-l3, networks: [bridge, ptp], frame_octets: [64]}
"""


def mac(number: int) -> str:
    """The MAC of a NIC of the guest."""
    return f"02:00:00:00:00:{0x10 + number:02x}"


def sshd(folder: Path, name: str, address: str) -> list[str]:
    """Return the words that are a host's sshd, with keys that it owns; ssh then finds it by its name."""
    lines = [
        "Port 22",
        f"ListenAddress {address}",
        "HostKey /run/sshk/host",
        "AuthorizedKeysFile /run/sshk/authorized",
        *("PidFile none", "UsePAM no", "StrictModes no"),
        *("PasswordAuthentication no", "PermitRootLogin prohibit-password", ""),
    ]
    (folder / f"sshd-{name}").write_text("\n".join(lines))
    keys = "mkdir -p /run/sshd /run/sshk && cp {0}/host {0}/authorized /run/sshk/ && chmod 600 /run/sshk/*"
    script = f"{keys.format(folder)} && exec /usr/sbin/sshd -D -e -f {folder}/sshd-{name}"
    (folder / ".ssh").mkdir(exist_ok=True)
    entry = [
        f"Host lab-{name}",
        f"  HostName {address}",
        f"  IdentityFile {folder}/user",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {folder}/known",
        "  HostKeyAlias bmwg-far",
        "  StrictHostKeyChecking yes",
    ]
    configuration = folder / ".ssh" / "config"
    known = configuration.read_text() if configuration.exists() else ""
    if f"Host lab-{name}\n" not in known:  # from its second boot on
        configuration.write_text(known + "\n".join([*entry, ""]))
    return ["sh", "-c", script]


def _ssh(folder: Path, name: str, script: str) -> list[str]:
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    return ["ssh", "-F", f"{folder}/.ssh/config", *options, f"root@lab-{name}", script]


def reached(folder: Path, python: Path, name: str, within_s: float = 600.0) -> None:
    """Wait until the guest lets us in and has told its record once: a translated one takes its time.

    A record asks many programs, and what one gave up waiting for would be another record than a later one.
    """
    script = f"{python} -c 'import {_MODULES}; bmwg.drivers.platform_record.collect.collect()'"
    end_s = time.monotonic() + within_s
    while True:
        done = subprocess.run(
            _ssh(folder, name, script), check=False, capture_output=True, text=True, timeout=within_s
        )
        if done.returncode == 0:
            return
        assert time.monotonic() < end_s, done.stderr
        time.sleep(1)


def said_by(folder: Path, name: str, script: str, within_s: float = 120.0) -> str:
    """Return what a guest's shell says of these lines."""
    done = subprocess.run(
        _ssh(folder, name, script), check=True, capture_output=True, text=True, timeout=within_s
    )
    return done.stdout


def write(folder: Path, python: Path, there: list[str]) -> None:
    """Write the testbed file and the profile; `there` are the guest's ports."""
    data = yaml.safe_load(embedded_file().read_text())
    ends = [(f"tester/{a}", f"{DEVICE}/{b}") for a, b in zip(PORTS, there, strict=True)]
    ends.append((f"tester/{LOOP[0]}", f"tester/{LOOP[1]}"))
    data |= {
        "name": "apart",
        "nodes": {DEVICE: {"kind": "ssh", "ssh": f"root@lab-{DEVICE}", "python": str(python)}},
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in ends],
        "lab_ports": [*PORTS, *LOOP],
        "medium": {"kind": "veth"},
    }
    data["tester"]["ports"] = [f"tester/{port}" for port in PORTS]
    (folder / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (folder / "lab.yaml").write_text(_PROFILE)


class Lab:
    """The machines while they stand, as a context manager; `boot` starts the guest anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "python"
        self._machine: Machine | None = None

    def __enter__(self) -> Lab:
        furnish(self.folder, self.python)
        self.boot()
        found = self.machine.node.call_within(CALL_DEADLINE_S, interfaces.listing)
        names = {str(interface["mac"]): str(interface["name"]) for interface in found}
        write(self.folder, self.python, [names[mac(number)] for number in (1, 2)])
        return self

    def __exit__(self, *exc: object) -> None:
        self.machine.stop()

    @property
    def machine(self) -> Machine:
        """The guest that runs."""
        assert self._machine is not None
        return self._machine

    def boot(self) -> None:
        """Start the guest, after the end of the one before, and wait until ssh reaches it.

        Its cables are new as well: a tap and a veth end with the namespaces to which a run has lent them.
        """
        if self._machine is not None:
            self._machine.stop()
        spec = MachineSpec(
            name="dut",
            cpus=2,
            memory_octets=2 << 30,
            accelerator=qemu.probe_accelerator()[0],
            nics=(
                Nic(tap=MANAGED, mac=mac(0), address=f"{THERE_IPV4}/24"),
                *(Nic(tap=port, mac=mac(number)) for number, port in enumerate(PORTS, start=1)),
            ),
            shares={str(self.folder): "bmwg-lab"},  # a guest has a /tmp of its own
            views=guest_views.hidden(),
        )
        self._machine = Machine(spec, boot_deadline_s=BOOT_DEADLINE_S)
        self._machine.__enter__()
        interfaces.add_address(interface=MANAGED, address=f"{HERE_IPV4}/24")
        for name in (MANAGED, *PORTS):
            interfaces.up(interface=name)
        serve(self.machine, self.folder, DEVICE, THERE_IPV4)
        reached(self.folder, self.python, DEVICE)
        _loop()

    def pull(self, number: int, *, pulled: bool) -> None:
        """Take the cable out of a port of the guest (1 or 2), or put it back: its carrier goes and comes."""
        self.machine.monitor.execute("set_link", {"name": f"net{number}", "up": not pulled})


def furnish(folder: Path, python: Path) -> None:
    """Make the runner's own places, and in the lab's folder keys and an interpreter that has this toolkit."""
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    for place in ("/var/lib/bmwg", "/run"):
        Path(place).mkdir(parents=True, exist_ok=True)  # no run of this machine has made it yet
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
    interfaces.up(interface="lo")
    make_keys(folder)
    source = Path(bmwg.__file__).parents[1]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)


def serve(machine: Machine, folder: Path, name: str, address: str) -> None:
    """Start a guest's sshd, once more after each boot; `folder` is one that it shares."""
    machine.node.call_within(
        CALL_DEADLINE_S,
        guest_run.start,
        argv=sshd(folder, name, address),
        output="/run/sshd.out",
        folder="/",
        environment={},
    )


def _loop() -> None:
    """Make the pair that joins the tester's machine with itself, unless it stands."""
    if LOOP[0] in {interface["name"] for interface in interfaces.listing()}:
        return
    links.make_pair(
        interface=LOOP[0],
        mac=mac(8),
        peer=LOOP[1],
        peer_mac=mac(9),
        peer_pid=os.getpid(),
        mtu_octets=1500,
    )
    for name in LOOP:
        interfaces.up(interface=name)


def main(folder: Path, words: list[str]) -> int:
    """Boot the host, cable it, run the command."""
    with Course(folder, ends_within_s=ENDS_WITHIN_S) as course, Lab(folder), course.commands():
        return course.begin(*words).wait(ENDS_WITHIN_S)


if __name__ == "__main__":
    in_own_namespaces()
    at = sys.argv.index("--")
    raise SystemExit(main(Path(sys.argv[1]).resolve(), sys.argv[at + 1 :]))
