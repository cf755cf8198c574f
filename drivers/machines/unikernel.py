"""A machine without an agent: QEMU boots what the user made, and it is spoken to over the network alone.

Node functions, run on the node that hosts it. Nothing enters the machine; what it serves is in its image.
What it writes goes into a layer that is gone with it. Ids: VM-04 QEMU did not start.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.machines import Redirected
from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines import guest_image, hosted, qemu
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec, Nic
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import file_sizes, half_open
from bmwg.drivers.ports import routing
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted

_STEP_S = 0.05
_ANSWER_S = 0.2
KNOCK_S = 1.0  # choice: a translated machine answers within it; a SYN that it missed is not waited for
# state, descriptor, source address and port, destination address and port, as QEMU 7.2 prints them
_CONNECTED = re.compile(r"TCP\[ESTABLISHED\]\s+\d+\s+\S+\s+\d+\s+\S+\s+(\d+)\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """What boots: a disk image, or a kernel with its command line; `cpus` are those QEMU is put on."""

    cpus: str
    image: str = ""
    kernel: str = ""
    initrd: str = ""
    command_line: str = ""


class AgentlessMachine(Machine):
    """One machine while it runs; entering starts QEMU and waits for nothing else."""

    def __init__(self, spec: MachineSpec, boot: Boot) -> None:
        super().__init__(spec)
        self._boot = boot
        self._what: dict[str, JsonValue] = {}
        self.began_s = 0.0  # by the monotonic clock, once all that it boots was read

    def _start(self) -> None:
        if missing := qemu.probe_program():
            raise TestbedError("VM-04", missing.what, found=missing.reason, hint=missing.mend)
        self._what = what_boots(self._boot)

        def argv(monitor_fd: int) -> list[str]:
            built = command(self.spec, self._boot, self._what, monitor_fd=monitor_fd)
            return ["taskset", "--cpu-list", self._boot.cpus, *built]

        self.began_s = time.monotonic()
        self._without_agent(argv)

    def describe(self) -> Mapping[str, JsonValue]:
        """What runs: what booted with size and hash, accelerator as QEMU told it, CPUs and memory."""
        _, why = qemu.probe_accelerator()
        return {
            "kind": "qemu",
            "agent": "none: it is spoken to over the network alone",
            **qemu.describe(self.spec),
            **self._running,
            "accelerator_reason": why,
            "process_cpus": self._boot.cpus,
            "boots": self._what,
            booted.KEY: boots(self._boot),
        }


def what_boots(boot: Boot) -> dict[str, JsonValue]:
    """Return what is told of an image or of a kernel and its files: names, octets, hashes; no folder.

    Raises ConfigError IMAGE-01 to IMAGE-05, TestbedError IMAGE-06 for an image that changes meanwhile.
    """
    if boot.image:
        return {"image": guest_image.examine(boot.image).record()}
    told: dict[str, JsonValue] = {"command_line": boot.command_line}
    for name, path in (("kernel", boot.kernel), ("initrd", boot.initrd)):
        if path:
            told[name] = {
                "file": os.path.basename(path),
                "octets": os.path.getsize(path),
                "sha256": _hash(path),
            }
    return told


def boots(boot: Boot) -> dict[str, JsonValue]:
    """Return the octets of all that it boots: nothing of the host's is in it."""
    each = {booted.DISK: boot.image, booted.KERNEL: boot.kernel, booted.INITRAMFS: boot.initrd}
    files = file_sizes.of_files({name: path for name, path in each.items() if path})
    return Booted(parts=files).as_builtins()


def _hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def command(spec: MachineSpec, boot: Boot, what: Mapping[str, JsonValue], *, monitor_fd: int) -> list[str]:
    """Build QEMU's argument vector: one NIC by virtio-net, a disk or a kernel, its console, its monitor."""
    found = qemu.program() or Path(qemu.PROGRAM)
    argv = qemu.bare(found, spec.name)
    argv += ["-machine", f"{spec.architecture.machine},accel={spec.accelerator}"]
    model = "host" if spec.accelerator is Accelerator.KVM else "max"  # what a unikernel wants is not known
    argv += ["-cpu", model, "-smp", str(spec.cpus), "-m", f"{spec.memory_octets >> 20}M"]
    argv += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=monitor,fd={monitor_fd}", "-mon", "chardev=monitor,mode=control"]
    if boot.kernel:
        argv += ["-kernel", boot.kernel, "-append", boot.command_line]
        argv += ["-initrd", boot.initrd] if boot.initrd else []
    else:
        path, kind = boot.image.replace(",", ",,"), what["image"]["format"]
        argv += ["-drive", f"file={path},format={kind},if=none,id=disk,snapshot=on"]
        argv += ["-device", "virtio-blk-pci,drive=disk,bootindex=0"]
    for nic in spec.nics:
        argv += ["-netdev", f"{qemu.backend(nic)},id=net0"]
        argv += ["-device", f"{nic.model},netdev=net0,mac={nic.mac},romfile="]
    return argv


def probe(*, boot: dict[str, str]) -> dict[str, str] | None:
    """Node function: what this node lacks for the machine, as the fields of `Missing`; None when nothing."""
    lack = qemu.probe_program()
    for name in ("image", "kernel", "initrd"):
        if lack is None and boot.get(name) and not os.access(boot[name], os.R_OK):
            lack = Missing(
                what=f"the unikernel's {name}",
                reason=f"{os.path.basename(boot[name])} cannot be read on this node",
                mend=f"unikernel.{name} of the testbed file: absolute, or from that file's folder",
            )
    return {"what": lack.what, "reason": lack.reason, "mend": lack.mend} if lack else None


def start(
    *,
    name: str,
    mac: str,
    cpus: int,
    memory_octets: int,
    boot: dict[str, str],
    tap: str = "",
    bridge: str = "",
    redirected: dict[str, JsonValue] | None = None,
) -> JsonValue:
    """Node function: start the machine; returns evidence, pid, start time, and how long it has run.

    Its tap is a port of the bridge; `redirected` (address, ports, inside) is a user-mode network in place of
    both. It has not booted then. Raises TestbedError VM-04 and what `what_boots` raises; nothing stays then.
    """
    accelerator, _ = qemu.probe_accelerator()
    ways = Redirected.from_builtins(redirected)
    vhost = ways is None and qemu.probe_vhost()[0] and accelerator is Accelerator.KVM
    spec = MachineSpec(
        name=name,
        cpus=min(cpus, os.cpu_count() or 1),
        memory_octets=memory_octets,
        accelerator=accelerator,
        nics=(Nic(tap=tap, mac=mac, vhost=vhost, redirected=ways),),
    )
    machine = AgentlessMachine(spec, Boot(**boot))
    hosted.begin(machine, [bridge] if ways is None else [], ipv6=True)
    return {
        "told": dict(machine.describe()),
        "pid": machine.pid,
        "start_ticks": machine.start_ticks,
        "ran_s": time.monotonic() - machine.began_s,
    }


def await_answer(*, address: str, port: int, within_s: float) -> bool:
    """Node function, on the node that asks: whether its server listens within this time.

    No connection is made. What the kernel has learnt of the machine's place is forgotten between tries, for
    it would wait a second.
    """
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        with contextlib.suppress(OSError):  # no route to it before it has answered once
            if half_open.listens(address=address, port=port, within_s=_ANSWER_S):
                return True
        routing.forget_neighbours()
        time.sleep(_STEP_S)
    return False


def await_redirected(*, name: str, address: str, port: int, within_s: float) -> bool:
    """Node function, on the machine's host: whether its server takes a redirected connection in this time.

    QEMU takes each one itself as soon as it runs, whatever the machine does: only what QEMU tells of its own
    connection with the machine shows that somebody listens there. The server sees one connection that asks
    for nothing. Raises DriverError VM-07, VM-08.
    """
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=_ANSWER_S):
            late_s = min(end_s, time.monotonic() + KNOCK_S)
            while time.monotonic() < late_s:
                if established(_user_network(name), port):
                    return True
                time.sleep(_STEP_S)
    return False


def _user_network(name: str) -> str:
    asked = {"command-line": "info usernet"}
    return str(hosted.named(name).monitor.execute("human-monitor-command", asked))


def established(told: str, port: int) -> bool:
    """Whether QEMU's list of its user-mode network has a connection with this port of the machine."""
    return any(int(found[1]) == port for found in _CONNECTED.finditer(told))
