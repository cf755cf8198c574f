"""An act on the DUT amid traffic: the bridge behind a pod stands still for a moment."""

from __future__ import annotations

from bmwg.drivers.actuators import outage
from bmwg.drivers.actuators.place import EGRESS, Act, Actuator, Place
from bmwg.drivers.paths.pvp import bridge_of

_PAUSE_S = 0.05


def bridge_pause(place: Place) -> Act | None:
    """Take the egress side's bridge down for a moment; there is one where a pod forwards."""
    if place.pod is None:
        return None
    bridge = bridge_of(place.bed.sides()[EGRESS])
    return lambda: place.node.call(outage.link, interface=bridge, for_s=_PAUSE_S)


_: Actuator = bridge_pause
