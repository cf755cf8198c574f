"""The resets that a deployed path can take (RFC 6201): its link, its virtual switch, its container.

A hardware reset does not apply: nothing here has a power supply or a route processor of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from bmwg.drivers.actuators.place import EGRESS, Place
from bmwg.drivers.api import JsonValue
from bmwg.drivers.paths import queues
from bmwg.methodology.records import BAREMETAL, NOTHING

LINK, SWITCH, CONTAINER = "link", "vswitch", "container"
LINK_DOWN_S = 0.2  # choice: long against a trial's noise, short against the trial
_OUTAGE = "bmwg.drivers.actuators.outage"


def resets(place: Place) -> dict[str, Callable[[], dict[str, JsonValue]]]:
    """Return what can be reset on this path, by name; each act tells when it began and ended."""
    if place.cell.function == NOTHING:
        return {}
    if place.cell.hosting == BAREMETAL:
        return {LINK: lambda: _link(place)}
    acts = {LINK: lambda: _link(place), SWITCH: lambda: _switch(place)}
    if place.cell.function == "testpmd":
        acts[CONTAINER] = lambda: _container(place)
    return acts


def _link(place: Place) -> dict[str, JsonValue]:
    side = place.bed.sides()[EGRESS]
    done: dict[str, JsonValue] = place.node.call(f"{_OUTAGE}:link", interface=side.nic, for_s=LINK_DOWN_S)
    queues.isolate(place.bed, place.node, side.nic, side.number)  # lost with the link
    return done


def _switch(place: Place) -> dict[str, JsonValue]:
    """Restart the bridge of the egress side: down and up at once."""
    bridge = f"bmwg-br{place.bed.sides()[EGRESS].number}"
    done: dict[str, JsonValue] = place.node.call(f"{_OUTAGE}:link", interface=bridge, for_s=0.0)
    return done


def _container(place: Place) -> dict[str, JsonValue]:
    """End the pod's container and start it anew in the pod's own network namespace, as a kubelet does."""
    assert place.pod is not None
    return place.pod.restart()
