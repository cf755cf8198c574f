"""Pods whose program has a virtual function of the node's NIC itself, by VFIO: no kernel touches its frames.

The SR-IOV model of draft-ietf-bmwg-containerized-infra 5.1.2.3 with the functions bound to a driver for DPDK.
The pod sees the folder of VFIO groups; the IOMMU keeps the function within the memory of the pod's program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    PodParts,
    UndoLog,
    undone,
)
from bmwg.drivers.network.handover import VFIO, NetworkDefaults
from bmwg.drivers.network.sriov import LINK_KIND, UNDO_KIND, count_of, function_evidence, no_nic, too_few
from bmwg.drivers.nodes.links import mac_of
from bmwg.drivers.ports import vfio, virtual_functions
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import TestbedError

MTU_OCTETS = 1500  # as DPDK sets a port up unless it is told otherwise
_CAPABILITIES = ("CAP_IPC_LOCK",)  # the device reads and writes the program's memory, which must stay


class SriovVfioNetwork(NetworkDefaults):
    """One option of `networks:` with `driver: sriov-vfio`. Keeps no state of its own."""

    hands_over: ClassVar[str] = VFIO

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        self._count = count_of(spec)
        self.spec = spec
        self._undo = undo

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: NICs with as many virtual functions, vfio-pci, an IOMMU."""
        if lack := no_nic(node, self._count):
            return lack
        return Missing.told(node.call(vfio.no_vfio))

    def probe_uplink(self, node: Node, nic: str) -> Missing | None:
        """Return what is missing where this NIC cannot have as many virtual functions."""
        return too_few(node, nic, self._count)

    def transit(self) -> Missing | None:
        """Every frame passes that has the function's MAC, as those of a forwarder have."""
        return None

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the option's settings; there is no plugin."""
        return {
            **self.named("sriov-vfio"),
            "settings": {"virtual_functions": self._count},
        }

    @contextmanager
    def pod_parts(self, node: PlacedNode, pod_id: str) -> Iterator[PodParts]:
        """The pod sees the VFIO groups, and may keep its memory in place."""
        folder = str(vfio.VFIO_FOLDER)
        yield PodParts(binds=((folder, folder, True),), capabilities=_CAPABILITIES)

    @contextmanager
    def attach(
        self,
        node: PlacedNode,
        attachment: Attachment,
        *,
        pod_id: str,
        pod_pid: int,
        bridge: str,
        netns: str = "",
    ) -> Iterator[Attached]:
        """Have the NIC make its functions and give the first to VFIO; on leaving there are none."""
        nic = node.call(virtual_functions.of, interface=str(attachment.uplink))
        mac = mac_of(pod_id, attachment.interface)
        machine = node.machine
        remove = partial(machine.call, virtual_functions.remove, address=nic["address"])
        with undone(self._undo, UNDO_KIND, machine.place, remove, address=nic["address"]):
            first, *_ = machine.call(virtual_functions.create, address=nic["address"], count=self._count)
            node.call(virtual_functions.set_mac, interface=str(attachment.uplink), number=0, mac=mac)
            made = machine.call(virtual_functions.to_vfio, address=first)
            yield Attached(
                attachment=attachment,
                link_kind=LINK_KIND,
                mac=mac,
                mtu_octets=MTU_OCTETS,
                addresses=attachment.addresses,
                host_interface=None,
                host_mac=None,
                took_nic=False,
                device=first,
                evidence={
                    "network": self.spec.name,
                    "interface": {
                        "name": attachment.interface,
                        "kind": LINK_KIND,
                        "mac": mac,
                        "mtu_octets": MTU_OCTETS,
                        "transmit_queues": 1,
                        "receive_queues": 1,
                    },
                    "host_side": None,
                    **function_evidence(nic, self._count, made),
                },
            )

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Return that the function waits for its program; which one has it tells `settled`."""
        group = int(attached.evidence["virtual_function"]["iommu_group"])
        return {"checked": True, "open_by": node.call(vfio.holders, group=group)}

    def settled(self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int) -> dict[str, JsonValue]:
        """Return that the pod's program alone has the function open; TestbedError VF-05 for another."""
        group = int(attached.evidence["virtual_function"]["iommu_group"])
        found = node.call(vfio.holders, group=group)
        if found != [pod_pid]:
            raise TestbedError(
                "VF-05",
                f"virtual function {attached.device} (group {group})",
                expected=f"process {pod_pid} of the pod has it open",
                found=f"processes {', '.join(map(str, found)) or 'none'}",
            )
        return {"vfio": {"iommu_group": group, "held_by": "the pod's program alone"}}

    def uses(self, node: Node) -> dict[str, JsonValue]:
        """No process of the network's own: the program polls the function."""
        return {}


_: type[NetworkDriver] = SriovVfioNetwork
