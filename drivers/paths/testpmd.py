"""testpmd as the function in a pod: its command line, and when it is ready.

It forwards at layer 2 in `mac` mode: the destination becomes the neighbour's MAC given for the port of
departure, the source that port's own; nothing above the Ethernet header changes.
"""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from bmwg.methodology.errors import DriverError

BINARY = "/usr/bin/dpdk-testpmd"
MEND = "apt-get install dpdk"
COMMAND_FILE = "command.sh"
MEMORY_MIB = 96  # choice: 8192 buffers of 2 KiB and the drivers' rings
_READY = "packet forwarding -"


def arguments(*, interfaces: tuple[str, str], neighbours: tuple[str, str], cpu: int) -> tuple[str, ...]:
    """Return the command line: both interfaces by AF_PACKET, one forwarding core beside the idle main one."""
    devices = [
        f"--vdev=net_af_packet{number},iface={interface},framesz=2048,blocksz=65536,framecnt=4096"
        for number, interface in enumerate(interfaces)
    ]
    peers = [f"--eth-peer={number},{mac}" for number, mac in enumerate(neighbours)]
    return (
        "stdbuf",
        "-oL",
        BINARY,
        f"--lcores=(0-1)@{cpu}",
        "--no-huge",
        f"-m{MEMORY_MIB}",
        "--no-pci",
        "--no-telemetry",
        "--no-shconf",
        *devices,
        "--",
        "--forward-mode=mac",
        *peers,
        "--total-num-mbufs=8192",
        "--no-flush-rx",
        "--auto-start",
        "--stats-period=3600",  # without a terminal it would end at once
    )


def wait_ready(*, log: str, ready_deadline_s: float = 20.0) -> str:
    """Node function: wait until testpmd says that it forwards; return that line.

    Raises DriverError PATH-06 with the last lines of its log when it does not within the deadline.
    """
    due_s = time.monotonic() + ready_deadline_s
    lines: list[str] = []
    while time.monotonic() < due_s:
        path = Path(log)
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        for line in lines:
            if _READY in line:
                return line.strip()
            if "Cause:" in line or "EAL: FATAL" in line:
                due_s = 0.0
        time.sleep(0.02)
    raise DriverError(
        "PATH-06",
        "testpmd in the pod does not forward",
        expected=f"{_READY!r} in its log within {ready_deadline_s:g} s",
        found=" | ".join(lines[-8:]) or "an empty log",
    )


def write_command(folder: Path, line: tuple[str, ...]) -> None:
    """Write the command line where the pod's program, a shell, takes it from."""
    (folder / COMMAND_FILE).write_text("exec " + shlex.join(line) + "\n", encoding="utf-8")
