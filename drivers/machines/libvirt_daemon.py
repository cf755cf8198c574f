"""A libvirtd of the run's own on a node: own socket, configuration and state, and QEMU's driver alone.

It runs in a PID and mount namespace of its own inside the node's network namespace: when its first process
ends, the kernel ends every guest with it. The machine's own libvirt, its domains and networks are neither
spoken to nor seen. Node functions. Ids: VM-10 libvirt absent, VM-11 the daemon did not
start, VM-14 not removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import qemu_place
from bmwg.drivers.machines.guest_kernel import CACHE
from bmwg.drivers.machines.libvirt_connection import Connection, probe_binding
from bmwg.drivers.nodes import process, programs
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

PROGRAM = "libvirtd"
INSTALL_LINE = "apt-get install --no-install-recommends libvirt-daemon libvirt-daemon-driver-qemu"
_EXEC = "bmwg.drivers.machines.libvirt_exec"
_DRIVER = "libvirt_driver_qemu.so"
_DRIVER_FOLDERS = ("/usr/lib/*/libvirt/connection-driver", "/usr/lib*/libvirt/connection-driver")
_UNSHARE = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child=SIGKILL"]
_UNSHARE += ["--propagation", "private"]
_PREFIX = "/run/bmwg-libvirt-"
_CONF = """unix_sock_dir = "{folder}"
unix_sock_rw_perms = "0700"
unix_sock_ro_perms = "0700"
auth_unix_rw = "none"
auth_unix_ro = "none"
listen_tls = 0
host_uuid = "{host_uuid}"
log_outputs = "3:stderr"
"""
_started: dict[str, subprocess.Popen[bytes]] = {}


def folder_of(token: str) -> str:
    """Name the daemon's folder on its node."""
    return f"{_PREFIX}{token}"


def uri_of(token: str) -> str:
    """Name the daemon as libvirt's clients do."""
    return f"qemu:///system?socket={folder_of(token)}/libvirt-sock"


def probe(*, uri: str | None) -> dict[str, str] | None:
    """Node function: what this node lacks for guests by libvirt (fields of `Missing`), or None.

    With a URI the daemon behind it is asked; without one, what it takes to start a daemon is looked for.
    """
    lack = probe_binding()
    if lack is not None:
        return {"what": lack.what, "reason": lack.reason, "mend": lack.mend}
    if uri is not None:
        try:
            with Connection(uri) as connection:
                connection.version()
        except ToolkitError as error:
            return {"what": f"libvirt at {uri}", "reason": error.found or error.what, "mend": error.hint}
    elif lacking := _lacking():
        return {"what": "libvirt", "reason": lacking, "mend": INSTALL_LINE}
    return qemu_place.probe()


def _lacking() -> str | None:
    for name in (PROGRAM, "unshare", "setpriv"):
        if shutil.which(name) is None:
            return f"no {name} in PATH"
    return None if _driver() else f"no {_DRIVER} in {' or '.join(_DRIVER_FOLDERS)}"


def _driver() -> Path | None:
    found = (path for pattern in _DRIVER_FOLDERS for path in Path("/").glob(f"{pattern[1:]}/{_DRIVER}"))
    return next(found, None)


def start(*, token: str, image: str = "", within_s: float = 30.0) -> dict[str, JsonValue]:
    """Node function: start the daemon and wait until it answers; returns its process and version.

    `image` is the path of the disk image that its guests get. Raises TestbedError VM-10, VM-11. On failure
    nothing of it runs.
    """
    driver = _driver()
    lacking = _lacking()
    if driver is None or lacking:
        raise TestbedError("VM-10", "no libvirt", found=lacking or f"no {_DRIVER}", hint=INSTALL_LINE)
    folder = Path(folder_of(token))
    (folder / "drivers").mkdir(parents=True, mode=0o700)
    CACHE.mkdir(parents=True, exist_ok=True)  # before it is covered: what comes into it later must be seen
    (folder / "drivers" / _DRIVER).symlink_to(driver)
    (folder / "libvirtd.conf").write_text(_CONF.format(folder=folder, host_uuid=uuid.uuid4()))
    command = ["setpriv", "--pdeathsig", "KILL", "--", *_UNSHARE, sys.executable, "-m", _EXEC, str(folder)]
    command += [image]
    command += [PROGRAM, "--config", f"{folder}/libvirtd.conf", "--pid-file", f"{folder}/pid"]
    with (folder / "output").open("wb") as output:
        daemon = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "LIBVIRT_DRIVER_DIR": f"{folder}/drivers"},
        )
    _started[token] = daemon
    try:
        return {"version": _wait(token, daemon, within_s)}
    except BaseException:
        stop(token=token)
        raise


def _wait(token: str, daemon: subprocess.Popen[bytes], within_s: float) -> str:
    end_s = time.monotonic() + within_s
    last, folder = "nothing", folder_of(token)
    while time.monotonic() < end_s:
        status = daemon.poll()
        if status is not None:
            found = f"status {status}: {programs.said(folder)}"
            raise TestbedError("VM-11", "libvirtd", expected="a running daemon", found=found)
        try:
            with Connection(uri_of(token)) as connection:
                return connection.version()
        except ToolkitError as error:
            last = error.found
        time.sleep(0.02)
    raise TestbedError(
        "VM-11",
        "libvirtd",
        expected=f"an answer within {within_s:g} s",
        found=f"{last}; it said: {programs.said(folder)}",
    )


def stop(*, token: str) -> None:
    """Node function: end the daemon with every guest of it, and remove its files. Idempotent."""
    daemon = _started.pop(token, None)
    remove(token=token)
    if daemon is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(3.0)


def remove(*, token: str, within_s: float = 5.0) -> bool:
    """Node function: end what names the daemon's folder on its command line, and remove that folder.

    Right whether it was started or not, and after its starter has died. Idempotent; raises VM-14.
    """
    folder = folder_of(token)
    there = os.path.exists(folder) or bool(_members(folder))
    if left := process.kill_all(lambda: _members(folder), within_s=within_s):
        raise DriverError("VM-14", f"libvirtd of {folder}", expected="ended", found=f"processes {left}")
    shutil.rmtree(folder, ignore_errors=True)
    return there


def _members(folder: str) -> list[int]:
    """Processes of a daemon: its starters and itself; the guests end with them."""
    found = []
    for pid, words in process.each("cmdline"):
        ours = _EXEC.encode() in words and folder.encode() in words
        if ours or f"{folder}/libvirtd.conf".encode() in words:
            found.append(pid)
    return [pid for pid in found if pid != os.getpid() and process.start_ticks(pid)]
