"""A lab of three machines, each with a kernel of its own but the runner's: tester and device are hosts.

Both are QEMU guests with an sshd; the runner, on which this runs in namespaces of its own, only steers. The
tester's NICs are igb behind an IOMMU, which the run takes by vfio-pci; the device's are virtio. Cables end at
taps that bridges of a namespace apart join, so the runner sees no test frame.

The runner is killed amid the wire and the run resumed; the tester's host loses its power amid the node, boots
again, and the run goes on; a cable is pulled amid a pod's cell and put back once the run has seen it.

Usage: `python -m tests.rehearsal.third FOLDER [SECONDS]`, root; FOLDER is made, and the journal of what
happened is `rehearsal.jsonl` in it (`course.py`). It ends within SECONDS (2,400) and its guests with it. The
exit status is 0 where all of `WANTED` is as it should be.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.rehearsal.apart import BOOT_DEADLINE_S, CALL_DEADLINE_S, furnish, mac, reached, said_by, serve
from tests.rehearsal.course import ANSWERS, FAULT, INTERRUPTED, Course, in_own_namespaces

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import guest_run, guest_views, qemu
from bmwg.drivers.machines.qemu import MachineSpec, Nic, NicModel
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.network import ebpf_build
from bmwg.drivers.nodes import pages
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import embedded_file
from bmwg.drivers.traffic.embedded import build
from bmwg.reports.store import read_run

TESTER, DEVICE = "gen", "dut1"
CABLES = 2
HUGEPAGES = 128
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")
OTHER_MODEL = "ebpf-tc"
PULLED = "pvp/pod/kernel-l3/ptp/"  # the cell that loses its cable; two of other networking models do not
ENDS_WITHIN_S = 2400
_SEEN_WITHIN_S = 90.0  # choice: trials take seconds, and what is under way may not see it
# 2,000 frames/s of 64 octets: QEMU paces nothing, and loses frames above
_LINE_RATE_BPS = 1344000
_PROFILE = """
extends: guest-sriov
name: third
title: Function with tester and device on hosts with kernels of their own, indicative only
search: {min_load_fps: 500, verification_trials: 3}
paths:
  - {path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}
  - {path: node, hosting: baremetal, function: kernel-l3, networks: none, frame_octets: [64]}
  - {path: pvp, hosting: pod, function: kernel-l3, networks: [NETWORKS], frame_octets: [64]}
"""
# what of a host a run could have left otherwise than it was, but its interfaces
_LOOKS = """
for device in /sys/bus/pci/devices/*; do
    echo "${device##*/} $(readlink $device/driver) $(cat $device/driver_override)"
done
ip -4 route; ip -4 rule; sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding
cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages
ls -d /var/lib/bmwg/run-* 2>/dev/null || true
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

    @property
    def modules(self) -> list[str]:
        """Modules of its kernel that a run needs there, or would load amid its trials."""
        return ["tun", "nf_conntrack_netlink", *(["igb", "vfio-pci"] if self.wire else [])]

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
    """The machines while they stand, as a context manager; `boot` starts one anew. `note` is told of each."""

    def __init__(self, folder: Path, note: Callable[..., None]) -> None:
        self.folder = folder
        self.python = folder / "python"
        self.machines: dict[str, Machine] = {}
        self._note = note
        self._ports: dict[str, list[str]] = {}  # by host, as it first had them
        self._between: subprocess.Popen[str] | None = None

    def __enter__(self) -> Trio:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for machine in self.machines.values():
            machine.stop()
        if self._between is not None:
            self._between.kill()
            self._between.wait(10)

    def _make(self) -> None:
        build.ensure_built()  # here, where compilers are fast; a guest finds what they made
        ebpf_build.ensure_built()
        furnish(self.folder, self.python)
        self._lay()
        for host in HOSTS:
            self.boot(host)
        written = testbed(self._ports[TESTER], self._ports[DEVICE], self.python)
        (self.folder / "testbed.yaml").write_text(yaml.safe_dump(written, sort_keys=False))
        lacks = self._lacks()
        self._note(f"{OTHER_MODEL} asked for", lacks=lacks)
        (self.folder / "third.yaml").write_text(profile([OTHER_MODEL] if not lacks else []))

    def _lacks(self) -> str:
        """Say why the device's host has no other networking model; asked before the run, not in it."""
        script = f"{self.python} -c 'from bmwg.drivers.network import ebpf_node; print(ebpf_node.probe())'"
        try:
            told = said_by(self.folder, DEVICE, script, within_s=240.0).strip()
            told = said_by(self.folder, DEVICE, script, within_s=60.0).strip()  # as long as a run waits
        except subprocess.SubprocessError as error:
            return str(error)
        return "" if told == "None" else told

    def _lay(self) -> None:
        """Make the namespace that lies between the hosts, with a bridge for each cable."""
        words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net"]
        words += ["sh", "-c", "echo made; exec sleep inf"]
        self._between = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._between.stdout is not None
        self._between.stdout.readline()
        self._ip("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        for cable in range(1, CABLES + 1):
            self._ip("ip", "link", "add", f"br{cable}", "type", "bridge", "mcast_snooping", "0")
            self._ip("ip", "link", "set", f"br{cable}", "up")

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
        call = machine.node.call_within
        call(CALL_DEADLINE_S, guest_run.load, modules=host.modules)
        # the tester and the device are on CPU 1 and leave none of it to what the runner asks for
        call(CALL_DEADLINE_S, guest_run.serve_elsewhere, interfaces=["eth0"], cpus=[0])
        if host.wire:
            assert call(CALL_DEADLINE_S, pages.set_aside, size_kib=2048, pages=HUGEPAGES) == HUGEPAGES
        serve(machine, self.folder, host.name, host.address(2))
        reached(self.folder, self.python, host.name)
        ports = self.ports(host)
        first = self._ports.setdefault(host.name, ports)
        told = {"boot_s": machine.boot_s, "accelerator": machine.describe()["accelerator"]}
        self._note(f"{host.name} booted", ports=ports, as_before=ports == first, **told)

    def pull(self, number: int, *, pulled: bool) -> None:
        """Take a cable (1 or 2) out of both its ports, or put it back."""
        for host in HOSTS:
            state = {"name": f"net{number}", "up": not pulled}
            self.machines[host.name].monitor.execute("set_link", state)

    def ports(self, host: Host) -> list[str]:
        """The names of a host's NICs at the cables, then those of its own cable."""
        names = {str(one["mac"]): str(one["name"]) for one in self._listed(host)}
        own = [f"02:00:00:00:{end:02x}:00" for end in range(2)] if host.wire else []
        return [names[address] for address in (*host.macs, *own)]

    def _listed(self, host: Host) -> list[dict[str, JsonValue]]:
        return self.machines[host.name].node.call_within(CALL_DEADLINE_S, interfaces.listing)

    def state(self) -> dict[str, list[str]]:
        """What each host is, as far as a run could have changed it, as lines."""
        return {host.name: self._state(host) for host in HOSTS}

    def _state(self, host: Host) -> list[str]:
        told = said_by(self.folder, host.name, _LOOKS).splitlines()
        for one in self._listed(host):
            lasting = [address for address in one["addresses"] if not str(address).startswith("fe80")]
            words = [one[key] for key in ("name", "mac", "mtu_octets", "up", "controller")]
            told.append(" ".join(map(str, [*words, *lasting])))
        return sorted(told)


def profile(more: Sequence[str]) -> str:
    """Return the profile, with pods by the networks that every host has, and by `more`."""
    return _PROFILE.replace("NETWORKS", ", ".join(["bridge", "ptp", *more]))


def testbed(tester: Sequence[str], device: Sequence[str], python: Path) -> dict[str, JsonValue]:
    """Return the lab's testbed file as data; both are given by their ports, cabled in this order."""
    data: dict[str, JsonValue] = yaml.safe_load(embedded_file().read_text())
    ends = [(f"tester/{a}", f"{DEVICE}/{b}") for a, b in zip(tester[:CABLES], device, strict=True)]
    ends.append((f"tester/{tester[CABLES]}", f"tester/{tester[CABLES + 1]}"))
    node = {"kind": "ssh", "python": str(python)}
    data |= {
        "name": "third",
        "nodes": {host.name: {**node, "ssh": f"root@lab-{host.name}"} for host in HOSTS},
        "links": [{"a": a, "b": b, "kind": "cable"} for a, b in ends],
        "lab_ports": list(tester),
        "medium": {"kind": "qemu-tap", "line_rate_bps": _LINE_RATE_BPS},
        "dut": {"cpus": [1], "device_queue": "inline"},
        "pods": {**data["pods"], "cpus": "1"},
    }
    data["tester"] = {
        "driver": "embedded",
        "host": TESTER,
        "ports": [f"tester/{port}" for port in tester[:CABLES]],
        "io": "pci",
        "cpus": [1],
    }
    return data


def _answered(event: Mapping[str, JsonValue]) -> bool:
    """Tell whether the cell without its cable is invalid, each other one is answered, and the run ended."""
    pulled = {cell: kind for cell, kind in event["types"].items() if cell.startswith(PULLED)}
    others = [kind for cell, kind in event["types"].items() if cell not in pulled]
    return bool(
        event["complete"]
        and list(pulled.values()) == ["invalid"]
        and len(others) == 4  # wire, node, and pods by two networking models
        and set(others) <= ANSWERS
    )


WANTED: Mapping[str, Callable[[Mapping[str, JsonValue]], bool]] = {
    "runner killed": lambda event: event["status"] == -signal.SIGKILL and event["trials"] > 0,
    "tester's host without power": lambda event: event["status"] == INTERRUPTED,
    f"{TESTER} booted": lambda event: event["as_before"],
    "cable pulled": lambda event: "lost its link" in event["fault"],
    "answers": _answered,
    "verified": lambda event: event["status"] == 0,
    "hosts": lambda event: not event["differs"],
}


def lacking(events: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Return what of a rehearsal did not happen, or otherwise than it should, a sentence each."""
    last = {event["what"]: event for event in events}
    wrong = [
        f"{what}: {last.get(what, 'it did not happen')}"
        for what, holds in WANTED.items()
        if what not in last or not holds(last[what])
    ]
    booted = sum(event["what"] == f"{TESTER} booted" for event in events)
    wrong += [] if booted == 2 else [f"{TESTER} booted {booted} times"]
    return wrong + [f"cleanup: {one}" for one in events if one["what"] == "cleanup" and one["status"]]


def happen(course: Course, lab: Trio) -> None:
    """Let all three accidents happen in one run, and note what became of it."""
    before = lab.state()
    words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/third.yaml"]
    words += ["--results", "FOLDER/results", *(word for test in TESTS for word in ("--test", test))]
    command = course.begin(*words)
    assert course.until(command, '"cell":"wire/', since=0), "the run ended before a trial of its wire"
    command.kill()
    course.ended("runner killed", command)
    run = course.run_folder()
    course.did("cleanup", "cleanup", run)

    command = course.amid(run, "node/")
    os.kill(lab.machines[TESTER].pid, signal.SIGKILL)
    course.ended("tester's host without power", command)
    lab.boot(HOSTS[0])
    course.did("cleanup", "cleanup", run)

    command = course.amid(run, PULLED)
    since = len(course.trials())
    lab.pull(1, pulled=True)
    seen = course.until(command, FAULT, since=since, within_s=_SEEN_WITHIN_S)
    lab.pull(1, pulled=False)
    course.note("cable pulled", fault=seen.partition(FAULT)[2].partition('"')[0])
    if course.ended("resumed", command) == INTERRUPTED:
        course.did("cleanup", "cleanup", run)
        course.resumed(run)

    told = read_run(Path(run))
    types = {one.cell.cell_id: one.type.value for one in told.outcomes}
    course.note("answers", complete=told.status == "complete", types=types, trials=len(told.trials))
    course.did("verified", "verify", run)
    after = lab.state()
    differs = {name: sorted(set(before[name]) ^ set(after[name])) for name in before}
    course.note("hosts", differs={name: lines for name, lines in differs.items() if lines})


def main(folder: Path, ends_within_s: int) -> int:
    """Rehearse; 1 where something is not as it should be."""
    with Course(folder, ends_within_s=ends_within_s) as course:
        with Trio(folder, course.note) as lab, course.commands():
            happen(course, lab)
        wrong = lacking(course.events)
        course.note("ended", lacks=wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    in_own_namespaces()
    raise SystemExit(
        main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else ENDS_WITHIN_S)
    )
