"""The tunnel device of a program that translates packets, and the routes that lead into it. Node functions.

Ids: FUNC-07 the program made no such device.
"""

from __future__ import annotations

import time

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import interfaces, routing, sysctl
from bmwg.methodology.errors import DriverError, TestbedError

_LOOK_S = 0.05


def raise_device(*, interface: str, networks: list[str], within_s: float) -> dict[str, JsonValue]:
    """Node function: wait for the device that a program makes, and route networks of both versions into it.

    Device and routes go with the program. Raises DriverError FUNC-07 past the deadline.
    """
    end_s = time.monotonic() + within_s
    while True:
        try:
            interfaces.up(interface=interface)
            break
        except TestbedError as error:
            if error.error_id != "LINK-01":
                raise
            if time.monotonic() > end_s:
                raise DriverError(
                    "FUNC-07",
                    f"device {interface}",
                    expected=f"made by the program within {within_s:g} s",
                    found=error.found,
                ) from error
            time.sleep(_LOOK_S)
    sysctl.write(key=f"net/ipv6/conf/{interface}/disable_ipv6", value="0")
    for network in networks:
        routing.add_route(destination=network, interface=interface)
    return {"device": interface, "networks": list(networks)}
