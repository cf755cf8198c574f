"""The resets that a deployed path can take (RFC 6201): its link, virtual switch, switch program, container.

Each is an actuator: called with the place and found by its name, it returns what does the act, and None
where there is nothing to act on. A hardware reset does not apply: nothing here has a power supply or a route
processor of its own. Ids: ACT-04 no container stands.
"""

from __future__ import annotations

from bmwg.drivers.actuators import outage
from bmwg.drivers.actuators.place import EGRESS, Act, Actuator, Place
from bmwg.drivers.api.protocols import JsonValue, SocketNetwork
from bmwg.drivers.network import ovs_restart
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.paths import queues, uplinks
from bmwg.methodology.errors import DriverError
from bmwg.methodology.measurements.recovery import SWITCH_PROGRAMS
from bmwg.methodology.records import BAREMETAL, NOTHING

LINK_DOWN_S = 0.2  # choice: long against a trial's noise, short against the trial


def link(place: Place) -> Act | None:
    """Take the egress side's NIC down for a moment, where something forwards."""
    return None if place.cell.function == NOTHING else lambda: _link(place)


class _VSwitch:
    """Restart the bridge of the egress side: down and up at once."""

    def foresees(self, place: Place, /) -> bool:
        """Tell whether a bridge of the kernel carries the frames; else that name is of a tap beside them."""
        if place.cell.function == NOTHING or place.cell.hosting == BAREMETAL:
            return False
        network = place.bed.network(place.cell.network)
        return not isinstance(network, SocketNetwork) and network.spec.uplink == uplinks.BRIDGE_PORT

    def __call__(self, place: Place, /) -> Act | None:
        if not self.foresees(place):
            return None
        bridge = f"bmwg-br{place.bed.sides()[EGRESS].number}"
        return lambda: place.node.call(outage.link, interface=bridge, for_s=0.0)


vswitch: Actuator = _VSwitch()


class _SwitchProgram:
    """Restart the program that switches on path `switch`: in good order, its flows kept, or by a kill."""

    def __init__(self, *, graceful: bool) -> None:
        self._graceful = graceful

    def foresees(self, place: Place, /) -> bool:
        """Tell whether the switch is a program of the run's own; the kernel's bridge is none."""
        return place.cell.path == "switch" and place.cell.function in SWITCH_PROGRAMS

    def __call__(self, place: Place, /) -> Act | None:
        if not self.foresees(place):
            return None
        return lambda: place.node.call_within(CALL_DEADLINE_S, ovs_restart.restart, graceful=self._graceful)


vswitch_graceful: Actuator = _SwitchProgram(graceful=True)
vswitch_kill: Actuator = _SwitchProgram(graceful=False)


class _ContainerRestart:
    """End the pod's container and start it anew in the pod's own network namespace, as a kubelet does."""

    def foresees(self, place: Place, /) -> bool:
        """Tell whether a container is there: where the pod's program forwards."""
        return place.cell.function == "testpmd"

    def __call__(self, place: Place, /) -> Act | None:
        return (lambda: _container(place)) if self.foresees(place) else None


container: Actuator = _ContainerRestart()


def _container(place: Place) -> dict[str, JsonValue]:
    if place.pod is None:
        raise DriverError(
            "ACT-04",
            "a container to restart",
            expected="the pod of a deployed path",
            found="none that stands",
        )
    return place.pod.restart()


def _link(place: Place) -> dict[str, JsonValue]:
    side = place.bed.sides()[EGRESS]
    done: dict[str, JsonValue] = place.node.call(outage.link, interface=side.nic, for_s=LINK_DOWN_S)
    queues.isolate(place.bed, place.node, side.nic, side.number)  # lost with the link
    return done


_: Actuator = link
__: Actuator = vswitch
___: Actuator = container
