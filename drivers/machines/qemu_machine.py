"""One guest from start to end: QEMU's process, its monitor, its console and the node inside it.

QEMU dies with the process that started it and its tap interfaces with it; its channels are sockets and its
logs are files without a name: a machine that is killed leaves nothing. Ids: VM-04 QEMU did not start, VM-08
QEMU has ended, VM-14 it does not end, IMAGE-07 the guest found no root on its disk.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines import guest_initramfs, guest_kernel, guest_root, guest_views, qemu, qemu_use
from bmwg.drivers.machines.architecture import PYTHON
from bmwg.drivers.machines.guest import GuestNode
from bmwg.drivers.machines.guest_kernel import GuestKernel
from bmwg.drivers.machines.qemu import MachineSpec
from bmwg.drivers.machines.qemu_monitor import Monitor
from bmwg.drivers.nodes import file_sizes, process
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted

BOOT_DEADLINE_S = 120.0  # choice: under TCG a guest takes about 8 s on an idle machine
OTHER_BOOT_DEADLINE_S = 300.0  # choice: of another architecture, which takes several times as long
_BESIDE_BOOT_S = 120.0  # choice: archive, monitor and NICs, or the end of a guest that did not boot
_HOST_ROOT = "the host's root over 9p"
_OTHER_ROOT = "packages of its architecture, unpacked and never set up, over 9p"
_DISK_ROOT = "a disk image by virtio-blk (the agent's own programs: the host's over 9p)"
_BESIDE_DISK = "modules of its kernel and our agent: folders of the host's, over 9p"
_CONSOLE_LINES = 15
_TAIL_OCTETS = 16384
_QUIT_S, _KILLED_S = 3.0, 10.0  # choice: of the second a killed one may need some to give back its memory


def start_deadline_s(boot_deadline_s: float) -> float:
    """Return what all of a start may take: the agent's first answer, its first call, and what is beside."""
    return 2 * boot_deadline_s + _BESIDE_BOOT_S


class Machine:
    """A guest while it runs. A context manager: entering boots it, leaving ends it whatever its state."""

    def __init__(self, spec: MachineSpec, *, boot_deadline_s: float = BOOT_DEADLINE_S) -> None:
        self.spec = spec
        self.pid = 0
        self.start_ticks = 0
        self.boot_s: float | None = None
        self._boot_deadline_s = boot_deadline_s
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._monitor: Monitor | None = None
        self._node: GuestNode | None = None
        self._console_file: IO[bytes] | None = None
        self._log_file: IO[bytes] | None = None
        self._running: dict[str, JsonValue] = {}
        self._kernel_release = ""
        self._root: dict[str, JsonValue] = {}
        self._booted: dict[str, JsonValue] = {}

    def __enter__(self) -> Machine:
        """Start QEMU and wait for the guest's agent. Nothing stays behind when that fails."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _start(self) -> None:
        of = self.spec.architecture
        kernel = guest_kernel.of(of)
        for missing in (qemu.probe_program(of, with_functions=bool(self.spec.cables)), kernel):
            if isinstance(missing, Missing):
                raise TestbedError("VM-04", missing.what, found=missing.reason, hint=missing.mend)
        assert not isinstance(kernel, Missing)
        self._kernel_release = kernel.release
        initramfs = guest_initramfs.build(
            kernel,
            python=sys.executable if of.native else PYTHON,
            python_path="" if of.native else guest_views.python_path(),
            architecture=of,
            shares={tag: path for path, tag in self.spec.shares.items()},
            views={tag: path for path, tag in self.spec.views.items()},
            from_disk=self.spec.disk is not None,
        )
        self._booted = self._boots(
            file_sizes.of_files(dict([kernel.booted(), (booted.INITRAMFS, initramfs)]))
        )
        began_s = time.monotonic()
        channel = self._launch(kernel, initramfs)
        self._running = self._observe()
        node = GuestNode(
            self.spec.name,
            channel,
            boot_deadline_s=self._boot_deadline_s,
            broken_machine=self.ended,
            console=self.console,
            describe=self.describe,
        )
        try:
            node.open()
        except TestbedError as error:
            raise self._without_root(error) from error
        self._node = node
        if self.spec.disk is not None:
            self._root = node.call(guest_root.enter)
        self.boot_s = time.monotonic() - began_s
        node.call_within(self._boot_deadline_s, process.set_hostname, name=self.spec.name)

    def _without_root(self, error: TestbedError) -> TestbedError:
        """Return IMAGE-07 where the guest said that this is why it did not boot, else the error itself."""
        said = [line for line in self.console() if guest_initramfs.NO_ROOT in line]
        if self.spec.disk is None or not said:
            return error
        why = [line for line in self.console() if "EXT4-fs" in line]
        return TestbedError(
            "IMAGE-07",
            f"guest {self.spec.name}: no root in {self.spec.disk.file}",
            expected="a disk or a partition with ext2, ext3 or ext4 that has /usr/bin and /etc",
            found=" | ".join([*said, *why]),
            hint="LVM and other file systems are not read; a journal must be replayed (shut down cleanly)",
        )

    def _launch(self, kernel: GuestKernel, initramfs: Path) -> socket.socket:
        """Start QEMU; returns our end of the channel to the guest's agent."""
        channel, far = socket.socketpair()
        self._stack.callback(channel.close)

        def argv(monitor_fd: int) -> list[str]:
            return qemu.command(
                self.spec,
                kernel=kernel.unpacked_image(),
                modules=kernel.modules,
                initramfs=initramfs,
                channel_fd=far.fileno(),
                monitor_fd=monitor_fd,
            )

        with far:
            monitor = self._spawned(argv, far.fileno())
        try:
            self._monitor = Monitor(self.spec.name, monitor)
        except DriverError as error:
            raise TestbedError(
                "VM-04",
                f"guest {self.spec.name}: QEMU did not start",
                expected="its monitor",
                found=self.ended() or str(error),
            ) from error
        return channel

    def _spawned(self, argv: Callable[[int], list[str]], *descriptors: int) -> socket.socket:
        """Start QEMU's process; return our end of its monitor, whose other end `argv` is told."""
        self._console_file = self._stack.enter_context(nameless_file())
        self._log_file = self._stack.enter_context(nameless_file())
        monitor, far = socket.socketpair()
        self._stack.callback(monitor.close)
        with far:
            self._process = self._spawn(argv(far.fileno()), (*descriptors, far.fileno()))
        return monitor

    def _spawn(self, argv: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
        if threading.current_thread() is threading.main_thread():
            # the signal follows the thread that starts it; elsewhere the end of the channel has to do
            argv = ["setpriv", "--pdeathsig", "KILL", "--", *argv]
        started = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._console_file,
            stderr=self._log_file,
            pass_fds=descriptors,
            start_new_session=True,
        )
        self.pid = started.pid
        self.start_ticks = process.start_ticks(started.pid)
        return started

    def _without_agent(self, argv: Callable[[int], list[str]]) -> None:
        """Start a machine without an agent: its console, and its monitor, whose descriptor `argv` is told.

        Raises TestbedError VM-04.
        """
        monitor = self._spawned(argv)
        try:
            self._monitor = Monitor(self.spec.name, monitor)
            self._running = self._observe()
        except DriverError as error:
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.5)  # its socket closes before it can be waited for
            raise TestbedError(
                "VM-04",
                f"machine {self.spec.name}: QEMU did not start",
                expected="its monitor",
                found=self.ended() or str(error),
            ) from error

    def _observe(self) -> dict[str, JsonValue]:
        """Ask QEMU itself what runs: what was wanted on the command line is no evidence."""
        kvm = self._ask("query-kvm")
        version = self._ask("query-version")
        target = self._ask("query-target")["arch"]
        if target != self.spec.architecture.kernel:
            raise TestbedError(
                "VM-04",
                f"guest {self.spec.name}: its architecture",
                expected=self.spec.architecture.kernel,
                found=str(target),
            )
        if self.spec.disk is not None:
            self._require_read_only()
        return {
            "accelerator": "kvm" if kvm["enabled"] else "tcg",
            "kvm_present": kvm["present"],
            "qemu": ".".join(str(version["qemu"][part]) for part in ("major", "minor", "micro")),
            "qemu_package": version.get("package", ""),
        }

    def _require_read_only(self) -> None:
        """Raise TestbedError VM-04 unless QEMU itself says that it holds the disk for reading alone."""
        held = [block["inserted"] for block in self._ask("query-block") if block.get("inserted")]
        if [(block["ro"], block["drv"]) for block in held] != [(True, self.spec.disk.format.value)]:  # type: ignore[union-attr]
            raise TestbedError(
                "VM-04",
                f"guest {self.spec.name}: its disk",
                expected="one, held for reading alone",
                found=str([(block["drv"], "read-only" if block["ro"] else "writable") for block in held]),
            )

    def _ask(self, command: str, /, **arguments: JsonValue) -> JsonValue:
        """Run a QMP command."""
        return self.monitor.execute(command, arguments)

    @property
    def node(self) -> GuestNode:
        """The node inside; DriverError VM-08 when the machine does not run."""
        if self._node is None:
            raise DriverError("VM-08", f"guest {self.spec.name}", expected="a running guest", found="none")
        return self._node

    @property
    def monitor(self) -> Monitor:
        """The control channel; DriverError VM-08 when the machine does not run."""
        if self._monitor is None:
            raise DriverError("VM-08", f"guest {self.spec.name}", expected="a running guest", found="none")
        return self._monitor

    def ended(self) -> str | None:
        """Why the machine answers no more: QEMU ended, or the guest's kernel panicked."""
        if self.pid == 0:
            return "QEMU was not started"
        how = self._how_ended()
        console = self.console()
        panic = [line for line in console if "Kernel panic" in line]
        if panic:
            return "the guest's kernel panicked: " + " | ".join([*panic, *console[-_CONSOLE_LINES:]])
        if how is None:
            return None
        said = " | ".join([*self._log(), *console[-_CONSOLE_LINES:]])
        return how + (f": {said}" if said else "")

    def _how_ended(self) -> str | None:
        """In what way QEMU has ended; None while it runs."""
        status = self._process.poll() if self._process is not None else None
        if status is None:
            return None
        return "QEMU ended " + (f"by signal {-status}" if status < 0 else f"with status {status}")

    def _log(self) -> list[str]:
        """Return QEMU's own last words."""
        return tail(self._log_file, 5)

    def console(self) -> list[str]:
        """Return the last lines of the guest's console."""
        return tail(self._console_file, 60)

    def fault(self) -> str | None:
        """Why the guest no longer serves; never takes longer than a second."""
        if why := self.ended():
            return why
        try:
            state = self.monitor.execute("query-status", deadline_s=0.8)
        except ToolkitError as error:
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.1)  # its sockets close before it can be waited for
            return self.ended() or f"its monitor is gone: {error.found}"
        if state["status"] != "running":
            return f"the guest is {state['status']}"
        return None

    def sample(self) -> dict[str, JsonValue]:
        """CPU time and resident memory of QEMU, all its threads; DriverError VM-08 when it ended."""
        try:
            return qemu_use.use_of(self.pid)
        except (OSError, KeyError) as error:
            raise DriverError(
                "VM-08", f"guest {self.spec.name}", expected="its QEMU process", found=self.ended() or "none"
            ) from error

    def describe(self) -> Mapping[str, JsonValue]:
        """What runs: accelerator as QEMU told it, kernel, NICs."""
        _, why = qemu.probe_accelerator(self.spec.architecture)
        return {
            "kind": "qemu",
            "name": self.spec.name,
            **qemu.describe(self.spec),
            **self._running,
            "accelerator_reason": why,
            "guest_kernel": self._kernel_release,
            "guest_root": f"{self._root_words()}, read-only, below an overlay in memory",
            **({"root_found": self._root} if self._root else {}),
            booted.KEY: self._booted,
            "boot_s": self.boot_s,
        }

    def _boots(self, files: Mapping[str, Mapping[Counted, int]]) -> dict[str, JsonValue]:
        """Return what it boots: kernel and archive, and its disk; else its root is nothing of its own."""
        disk = self.spec.disk
        parts = {**files, **({booted.DISK: disk.octets} if disk is not None else {})}
        besides = _BESIDE_DISK if disk is not None else f"its root: {self._root_words()}"
        return Booted(parts=parts, besides=besides).as_builtins()

    def _root_words(self) -> str:
        if self.spec.disk is not None:
            return _DISK_ROOT
        return _HOST_ROOT if self.spec.architecture.native else _OTHER_ROOT

    def stop(self) -> None:
        """End the guest: it holds nothing of worth, so QEMU is told to quit, then killed. Idempotent.

        Raises DriverError VM-14 where QEMU outlives that; all else has ended then too.
        """
        with contextlib.ExitStack() as rest:
            rest.callback(self._stack.close)
            rest.callback(self._await_end)
            if self._node is not None:
                self._node.close()
                self._node = None
            if self._monitor is not None:
                with contextlib.suppress(ToolkitError):
                    self._monitor.execute("quit", deadline_s=1.0)
                self._monitor.close()
                self._monitor = None

    def _await_end(self) -> None:
        if self._process is None:
            return
        for wait_s in (_QUIT_S, _KILLED_S):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
                return
            self._process.kill()
        raise DriverError(
            "VM-14", f"guest {self.spec.name}", expected="ended", found=f"QEMU, process {self.pid}"
        )


def nameless_file() -> IO[bytes]:
    """Open a file without a name, which is gone with whoever holds it."""
    descriptor = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "w+b", buffering=0)


def tail(file: IO[bytes] | None, count: int) -> list[str]:
    """Return the last lines with something in them that can be printed."""
    if file is None or file.closed:
        return []
    size = os.fstat(file.fileno()).st_size
    text = os.pread(file.fileno(), _TAIL_OCTETS, max(0, size - _TAIL_OCTETS)).decode(errors="replace")
    lines = ("".join(char for char in line if char.isprintable()).strip() for line in text.splitlines())
    return [line for line in lines if line][-count:]
