"""The flows of a switch of the run's own, exchanged for others while frames pass. Node functions.

A configuration has so many flows: all but one drop what nobody sends, and one marks test frames (DSCP) and
hands them to a second table. That counts them by their mark and forwards as the switch does by itself, so
counts outlive flows. A test frame that no configuration takes is counted and dropped.
Ids: VSW-05 counts that do not come to rest.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from bmwg.drivers.network import ovs_parts, ovs_tools
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts.records import TABLE_FLUSHED, TABLE_LOADED, TABLE_LOADING

_OFCTL = ("-O", "OpenFlow14")  # the first version that has bundles: changes that are made as one
_TEST = "udp,tp_dst=7"  # rfc2544 appendix C.2.6.4: the destination port of test frames
_CONFIGURATION, _STOPPED, _COUNTED = 1, 2, 16  # cookies; that of a count has the mark added
_IDLE, _TEST_FRAMES, _NOBODYS = 100, 90, 10  # choice: priorities above the flow by which a bridge learns
_REST_S, _LOOK_S = 1.2, 0.1  # choice: Open vSwitch brings its counts up to date each half second
_DEADLINE_S = 15.0


def prepare(*, marks: list[int]) -> None:
    """Node function: have the table that counts, and drop test frames that no configuration takes."""
    lines = [f"table=0,cookie={_STOPPED},priority={_NOBODYS},{_TEST},actions=drop"]
    for mark in marks:
        match = f"{_TEST},nw_tos={mark << 2}"
        lines.append(f"table=1,cookie={_COUNTED + mark},priority={_TEST_FRAMES},{match},actions=NORMAL")
    _change(lines)


def exchange(*, entries: int, mark: int, flush_first: bool, wait_s: float) -> dict[str, int]:
    """Node function: have these flows in place of those that stand; returns moments of the monotonic clock.

    As one bundle, or with `flush_first` as two: between them test frames are dropped, for `wait_s` and as
    long as the second takes. Raises DriverError VSW-03: the flows stand then as before the bundle.
    """
    moments = {}
    flushed = f"delete table=0,cookie={_CONFIGURATION}/-1"
    loaded = [flushed, *(f"add {line}" for line in _configuration(entries, mark))]
    if flush_first:
        _change([flushed])
        moments[TABLE_FLUSHED] = time.monotonic_ns()
        time.sleep(wait_s)
    moments[TABLE_LOADING] = time.monotonic_ns()
    _change(loaded)
    moments[TABLE_LOADED] = time.monotonic_ns()
    return moments


def _configuration(entries: int, mark: int) -> Iterator[str]:
    for number in range(entries - 1):
        host = (
            f"10.{mark}.{number >> 8 & 255}.{number & 255}"  # choice: 10.0.0.0/8, of which no test frame is
        )
        port = 1024 + (number >> 16)
        match = f"priority={_IDLE},udp,nw_dst={host},tp_dst={port}"
        yield f"table=0,cookie={_CONFIGURATION},{match},actions=drop"
    marks = f"mod_nw_tos:{mark << 2},resubmit(,1)"
    yield f"table=0,cookie={_CONFIGURATION},priority={_TEST_FRAMES},{_TEST},actions={marks}"


def counts(*, marks: list[int]) -> dict[str, int]:
    """Node function: frames that each configuration has let through, by its mark, and those dropped.

    Read until they are at rest: no frame is offered meanwhile. Raises DriverError VSW-05.
    """
    end_s = time.monotonic() + _DEADLINE_S
    found, since_s = _counts(marks), time.monotonic()
    while time.monotonic() - since_s < _REST_S:
        if time.monotonic() > end_s:
            raise DriverError(
                "VSW-05", "the flows of the vSwitch", expected="counts at rest", found=f"{found}, and more"
            )
        time.sleep(_LOOK_S)
        if (now := _counts(marks)) != found:
            found, since_s = now, time.monotonic()
    return found


def _counts(marks: list[int]) -> dict[str, int]:
    cookies = {str(mark): _COUNTED + mark for mark in marks} | {"stopped": _STOPPED}
    return {name: _counted(cookie) for name, cookie in cookies.items()}


def _counted(cookie: int) -> int:
    said = ovs_tools.run([_tool(), *_OFCTL, "dump-aggregate", _target(), f"cookie={cookie}/-1"])
    return int(dict(re.findall(r"(\w+)=(\d+)", said))["packet_count"])


def _change(lines: list[str]) -> None:
    """Change flows as one."""
    ovs_tools.run([_tool(), *_OFCTL, "--bundle", "add-flows", _target(), "-"], given="\n".join(lines) + "\n")


def _tool() -> str:
    return ovs_parts.require().flows


def _target() -> str:
    (bridge,) = ovs_tools.configure("list-br").split()
    return f"unix:{ovs_tools.FOLDER}/{bridge}.mgmt"
