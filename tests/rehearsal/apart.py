"""A lab whose device host has a kernel of its own: run as a program, in namespaces of its own.

The host is a QEMU guest with an sshd. Its first NIC is for management; two more are cabled, by taps, to ports
of the machine on which this runs. Usage: apart.py FOLDER -- WORDS: the words are a command of the toolkit, in
which FOLDER stands for the folder with `testbed.yaml` and `lab.yaml`; the exit status is the command's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from tests.contract.ssh_support import make_keys

import bmwg
from bmwg.drivers.api.protocols import Node
from bmwg.drivers.machines import guest_run, guest_views, qemu
from bmwg.drivers.machines.qemu import MachineSpec, Nic
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import embedded_file

BOOT_DEADLINE_S = 300.0
CALL_DEADLINE_S = 240.0
MANAGED, HERE_IPV4, THERE_IPV4 = "mg0", "192.0.2.1", "192.0.2.2"  # documentation's own network (RFC 5737)
PORTS = ("tp1", "tp2")
LOOP = ("eth5", "eth6")
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


def serve_ssh(node: Node, folder: Path) -> None:
    """Start the guest's sshd, with keys that it owns."""
    lines = [
        "Port 22",
        f"ListenAddress {THERE_IPV4}",
        "HostKey /run/sshk/host",
        "AuthorizedKeysFile /run/sshk/authorized",
        *("PidFile none", "UsePAM no", "StrictModes no"),
        *("PasswordAuthentication no", "PermitRootLogin prohibit-password", ""),
    ]
    (folder / "sshd_config").write_text("\n".join(lines))
    keys = "mkdir -p /run/sshd /run/sshk && cp {0}/host {0}/authorized /run/sshk/ && chmod 600 /run/sshk/*"
    script = f"{keys.format(folder)} && exec /usr/sbin/sshd -D -e -f {folder}/sshd_config"
    argv = ["sh", "-c", script]
    node.call_within(
        CALL_DEADLINE_S, guest_run.start, argv=argv, output="/run/sshd.out", folder="/", environment={}
    )
    (folder / ".ssh").mkdir()
    entry = [
        "Host lab-dut1",
        f"  HostName {THERE_IPV4}",
        f"  IdentityFile {folder}/user",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {folder}/known",
        "  HostKeyAlias bmwg-far",
        "  StrictHostKeyChecking yes",
    ]
    (folder / ".ssh" / "config").write_text("\n".join([*entry, ""]))


def reached(folder: Path, python: Path, within_s: float = 180.0) -> None:
    """Wait until the guest lets us in and has read the toolkit once: a translated one takes its time."""
    command = ["ssh", "-F", f"{folder}/.ssh/config", "-o", "BatchMode=yes", "root@lab-dut1"]
    end_s = time.monotonic() + within_s
    while True:
        words = [*command, f"{python} -c 'import {_MODULES}'"]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return
        assert time.monotonic() < end_s, done.stderr
        time.sleep(1)


def write(folder: Path, python: Path, there: list[str]) -> None:
    """Write the testbed file and the profile."""
    data = yaml.safe_load(embedded_file().read_text())
    ends = [(f"tester/{a}", f"dut1/{b}") for a, b in zip(PORTS, there, strict=True)]
    ends.append((f"tester/{LOOP[0]}", f"tester/{LOOP[1]}"))
    data |= {
        "name": "apart",
        "nodes": {"dut1": {"kind": "ssh", "ssh": "root@lab-dut1", "python": str(python)}},
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in ends],
        "lab_ports": [*PORTS, *LOOP],
        "medium": {"kind": "veth"},
    }
    data["tester"]["ports"] = [f"tester/{port}" for port in PORTS]
    (folder / "testbed.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (folder / "lab.yaml").write_text(_PROFILE)


def main(folder: Path, words: list[str]) -> int:
    """Boot the host, cable it, run the command."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib/bmwg"], check=True)
    interfaces.up(interface="lo")
    make_keys(folder)
    python = folder / "python"
    source = Path(bmwg.__file__).parents[1]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    spec = MachineSpec(
        name="dut",
        cpus=2,
        memory_octets=2 << 30,
        accelerator=qemu.probe_accelerator()[0],
        nics=(
            Nic(tap=MANAGED, mac=mac(0), address=f"{THERE_IPV4}/24"),
            *(Nic(tap=port, mac=mac(number)) for number, port in enumerate(PORTS, start=1)),
        ),
        shares={str(folder): "bmwg-lab"},  # a guest has a /tmp of its own
        views=guest_views.hidden(),
    )
    with Machine(spec, boot_deadline_s=BOOT_DEADLINE_S) as machine:
        interfaces.add_address(interface=MANAGED, address=f"{HERE_IPV4}/24")
        for name in (MANAGED, *PORTS):
            interfaces.up(interface=name)
        serve_ssh(machine.node, folder)
        reached(folder, python)
        subprocess.run(["ip", "link", "add", LOOP[0], "type", "veth", "peer", "name", LOOP[1]], check=True)
        for name in LOOP:
            interfaces.up(interface=name)
        found = machine.node.call_within(CALL_DEADLINE_S, interfaces.listing)
        names = {str(one["mac"]): str(one["name"]) for one in found}
        write(folder, python, [names[mac(number)] for number in (1, 2)])
        given = [word.replace("FOLDER", str(folder)) for word in words]
        return subprocess.run(
            [sys.executable, "-m", "bmwg", *given], check=False, env={**os.environ, "HOME": str(folder)}
        ).returncode


if __name__ == "__main__":
    at = sys.argv.index("--")
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[at + 1 :]))
