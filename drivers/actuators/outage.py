"""Interruptions of known length on a node: a link, or a bridge as a whole. Node functions.

Each returns when it began and ended, and how long the kernel took to begin and to end it, in nanoseconds of
the node's monotonic clock: that is the truth which an outage measured by traffic is held against. Ids: ACT-01
length.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports.interfaces import index, rtnetlink
from bmwg.methodology.errors import ConfigError

LONGEST_S = 60.0  # choice: beyond it a trial's own deadline ends first


def link(*, interface: str, for_s: float) -> dict[str, JsonValue]:
    """Node function: take an interface down for a time. A bridge taken down is a virtual switch restarted."""
    with rtnetlink(f"interrupt {interface}") as kernel:
        number = index(kernel, interface)
        return _interrupted(
            lambda: kernel.link("set", index=number, state="down"),
            lambda: kernel.link("set", index=number, state="up"),
            for_s,
        )


def _interrupted(
    begin: Callable[[], object], end: Callable[[], object], for_s: float
) -> dict[str, JsonValue]:
    if not 0 <= for_s <= LONGEST_S:
        raise ConfigError("ACT-01", "length of an outage", expected=f"0..{LONGEST_S:g} s", found=f"{for_s} s")
    began_ns = time.monotonic_ns()
    try:
        begin()
        beginning_ns = time.monotonic_ns() - began_ns
        time.sleep(max(0.0, for_s - (time.monotonic_ns() - began_ns) / 1e9))
    finally:
        ending_ns = time.monotonic_ns()
        end()
    ended_ns = time.monotonic_ns()
    return {
        "began_ns": began_ns,
        "ended_ns": ended_ns,
        "beginning_ns": beginning_ns,
        "ending_ns": ended_ns - ending_ns,
    }
