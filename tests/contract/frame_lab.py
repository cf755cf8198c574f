"""A lab for frames: the runner's machine, with the tester or a host for it, and hosts with the device.

They are cabled by veth.

Each machine is a set of namespaces of this one, with its own /run and /var/lib/bmwg; a host has an sshd. What
differs from a real lab is that all have one kernel (`tests/rehearsal` has kernels apart).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from tests.contract.lab_support import python_of, start_sshd
from tests.contract.ssh_support import make_keys, ssh_configuration

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces, lab_port
from bmwg.drivers.testbed.file import embedded_file

RUNNER = "runner"
GENERATOR = "gen"  # the tester's host, in a lab where that is not the runner
_PROFILE = """
extends: quick
name: lab
title: A few cells on hosts, indicative only
paths:
  - {path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}
  - {path: node, hosting: baremetal, function: kernel-l3, networks: none, frame_octets: [64]}
  - {path: pvp, hosting: pod, function: kernel-l3, networks: [bridge, host-device], frame_octets: [64]}
search:
  relative_width: 0.2
  verification_trials: 1
  state_checks: 0
  goals:
    - name: no-loss-in-half
      goal_final_trial_duration_s: 0.1
      goal_duration_sum_s: 0.5
      goal_loss_ratio: 0
      goal_exceed_ratio: 0.5
      goal_width: 0.2
      goal_initial_trial_duration_s: 0.1
"""
Cable = tuple[tuple[str, str], tuple[str, str]]  # machine and interface of each end
GOOD: tuple[Cable, ...] = (
    ((RUNNER, "eth1"), ("dut1", "eth3")),
    ((RUNNER, "eth2"), ("dut1", "eth4")),
    ((RUNNER, "eth5"), (RUNNER, "eth6")),
)
SWAPPED: tuple[Cable, ...] = (
    ((RUNNER, "eth1"), ("dut1", "eth4")),
    ((RUNNER, "eth2"), ("dut1", "eth3")),
    ((RUNNER, "eth5"), (RUNNER, "eth6")),
)
UNDERLAY: Cable = (("dut1", "eth7"), ("dut2", "eth7"))


class FrameLab:
    """The machines while they stand. `testbed` is a file that names them as GOOD cables them."""

    def __init__(self, folder: Path, machines: dict[str, NamespaceNode], cables: Sequence[Cable]) -> None:
        self.folder = folder
        self.machines = machines
        self.cables = cables
        self.testbed = folder / "testbed.yaml"
        self.results = folder / "results"
        profile = folder / "lab.yaml"
        profile.write_text(_PROFILE)
        self.given = [
            *("--testbed", str(self.testbed)),
            *("--results", str(self.results)),
            *("--profile", str(profile)),
        ]

    def cable(self, within_s: float = 20.0, *, of: str = "") -> None:
        """Make the pairs, once none is left: a veth ends with the namespaces it was lent to; no NIC does.

        `of` a machine: those alone that end there.
        """
        cables = [cable for cable in self.cables if not of or of in dict(cable)]
        ends = [end for cable in cables for end in cable]
        end_s = time.monotonic() + within_s
        while any(name in {one[0] for one in self.listed()[machine]} for machine, name in ends):
            assert time.monotonic() < end_s
            time.sleep(0.1)
        for (one, mine), (other, theirs) in cables:
            links.connect(self.machines[one], mine, self.machines[other], theirs)
        for machine, name in ends:  # both ends tell of the link that they have
            wait = {"interface": name, "within_s": within_s}
            self.machines[machine].call(lab_port.wait_for_link, **wait)

    def listed(self) -> dict[str, list[list[object]]]:
        """What each machine has: interfaces with MAC, MTU and state."""
        keys = ("name", "mac", "mtu_octets", "up")
        return {
            name: sorted([one[key] for key in keys] for one in node.call(interfaces.listing))
            for name, node in self.machines.items()
        }

    def command(self, *words: str) -> list[str]:
        """The words that run `bmwg` on the runner's machine."""
        return [*_enter(self.machines[RUNNER]), sys.executable, "-m", "bmwg", *words]

    def files(self) -> list[str]:
        """What runs have left in folders of their machines, ledgers that are empty aside."""
        found = []
        for name, node in self.machines.items():
            words = [*_enter(node), "find", "/var/lib/bmwg", "-mindepth", "1", "-not", "-name", "ledgers"]
            listed = subprocess.run(words, check=True, capture_output=True, text=True, timeout=5)
            found += [f"{name}: {line}" for line in listed.stdout.splitlines()]
        return found

    @property
    def environment(self) -> dict[str, str]:
        """With a home in which ssh finds the hosts."""
        return {**os.environ, "HOME": str(self.folder)}

    def bmwg(self, *words: str, within_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run `bmwg` there to its end."""
        return subprocess.run(
            self.command(*words),
            check=False,
            capture_output=True,
            text=True,
            timeout=within_s,
            env=self.environment,
        )

    def run(self, *words: str, within_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run some tests of frames there, by the lab's file."""
        return self.bmwg("run", *self.given, *words, within_s=within_s)


def _enter(node: NamespaceNode) -> list[str]:
    return ["nsenter", f"--target={node.pid}", "--net", "--mount", "--uts", f"--wd={os.getcwd()}"]


@contextmanager
def frame_lab(
    folder: Path,
    cables: Sequence[Cable] = GOOD,
    hosts: Sequence[str] = ("dut1",),
    *,
    tester: str = RUNNER,
) -> Iterator[FrameLab]:
    """Make the machines, their daemons and cables, and a file that says how GOOD cables them.

    With `tester` the runner's ends are on that host.
    """
    devices = hosts
    if tester != RUNNER:
        hosts = (tester, *hosts)
        cables = [(_on(a, tester), _on(b, tester)) for a, b in cables]
    folder.mkdir(parents=True, exist_ok=True)
    make_keys(folder)
    with ExitStack() as stack:
        machines = {
            name: stack.enter_context(NamespaceNode(name, keep=[folder])) for name in (RUNNER, *hosts)
        }
        for node in machines.values():  # runs, ledgers and locks of each machine are its own
            subprocess.run(
                [*_enter(node), "mount", "-t", "tmpfs", "tmpfs", "/var/lib/bmwg"], check=True, timeout=5
            )
        entries = []
        for name in hosts:
            start_sshd(stack, machines[name], folder, name)
            entries.append(ssh_configuration(folder, f"lab-{name}", machines[name].pid))
        (folder / ".ssh").mkdir(mode=0o700)
        (folder / ".ssh" / "config").write_text("\n".join(entries))
        made = FrameLab(folder, machines, cables)
        made.cable()
        _write(made, devices, "" if tester == RUNNER else tester)
        yield made


def _on(end: tuple[str, str], tester: str) -> tuple[str, str]:
    return (tester if end[0] == RUNNER else end[0], end[1])


def _write(lab: FrameLab, hosts: Sequence[str], tester: str) -> None:
    data = yaml.safe_load(embedded_file().read_text())
    ends = [(f"tester/{a}", f"{'tester' if other == RUNNER else other}/{b}") for (_, a), (other, b) in GOOD]
    if len(hosts) > 1:
        ends.append(("dut1/eth7", "dut2/eth7"))
    data |= {
        "name": "frame-lab",
        "nodes": {
            name: {"kind": "ssh", "ssh": f"root@lab-{name}", "python": str(python_of(lab.folder))}
            for name in (*hosts, *([tester] if tester else []))
        },
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in ends],
        "lab_ports": ["eth1", "eth2", "eth5", "eth6"],
        "medium": {"kind": "veth"},
    }
    data["tester"]["ports"] = ["tester/eth1", "tester/eth2"]
    if tester:
        data["tester"]["host"] = tester
    lab.testbed.write_text(yaml.safe_dump(data, sort_keys=False))
