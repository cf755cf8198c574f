"""A guest that libvirt starts and ends, in place of a QEMU of our own; all else about it is the same.

The domain is transient and dies with our connection. Its NIC is a tap that we make: where libvirt's daemon
lives in another network namespace than this node, it is made there, for the daemon opens it by its name, and
moved here once QEMU holds it. Ids: VM-13 libvirt refused the domain, VM-14 it cannot be removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import libvirt_domain, qemu
from bmwg.drivers.machines.guest_kernel import GuestKernel
from bmwg.drivers.machines.libvirt_connection import Connection, netns_of, netns_outside, socket_of
from bmwg.drivers.machines.qemu import MachineSpec
from bmwg.drivers.machines.qemu_machine import BOOT_DEADLINE_S, Machine, tail
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.netns import within
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_START_DEADLINE_S = 30.0
_STOP_S = 3.0
_HOME = "/proc/self/ns/net"


class LibvirtMachine(Machine):
    """A guest by libvirt while it runs. `folder` is made for its socket and console, and removed.

    `own` says that the daemon at `uri` is the run's: it lives in this node's network namespace.
    """

    def __init__(
        self,
        spec: MachineSpec,
        *,
        uri: str,
        uuid: str,
        folder: str,
        owner: str,
        own: bool,
        boot_deadline_s: float = BOOT_DEADLINE_S,
    ) -> None:
        super().__init__(spec, boot_deadline_s=boot_deadline_s)
        self._connection = Connection(uri)
        self._uuid = uuid
        self._folder = Path(folder)
        self._owner = owner
        self._own = own
        self._told: dict[str, JsonValue] = {}

    def _launch(self, kernel: GuestKernel, initramfs: Path) -> socket.socket:
        self._connection.open()
        self._folder.mkdir(mode=0o700)
        console = self._folder / "console"
        console.touch(mode=0o600)
        self._console_file = self._stack.enter_context(console.open("rb", buffering=0))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._folder / "agent"))
            listener.listen(1)
            capabilities = self._connection.call("capabilities", lambda host: host.getCapabilities())
            description = libvirt_domain.write(
                self.spec,
                uuid=self._uuid,
                owner=self._owner,
                kernel=kernel.unpacked_image(),
                modules=kernel.modules,
                initramfs=initramfs,
                emulator=str(shutil.which(qemu.PROGRAM)),
                channel=self._folder / "agent",
                console=console,
                confinements=libvirt_domain.confinements(capabilities),
            )
            daemon_netns = netns_of(socket_of(self._connection.uri))
            for nic in self.spec.nics:
                within(daemon_netns, partial(interfaces.make_tap, interface=nic.tap))
            try:
                self._create(description)
                self.pid, self.start_ticks = self._find()
                listener.settimeout(_START_DEADLINE_S)
                channel, _ = listener.accept()
            except OSError as error:
                raise self._refusal(f"QEMU did not connect to {self._folder / 'agent'}: {error}") from error
            self._stack.callback(channel.close)
        if not _same_namespace(daemon_netns):
            for nic in self.spec.nics:
                within(daemon_netns, partial(interfaces.move, interface=nic.tap, pid=os.getpid()))
        return channel

    def _create(self, description: str) -> None:
        def act(connection: Any) -> None:
            import libvirt

            connection.createXML(description, libvirt.VIR_DOMAIN_START_AUTODESTROY)

        try:
            self._connection.call(f"start domain {self.spec.name}", act, deadline_s=_START_DEADLINE_S)
        except DriverError as error:
            raise self._refusal(error.found) from error

    def _refusal(self, found: str) -> TestbedError:
        return TestbedError(
            "VM-13",
            f"guest {self.spec.name}: libvirt did not start it",
            expected="a running domain",
            found=found,
        )

    def _find(self) -> tuple[int, int]:
        pids = qemu_pids(self._uuid)
        if len(pids) != 1:
            raise self._refusal(f"{len(pids)} QEMU processes of UUID {self._uuid} on this machine")
        return pids[0], process.start_ticks(pids[0])

    def _ask(self, command: str, /, **arguments: JsonValue) -> JsonValue:
        return self._monitored(command, arguments, 5.0)

    def _monitored(self, command: str, arguments: Mapping[str, JsonValue], deadline_s: float) -> JsonValue:
        question = json.dumps({"execute": command, "arguments": dict(arguments)})

        def act(connection: Any) -> JsonValue:
            import libvirt_qemu

            domain = connection.lookupByUUIDString(self._uuid)
            return json.loads(libvirt_qemu.qemuMonitorCommand(domain, question, 0))

        answer = self._connection.call(f"QMP {command}", act, deadline_s=deadline_s)
        if "return" not in answer:
            raise DriverError(
                "VM-12", f"libvirt: QMP {command}", expected="an answer", found=json.dumps(answer)
            )
        return answer["return"]

    def _observe(self) -> dict[str, JsonValue]:
        """Ask QEMU and libvirt what runs: CPUs, memory, NICs too, none of it from what was wanted."""
        observed = super()._observe()
        description = self._connection.call(
            "describe the domain", lambda connection: connection.lookupByUUIDString(self._uuid).XMLDesc()
        )
        vhost_files = _open_files(self.pid, "/dev/vhost-net")
        nics = []
        for nic in libvirt_domain.nics(description):
            path = f"/machine/peripheral/{nic['alias']}"
            nics.append(
                {
                    "model": self._ask("qom-get", path=path, property="type"),
                    "backend": "tap" if nic["attached_by"] == "ethernet" else nic["attached_by"],
                    "vhost": vhost_files > 0,
                }
            )
        self._told = {
            "cpus": len(self._ask("query-cpus-fast")),
            "memory_octets": self._ask("query-memory-size-summary")["base-memory"],
            "nics": nics,
            "libvirt": self._connection.version(),
            "libvirt_uri": "of the run's own" if self._own else self._connection.uri,
            "libvirt_domain_type": libvirt_domain.domain_type(description),
        }
        return observed

    def _how_ended(self) -> str | None:
        return None if process.same(self.pid, self.start_ticks) else "QEMU ended, and with it the domain"

    def _log(self) -> list[str]:
        file = self._folder.parent / "log" / "qemu" / f"{self.spec.name}.log"
        try:
            with file.open("rb", buffering=0) as log:
                return tail(log, 3)
        except OSError:
            return []  # a libvirt that is not ours keeps its log to itself

    def fault(self) -> str | None:
        """Why the guest no longer serves; never takes longer than a second."""
        if why := self.ended():
            return why
        try:
            state = self._monitored("query-status", {}, 0.8)
        except ToolkitError as error:
            return self.ended() or f"libvirt is gone: {error.found}"
        return None if state["status"] == "running" else f"the guest is {state['status']}"

    def describe(self) -> Mapping[str, JsonValue]:
        """What runs, as QEMU and libvirt told it."""
        return {**super().describe(), "kind": "libvirt", **self._told}

    def stop(self) -> None:
        """End the domain, or its QEMU when libvirt does not, and remove tap and folder. Idempotent."""
        if self._node is not None:
            self._node.close()
            self._node = None
        if process.same(self.pid, self.start_ticks):
            with contextlib.suppress(ToolkitError):  # what follows ends QEMU without libvirt's help
                self._connection.destroy(name=self.spec.name, uuid=self._uuid, deadline_s=_STOP_S)
        self._connection.close()
        self._stack.close()
        remove(
            uri=self._connection.uri,
            own=self._own,
            name=self.spec.name,
            uuid=self._uuid,
            folder=str(self._folder),
            taps=[nic.tap for nic in self.spec.nics],
            within_s=_STOP_S,
        )


def remove(
    *,
    uri: str,
    own: bool,
    name: str,
    uuid: str,
    folder: str,
    taps: list[str],
    within_s: float = 5.0,
) -> bool:
    """Node function: end a domain and remove what it had; False when nothing of it was there. Idempotent.

    Works without libvirt too: a QEMU that carries the UUID is then ended. Raises DriverError VM-14.
    """
    found = False
    daemon_netns = None
    if qemu_pids(uuid) or not own:  # a daemon of ours has no domain without its QEMU
        with contextlib.suppress(ToolkitError):
            daemon_netns = netns_of(socket_of(uri))
            with Connection(uri, open_deadline_s=within_s) as connection:
                found = connection.destroy(name=name, uuid=uuid, deadline_s=within_s)
    end_s = time.monotonic() + (1.0 if found else 0.0)
    while time.monotonic() < end_s and qemu_pids(uuid):
        time.sleep(0.01)
    for pid in qemu_pids(uuid):
        found = process.terminate(pid=pid, start_ticks=process.start_ticks(pid), within_s=within_s) or found
    if left := qemu_pids(uuid):
        raise DriverError("VM-14", f"domain {name}", expected="ended", found=f"processes {left}")
    elsewhere = [] if own else [daemon_netns or netns_outside()]
    for tap in taps:
        for netns in (_HOME, *elsewhere):
            with contextlib.suppress(ToolkitError):
                found = within(netns, partial(interfaces.delete, interface=tap)) or found
    shutil.rmtree(folder, ignore_errors=True)
    return found


def qemu_pids(uuid: str) -> list[int]:
    """Processes on whose command line QEMU was given this UUID."""
    wanted = [b"-uuid", uuid.encode()]
    found = [
        pid
        for pid, words in process.each("cmdline")
        if wanted in (words[at : at + 2] for at in range(len(words)))
    ]
    return [pid for pid in found if process.start_ticks(pid)]


def _open_files(pid: int, path: str) -> int:
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            count += os.readlink(link) == path
    return count


def _same_namespace(netns: str) -> bool:
    ours, theirs = os.stat(_HOME), os.stat(netns)
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
