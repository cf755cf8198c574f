"""The links of a bed: pairs are made, cables borrowed, and the NICs of PCI ports taken for the tester."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bmwg.drivers import registry
from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.cables import End, cabled, handed_over, looked_at
from bmwg.drivers.paths.cables import require_as_told
from bmwg.drivers.testbed.file import CABLE, TESTER, VHOST_USER, Endpoint, Testbed
from bmwg.drivers.testbed.medium import require_rate
from bmwg.drivers.traffic.embedded.ports import PCI

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed

Nic = Mapping[str, JsonValue]


def pci_needs(testbed: Testbed) -> dict[Endpoint, int]:
    """Return the ends of cables that are the tester's PCI ports, with what it needs in hugepages (MiB).

    None of a tester that opens no NIC of its machine.
    """
    if testbed.tester.io != PCI:
        return {}
    memory_mib = registry.load(registry.TRAFFIC, testbed.tester.driver).pci_memory_mib(testbed)
    if memory_mib is None:
        return {}
    ends = [end for link in testbed.links if link.kind == CABLE for end in (link.a, link.b)]
    return {end: memory_mib for end in ends if end.node == TESTER}


def pci_nics(testbed: Testbed, machine: Calls) -> dict[Endpoint, dict[str, JsonValue]]:
    """Return what the NICs of the tester's PCI ports are on its machine, before anything is touched.

    Raises what `looked_at` raises for each that a run cannot take.
    """
    return looked_at(pci_needs(testbed), machine)


def joined(bed: Bed, stack: ExitStack) -> list[dict[str, JsonValue]]:
    """Join what the testbed file's links name; `stack` gives it back. Returns the evidence of each link."""
    told = []
    for link in bed.testbed.links:
        a, b = (
            End(node=bed.node(end.node), interface=end.interface, nic=bed.nics.get(end, {}))
            for end in (link.a, link.b)
        )
        if link.kind == CABLE:
            made = stack.enter_context(cabled(a, b, bed.undo, mtu_octets=bed.mtu_octets))
            require_rate(bed.testbed, made)
        elif link.kind == VHOST_USER:  # made by wire and vSwitch
            made = {"kind": link.kind, "a": str(link.a), "b": str(link.b)}
        else:
            made = links.connect(a.node, a.interface, b.node, b.interface, mtu_octets=bed.mtu_octets)
        told.append(made)
    require_as_told(bed)
    if bed.nics:
        handed_over(bed.nics.values(), bed.tester.machine)
    return told


def taken(bed: Bed) -> list[dict[str, JsonValue]]:
    """Return what the NICs of the tester's PCI ports were when their links were seen."""
    ends = [end for made in bed.links if made["kind"] == CABLE for end in (made["a"], made["b"])]
    return [end for end in ends if "address" in end]
