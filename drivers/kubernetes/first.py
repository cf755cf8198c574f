"""The first process of an embedded cluster's node: keeps its programs running, and collects orphans.

It runs in a PID and mount namespace of its own inside the node's network namespace. When it ends, the kernel
ends every program, shim and container of the node with it; what is pinned in a bpf file system of its mount
namespace goes with that namespace.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# A kubelet wants these of the whole machine and would set them. It finds files that say so, and sets nothing.
KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
# Settings of the whole machine, which a daemon of the network would set as well: it finds them read-only.
_OF_THE_MACHINE = ("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs")
_PAUSE_S = 0.5  # choice: between a program's end and its next start
_STARTS = 60  # choice: after that it stays down, and says so


class _Program:
    def __init__(self, name: str, argv: list[str], folder: Path) -> None:
        self.name = name
        self.argv = argv
        self.log = folder / f"{name}.log"
        self.child: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.due_s = 0.0

    def keep(self) -> None:
        """Start it when it does not run and its pause is over."""
        if self.child is not None and self.child.poll() is not None:
            self.child = None
            self.due_s = time.monotonic() + _PAUSE_S
        if self.child is None and time.monotonic() >= self.due_s and self.starts < _STARTS:
            with self.log.open("ab") as output:
                self.child = subprocess.Popen(
                    self.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "LC_ALL": "C"},
                )
            self.starts += 1

    def state(self) -> dict[str, Any]:
        return {"starts": self.starts, "runs": self.child is not None}


def main() -> int:
    """Run what the file named by the first argument lists, until SIGTERM."""
    from bmwg.drivers.nodes import cpu_placement, mounts

    order = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(order["folder"])
    if order["bpf_root"]:
        for place in _OF_THE_MACHINE:
            mounts.bind_read_only(source=place, target=place)
        mounts.file_system(kind="bpf", target=order["bpf_root"])
    for name, value in KERNEL_SETTINGS.items():
        if not os.path.exists(f"/proc/sys/{name}"):
            continue
        file = folder / "kernel" / name.replace("/", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(value + "\n")
        mounts.bind(source=str(file), target=f"/proc/sys/{name}")
    cpu_placement.enter(order["cgroup"])  # programs and shims inherit it; a container has a cpuset of its own
    programs = [_Program(one["name"], one["argv"], folder) for one in order["programs"]]
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.__setitem__(0, False))
    told: dict[str, Any] = {}
    while going[0]:
        for program in programs:
            program.keep()
        now = {program.name: program.state() for program in programs}
        if now != told:
            told = now
            temporary = folder / "programs.new"
            temporary.write_text(json.dumps(now))
            temporary.rename(folder / "programs.json")
        _collect({program.child.pid for program in programs if program.child is not None})
        time.sleep(0.05)
    return 0


def _collect(ours: set[int]) -> None:
    """Collect orphans that have ended; the programs themselves are collected by their own `poll`."""
    with contextlib.suppress(ChildProcessError):
        while True:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or found.si_pid in ours:
                return
            os.waitpid(found.si_pid, os.WNOHANG)


if __name__ == "__main__":
    raise SystemExit(main())
