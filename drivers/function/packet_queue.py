"""The queue by which a kernel gives each packet that crosses it to a program for a verdict. Node functions.

The rule is of iptables: this is where NFQUEUE is in kernels whose nftables have no queue of their own.
Ids: FUNC-08 nobody takes packets from the queue, or the kernel has none.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import DriverError

NUMBER = 0
_QUEUES = Path("/proc/self/net/netfilter/nfnetlink_queue")
_CHAIN = ("-t", "mangle")  # before the tables that count what was let through
_LOOK_S = 0.1
_CALL_S = 30.0


def lead(*, sides: list[str], ipv6: bool, within_s: float) -> dict[str, JsonValue]:
    """Node function: wait until a program listens to the queue, and lead into it what crosses, both ways.

    Raises DriverError FUNC-08 past the deadline, or with the words of iptables.
    """
    end_s = time.monotonic() + within_s
    while not _listened():
        if time.monotonic() > end_s:
            raise _nobody(f"a program that listens within {within_s:g} s", "none")
        time.sleep(_LOOK_S)
    rules = [[*_CHAIN, "-A", "FORWARD", *way, *_target()] for way in _ways(sides)]
    for rule in rules:
        _iptables(ipv6, *rule)
    return {"rules": [" ".join(rule) for rule in rules]}


def leave(*, sides: list[str], ipv6: bool) -> None:
    """Node function: take the rules of `lead` away; one that is not there is left."""
    for way in _ways(sides):
        _iptables(ipv6, *_CHAIN, "-D", "FORWARD", *way, *_target(), any_end=True)


def _listened() -> bool:
    if not _QUEUES.exists():
        raise _nobody("a kernel with NFQUEUE", "no such file in /proc")
    return any(line.split()[0] == str(NUMBER) for line in _QUEUES.read_text().splitlines())


def _ways(sides: list[str]) -> list[list[str]]:
    inside, outside = sides
    return [["-i", inside, "-o", outside], ["-i", outside, "-o", inside]]


def _target() -> list[str]:
    return ["-j", "NFQUEUE", "--queue-num", str(NUMBER)]


def _iptables(ipv6: bool, *words: str, any_end: bool = False) -> None:
    command = ["ip6tables" if ipv6 else "iptables", "-w", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _nobody("a rule of iptables", str(error)) from error
    if done.returncode and not any_end:
        raise _nobody("a rule of iptables", done.stderr.strip()[:300])


def _nobody(expected: str, found: str) -> DriverError:
    return DriverError("FUNC-08", f"packet queue {NUMBER}", expected=expected, found=found)
