"""Record a workload from outside: its process from here, its interfaces from within its network namespace.

Run as a module it is the helper that enters the namespace: a process of its own, so that nothing of this
one moves.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import Any

from bmwg.drivers.platform_record.values import JsonValue
from bmwg.methodology.errors import DriverError, TestbedError

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_RESERVE_S = 4.0


def collect_inside(pid: int, *, budget_s: float) -> dict[str, JsonValue]:
    """The `network` record within the namespace of `pid`, with the process's own facts as `workload`.

    TestbedError REC-02 when the process is gone or may not be entered; DriverError REC-03 when the helper
    does not answer in time.
    """
    argv = [sys.executable, "-m", "bmwg.drivers.platform_record.inside", str(pid), str(budget_s)]
    try:
        ended = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=budget_s + _RESERVE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise DriverError(
            "REC-03", f"record of process {pid}: no answer after {budget_s + _RESERVE_S:.0f} s"
        ) from None
    if ended.returncode != 0:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TestbedError(
            "REC-02",
            f"record of process {pid}: its namespaces cannot be entered",
            expected="a live process and root",
            found=said[-1] if said else f"exit status {ended.returncode}",
        )
    record: dict[str, JsonValue] = json.loads(ended.stdout)
    return record


def _call(name: str, *arguments: Any) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _enter(pid: int) -> None:
    """Take the network namespace of `pid` and see it in a /sys of our own, in a mount namespace that dies
    with us.
    """
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", descriptor, _CLONE_NEWNET)
    finally:
        os.close(descriptor)
    _call("unshare", _CLONE_NEWNS)
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    # cgroup limits are read under /sys/fs/cgroup, which a fresh sysfs would hide: it is bound there again
    library = ctypes.CDLL(None, use_errno=True)
    held = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC) if os.path.isdir("/sys/fs/cgroup") else -1
    _call("mount", b"sysfs", b"/sys", b"sysfs", 0, None)
    if held >= 0 and os.path.isdir("/sys/fs/cgroup"):
        library.mount(f"/proc/self/fd/{held}".encode(), b"/sys/fs/cgroup", None, 0x1000 | _MS_REC, None)
        os.close(held)


def main() -> int:
    """Print the record of the process named on the command line as JSON."""
    from bmwg.drivers.platform_record.collect import assemble, gather
    from bmwg.drivers.platform_record.collectors import workload
    from bmwg.drivers.platform_record.source import LocalSource

    pid, budget_s = int(sys.argv[1]), float(sys.argv[2])
    try:
        _enter(pid)
    except OSError as error:
        print(error, file=sys.stderr)
        return 3
    source = LocalSource(budget_s=budget_s)
    record = assemble(source, "network")
    record["scope"] = "workload"
    viewer = str(os.getppid())
    record["fields"]["workload"] = gather(
        source, lambda group: workload.workloads(group, {"process": {"pid": pid}}, viewer)
    )
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
