"""A guest that routes and moves: QEMU at one node begins it, QEMU at another takes it over while it runs.

Both have the same machine type, CPUs and NICs, and no disk. Node functions, run on the node that hosts the
guest. Ids: VM-04 QEMU did not start, VM-07 its monitor refuses, MOVE-03 QEMU cannot tell when the guest
stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines import guest_kernel, hosted, qemu, router_initramfs
from bmwg.drivers.machines.qemu import MachineSpec, Nic
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import file_sizes
from bmwg.drivers.watch import wall_clock
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted

MOST_CPUS = 2  # choice: one that it begins with, and one that it may be given while it runs


class MovingMachine(Machine):
    """One guest while QEMU has it here; `incoming`: it is to come from another QEMU, and does not boot."""

    def __init__(self, spec: MachineSpec, *, words: str, incoming: bool) -> None:
        super().__init__(spec)
        self._words = words
        self._incoming = incoming

    def _start(self) -> None:
        kernel = guest_kernel.find()
        for missing in (qemu.probe_program(), kernel):
            if isinstance(missing, Missing):
                raise TestbedError("VM-04", missing.what, found=missing.reason, hint=missing.mend)
        assert not isinstance(kernel, Missing)
        self._kernel_release = kernel.release
        name, image = kernel.booted()
        archive = router_initramfs.build(kernel)
        files = file_sizes.of_files({name: image, booted.INITRAMFS: archive})
        self._booted = Booted(parts=files).as_builtins()

        def argv(monitor_fd: int) -> list[str]:
            built = command(self.spec, image, archive, words=self._words, monitor_fd=monitor_fd)
            return built + (["-incoming", "defer"] if self._incoming else [])

        self._without_agent(argv)

    def describe(self) -> Mapping[str, JsonValue]:
        """What runs: accelerator as QEMU told it, kernel, CPUs, memory, NICs."""
        _, why = qemu.probe_accelerator()
        return {
            "kind": "qemu",
            "name": self.spec.name,
            "agent": "none: it routes and is not spoken to",
            **qemu.describe(self.spec),
            "most_cpus": MOST_CPUS,
            **self._running,
            "accelerator_reason": why,
            "guest_kernel": self._kernel_release,
            "guest_root": "an archive in its memory: a shell and its NICs' modules",
            booted.KEY: self._booted,
        }


def command(spec: MachineSpec, kernel: Path, archive: Path, *, words: str, monitor_fd: int) -> list[str]:
    """Build QEMU's argument vector: kernel, archive, NICs by virtio-net, balloon, console, monitor."""
    argv = qemu.bare(qemu.program() or guest_kernel.CACHE / qemu.PROGRAM, spec.name)
    argv += ["-machine", f"{spec.architecture.machine},accel={spec.accelerator}"]
    argv += ["-cpu", qemu.cpu(spec)]
    argv += ["-smp", f"{spec.cpus},maxcpus={MOST_CPUS}", "-m", f"{spec.memory_octets >> 20}M"]
    argv += ["-kernel", str(kernel), "-initrd", str(archive)]
    argv += ["-append", f"{qemu.usual_words(spec)} {words}"]
    argv += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=monitor,fd={monitor_fd}", "-mon", "chardev=monitor,mode=control"]
    for number, nic in enumerate(spec.nics):
        argv += ["-netdev", f"tap,id=net{number},ifname={nic.tap},script=no,downscript=no,vhost=off"]
        argv += ["-device", f"{nic.model},netdev=net{number},mac={nic.mac},romfile="]
    # by which its memory is made less while it runs; a guest that lacks some takes it back, and lives
    argv += ["-device", "virtio-balloon-pci,deflate-on-oom=on"]
    return argv


def start(
    *,
    name: str,
    taps: list[str],
    macs: list[str],
    bridges: list[str],
    memory_octets: int,
    words: str,
    incoming: bool,
) -> JsonValue:
    """Node function: start QEMU, each tap a port of its bridge; returns evidence.

    With `incoming` it waits for a guest from elsewhere. Raises TestbedError VM-04; nothing stays behind then.
    """
    spec = MachineSpec(
        name=name,
        cpus=1,
        memory_octets=memory_octets,
        accelerator=qemu.probe_accelerator()[0],
        nics=tuple(Nic(tap=tap, mac=mac) for tap, mac in zip(taps, macs, strict=True)),
    )
    machine = MovingMachine(spec, words=words, incoming=incoming)
    hosted.begin(machine, bridges, ipv6=False)
    return dict(machine.describe())


def ask(*, name: str, command: str, arguments: dict[str, JsonValue] | None = None) -> JsonValue:
    """Node function: run a command of QEMU's monitor. Raises DriverError VM-07, VM-08."""
    return hosted.named(name).monitor.execute(command, arguments)


def moments(*, name: str) -> dict[str, int]:
    """Node function: when QEMU last said each of its events, in ns of this machine's monotonic clock.

    An event that tells a status stands with that behind its name as well (`MIGRATION postcopy-active`). QEMU
    stamps them by the wall clock in microseconds; both clocks are read together here.
    """
    said = hosted.named(name).monitor.events()
    ahead_ns = wall_clock.ahead_ns()
    found: dict[str, int] = {}
    for one in said:
        stamp, event = one["timestamp"], str(one["event"])
        at_ns = (stamp["seconds"] * 1_000_000 + stamp["microseconds"]) * 1000 - ahead_ns
        found |= dict.fromkeys((event, f"{event} {(one.get('data') or {}).get('status', '')}".strip()), at_ns)
    return found
