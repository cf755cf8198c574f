"""The end of flat networks: they are deleted, and the NICs of their hosts are free again.

Ids: CLOUD-18 Neutron's agent did not let a NIC go in time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from bmwg.drivers.api.protocols import Node
from bmwg.drivers.openstack.servers import Workshop
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import DriverError

_DEADLINE_S = 60.0  # choice: the agent is told of a network's end within seconds


def cleared(
    workshop: Workshop, networks: Iterable[Any], places: Iterable[tuple[Node, Sequence[str]]]
) -> None:
    """Delete the networks, and wait until Neutron's agents have taken these NICs out of their bridges.

    Whatever is deployed next then finds the nodes as they were. Raises DriverError CLOUD-18.
    """
    for network in networks:
        workshop.client.call(
            "delete of a network",
            lambda sdk, network=network: sdk.network.delete_network(network),  # type: ignore[misc]
        )
    end_s = time.monotonic() + _DEADLINE_S
    for node, nics in places:
        while held := _held(node, nics):
            if time.monotonic() > end_s:
                raise DriverError(
                    "CLOUD-18",
                    f"NICs {', '.join(held)} of node {node.name}",
                    expected=f"out of Neutron's bridges within {_DEADLINE_S:g} s",
                    found="still ports of one",
                )
            time.sleep(0.2)


def _held(node: Node, nics: Sequence[str]) -> list[str]:
    found = node.call(interfaces.listing)
    return [str(one["name"]) for one in found if one["name"] in nics and one["controller"]]
