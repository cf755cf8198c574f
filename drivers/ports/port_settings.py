"""What a run may change of an interface that it borrows: read before, set back after. Node functions.

A device keeps its offloads, its threads and its MTU when it is moved between network namespaces, and one that
a plugin has renamed comes back by that name where its namespace ended. Id: PORT-03 it is not as it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from pyroute2.ethtool.ethtool import Ethtool

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import device_queue, interfaces
from bmwg.methodology.errors import TestbedError

_SYS_NET = Path("/sys/class/net")
_IFF_PROMISC = 0x100


def read(*, interface: str) -> dict[str, JsonValue]:
    """Node function: return what of the interface a run may change, for `put_back`."""
    with interfaces.rtnetlink(f"read the settings of {interface}") as kernel:
        (link,) = kernel.get_links(interfaces.index(kernel, interface))
    xdp = link.get_nested("IFLA_XDP", "IFLA_XDP_ATTACHED")
    threaded = _SYS_NET / interface / "threaded"
    return {
        "device": _device(interface),
        "mtu_octets": int(link.get_attr("IFLA_MTU")),
        "bare": not xdp and not link["flags"] & _IFF_PROMISC,
        "threaded": threaded.read_text().strip() if threaded.exists() else "",
        "offloads": _offloads(interface),
    }


def named(*, interface: str, was: Mapping[str, JsonValue]) -> None:
    """Give a device that came back by another name its own one. Does nothing where it is not there."""
    mine = [one.name for one in _SYS_NET.iterdir() if was["device"] and _device(one.name) == was["device"]]
    if len(mine) == 1 and mine != [interface]:
        with contextlib.suppress(TestbedError):  # udev was faster
            interfaces.down(interface=mine[0])
            interfaces.rename(interface=mine[0], name=interface)


def put_back(*, interface: str, was: Mapping[str, JsonValue]) -> None:
    """Have the interface, which is back, as `read` told of it. Idempotent. Raises TestbedError PORT-03."""
    if was["bare"]:
        interfaces.release(interface=interface)
    if interfaces.mtu_octets(interface=interface) != was["mtu_octets"]:
        interfaces.set_mtu(interface=interface, mtu_octets=was["mtu_octets"])
    threaded = _SYS_NET / interface / "threaded"
    if was["threaded"] and threaded.read_text().strip() != was["threaded"]:
        threaded.write_text(was["threaded"])
    if _offloads(interface) != was["offloads"]:
        with Ethtool() as tool:
            found = tool.get_features(interface)
            for name, on in was["offloads"].items():
                found.features[name].enable = on
            tool.set_features(interface, found)
    now = _offloads(interface)
    if other := sorted(name for name, on in was["offloads"].items() if now.get(name) != on):
        raise TestbedError(
            "PORT-03",
            f"interface {interface}",
            expected="the offloads that it had before the run",
            found=f"{', '.join(other)}: {', '.join('on' if now.get(name) else 'off' for name in other)}",
            hint=f"ethtool -K {interface}",
        )


def _device(interface: str) -> str:
    """Return what a device is by its place in the machine, whatever its name; empty for a virtual one."""
    device = _SYS_NET / interface / "device"
    number = ""
    with contextlib.suppress(OSError):  # which port of a device of several
        number = (_SYS_NET / interface / "dev_port").read_text().strip()
    return f"{device.resolve()} {number}".strip() if device.exists() else ""


def _offloads(interface: str) -> dict[str, bool]:
    with Ethtool() as tool:
        features = tool.get_features(interface).features
        return {name: bool(features[name].enable) for name in device_queue.CHANGED if name in features}
