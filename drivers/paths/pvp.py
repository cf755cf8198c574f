"""PVP: the chain of one, which may lead to several networks behind the tester's ports."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Evidence, JsonValue, Missing, PathDriver
from bmwg.drivers.paths import chain, destinations, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, OUTER, host
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.forwarding_pods import Standing
from bmwg.drivers.paths.forwarding_pods import bridge_of as bridge_of_segment
from bmwg.drivers.paths.sides import Side
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import POD


class PvpPath(chain.ChainPath):
    """A chain through one pod, in which one of the functions for pods forwards."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp",
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="PVP: interface, pod, interface",
    )

    def _unroutable(self) -> Missing | None:
        if self._functions[0].routes:
            return None
        why = f"function {self._cell.function} forwards whatever comes, by no address of layer 3"
        return destinations.unroutable(self._cell, why)

    def _route_inside(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        """Set the routes for the networks behind the tester's ports in all that routes."""
        node, (pod,) = standing.node, standing.pods
        ends = list(zip(standing.sides, standing.attached.values(), strict=True))
        count = self._bed.destination_networks if self._functions[0].routes else 1
        found: list[JsonValue] = []
        if self._uplink == uplinks.ROUTED:
            hops = [routers.to_tester(side) for side in standing.sides]
            hops += [routers.into_pod(side, uplinks.host_side(node, item)) for side, item in ends]
            found += stack.enter_context(destinations.routed(node.call, node.name, hops, count))
        hops = []
        for side, item in ends:
            next_hop = INNER[side.number].router if self._uplink == uplinks.ROUTED else OUTER[side.number].far
            via = (host(next_hop[0]), host(next_hop[1]))
            hops.append(Hop(side=side.number, via=via, interface=item.attachment.interface))
        return [*found, *destinations.set_routes(pod.inside, "pod", hops, count)]

    def _told(self, standing: Standing) -> Evidence:
        # `function` is all else that there is
        return {"destination_networks": list(standing.steered)} if standing.steered else {}


def bridge_of(side: Side) -> str:
    """Return the name of the bridge of a side, where the option makes one."""
    return bridge_of_segment(side.number)


_: type[PathDriver] = PvpPath
