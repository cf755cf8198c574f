"""Interfaces of a host that a run borrows: moved into a node's namespaces, and given back; node functions.

Only an interface that nothing else uses is borrowed: one with an address, a route, a session or a controller
belongs to the host's own network (RFC 6815). The kernel itself gives a device back when the namespaces end;
an interface that a program made (a veth end, a macvlan) ends with them, and is not waited for long.

Ids: PORT-01 the interface is in use, PORT-02 no link on it, PORT-03 it did not come back as it was, PORT-04
the far end of a cable does not answer.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import interfaces, port_settings, port_uses
from bmwg.drivers.ports.device_queue import VETH
from bmwg.methodology.errors import TestbedError

_SYS_NET = Path("/sys/class/net")
_DISCARD_PORT = 9  # nobody listens there: a kernel that is reached refuses
_LOOK_S = 0.05
_DEVICE, _VIRTUAL = "device", "virtual"  # the latter of no kind that the kernel tells
_COME_BACK = (_DEVICE, _VIRTUAL)  # Linux gives back what has no kind of link: default_device_exit_net
_NEVER_BACK_S = 1.0  # choice: for one that was moved back by hand a moment ago


def require_bare(*, interface: str) -> dict[str, JsonValue]:
    """Node function: what the interface is; TestbedError LINK-01 when absent, PORT-01 when in use."""
    there = {str(one["name"]): one for one in interfaces.listing()}
    if interface not in there:
        with interfaces.rtnetlink(f"look for {interface}") as kernel:
            interfaces.index(kernel, interface)  # raises, with the near names
    found = there[interface]
    if uses := port_uses.uses_of(found):
        raise TestbedError(
            "PORT-01",
            f"interface {interface} is in use; nothing was moved",
            expected="one without address, route, session, controller and interfaces on it",
            found=", ".join(uses),
            hint="take these away if test traffic may use the interface, or name another one",
        )
    device = _SYS_NET / interface / "device"
    return {
        "interface": interface,
        "mac": found["mac"],
        "mtu_octets": found["mtu_octets"],
        "up": found["up"],
        "driver": interfaces.driver(interface=interface),
        "kind": _DEVICE if device.exists() else found["kind"] or _VIRTUAL,
    }


def undo_of(found: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what `require_returned` is to be told of an interface, which `require_bare` has looked at."""
    told = {"interface": found["interface"], "up": found["up"]}
    return told if found["kind"] in _COME_BACK else told | {"within_s": _NEVER_BACK_S}


def require_returned(
    *, interface: str, up: bool, within_s: float = 10.0, was: Mapping[str, JsonValue] | None = None
) -> None:
    """Node function, on the host: wait until the interface is back and set it as it was. Idempotent.

    A namespace that has lost its last process gives devices back a little later. `was` is what
    `port_settings.read` told before. TestbedError PORT-03.
    """
    end_s = time.monotonic() + within_s
    while not (_SYS_NET / interface).exists():
        if was:
            port_settings.named(interface=interface, was=was)
        if time.monotonic() > end_s:
            raise TestbedError(
                "PORT-03",
                f"interface {interface}",
                expected=f"back in the host's own network namespace within {within_s:g} s",
                found="it is not there",
                hint="a virtual interface ends with the namespaces it was in: make it again",
            )
        time.sleep(_LOOK_S)
    if up:
        interfaces.up(interface=interface)
    else:
        interfaces.down(interface=interface)
    if was:
        port_settings.put_back(interface=interface, was=was)


def wait_for_link(*, interface: str, within_s: float) -> None:
    """Node function: wait until the interface, which is up, has a link. TestbedError PORT-02."""
    end_s = time.monotonic() + within_s
    while (_SYS_NET / interface / "carrier").read_text().strip() != "1":
        if time.monotonic() > end_s:
            raise TestbedError(
                "PORT-02",
                f"interface {interface}",
                expected=f"a link within {within_s:g} s",
                found="no carrier",
                hint="look at the cable and at the interface at its other end",
            )
        time.sleep(_LOOK_S)


def is_pair(*, interface: str) -> bool:
    """Node function: whether the interface is an end of a veth pair; one that is absent is none."""
    return any(one["name"] == interface and one["kind"] == VETH for one in interfaces.listing())


def line_rate_bps(*, interface: str) -> int | None:
    """Node function: the rate of the interface, bit/s, as its driver tells it; None where it tells none.

    A driver tells none while the link is down; what a veth pair tells is no rate.
    """
    if is_pair(interface=interface):
        return None
    try:
        mbps = int((_SYS_NET / interface / "speed").read_text())
    except (OSError, ValueError):
        return None
    return mbps * 1_000_000 if mbps > 0 else None


def require_answer(*, address: str, within_s: float) -> None:
    """Node function: have the kernel at the address refuse a connection. TestbedError PORT-04."""
    end_s = time.monotonic() + within_s
    last = "no answer"
    while (left_s := end_s - time.monotonic()) > 0:
        try:
            with socket.create_connection((address, _DISCARD_PORT), timeout=left_s):
                return
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                return
            last = error.strerror or str(error)
            time.sleep(_LOOK_S)
    raise TestbedError(
        "PORT-04",
        f"{address} does not answer",
        expected=f"the kernel there within {within_s:g} s",
        found=last,
        hint="are the ports cabled as the testbed file says?",
    )
