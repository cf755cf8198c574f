"""Node functions that show that a node answers: used by `bmwg doctor` and by the contract suite."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.trial.cpu_lists import cpu_list


def identify() -> dict[str, JsonValue]:
    """Say who answers: host name, pid, user number, kernel and Python version."""
    return {
        "hostname": socket.gethostname(),  # platform.node() remembers the name from before the namespace
        "pid": os.getpid(),
        "uid": os.geteuid(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def echo(*, value: JsonValue) -> JsonValue:
    """Give the value back."""
    return value


def pause(*, pause_s: float) -> None:
    """Do nothing for a time: shows what a deadline does."""
    time.sleep(pause_s)


def chatter() -> str:
    """Write to standard output, which must not disturb the channel."""
    sys.stdout.write("noise on standard output\n" * 1000)
    sys.stdout.flush()
    os.write(1, b"more noise\n" * 1000)
    return "done"


def die() -> None:
    """End the agent at once: shows what the loss of a node does."""
    os._exit(9)


def monotonic_ns() -> int:
    """Read this node's monotonic clock, ns."""
    return time.monotonic_ns()


def wall_clock_s() -> float:
    """Node function: this machine's time of day, seconds since 1970."""
    return time.time()


def online_cpus() -> list[int]:
    """Node function: the CPUs of this machine that are on."""
    return list(cpu_list(Path("/sys/devices/system/cpu/online").read_text().strip()))


def clock() -> dict[str, JsonValue]:
    """Read this node's clock and say what it counts by: a guest's clock can run at a wrong rate."""
    source = Path("/sys/devices/system/clocksource/clocksource0")
    return {
        "monotonic_ns": time.monotonic_ns(),
        "source": (source / "current_clocksource").read_text().strip(),
        "available": (source / "available_clocksource").read_text().split(),
    }


def nic_driver(*, interface: str) -> str:
    """Name the kernel driver of a NIC: what it is, whatever it is called."""
    return Path(f"/sys/class/net/{interface}/device/driver").resolve().name
