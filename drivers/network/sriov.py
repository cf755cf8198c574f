"""Pods with a virtual function of the node's NIC (SR-IOV): frames go past the node's kernel.

The SR-IOV model of draft-ietf-bmwg-containerized-infra 5.1.2.3, with the function as an interface of the
pod's kernel. The NIC makes its functions for the deployment and has none after it; the host-device plugin
hands the first one over, as the SR-IOV plugin would. The nodes are namespaces of this machine: a function's
interface is born in the machine's own namespace and goes on to the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    Node,
    PlacedNode,
    UndoLog,
    undone,
)
from bmwg.drivers.network.cni_network import CniNetwork, by_host_device
from bmwg.drivers.network.options import Options
from bmwg.drivers.ports import interfaces, virtual_functions
from bmwg.drivers.testbed.file import NetworkSpec

UNDO_KIND = "virtual_functions"
LINK_KIND = "virtual function"
_MOST = 256  # choice: more functions has no NIC that was read of


class SriovNetwork(CniNetwork):
    """One option of `networks:` with `driver: sriov`. Keeps no state of its own."""

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        self._count = count_of(spec)
        super().__init__(by_host_device(spec, "sr-iov"), run_dir=run_dir, undo=undo)

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: NICs with as many virtual functions, the plugin."""
        return no_nic(node, self._count) or super().probe(node)

    def probe_uplink(self, node: Node, nic: str) -> Missing | None:
        """Return what is missing where this NIC cannot have as many virtual functions."""
        return too_few(node, nic, self._count)

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the plugin and the option's settings."""
        return {**super().describe(node), "driver": "sriov", "settings": {"virtual_functions": self._count}}

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
        """Have the NIC make its functions, and hand the first one to the pod; on leaving there are none."""
        nic = node.call(virtual_functions.of, interface=str(attachment.uplink))
        machine = node.machine  # whose own namespace a function's interface appears in
        remove = partial(machine.call, virtual_functions.remove, address=nic["address"])
        with undone(self._undo, UNDO_KIND, machine.place, remove, address=nic["address"]):
            first, *_ = machine.call(virtual_functions.create, address=nic["address"], count=self._count)
            made = machine.call(virtual_functions.interface_of, address=first)
            name = f"vf{attachment.side}"
            pid = int(node.place["pid"])
            machine.call(interfaces.move, interface=str(made["interface"]), pid=pid, name=name)
            named = {"pod_id": pod_id, "pod_pid": pod_pid, "bridge": bridge, "netns": netns}
            with super().attach(node, replace(attachment, uplink=name), **named) as attached:  # type: ignore[arg-type]
                told = function_evidence(nic, self._count, made)
                if cpus := list(self.spec.dut_cpus):
                    told["interrupts"] = machine.call(
                        virtual_functions.place_interrupts, address=first, cpus=cpus
                    )
                yield replace(
                    attached,
                    attachment=attachment,
                    link_kind=LINK_KIND,
                    evidence={**attached.evidence, **told},
                )


def count_of(spec: NetworkSpec) -> int:
    """Return how many functions a NIC is to make; ConfigError NET-04 for any other setting."""
    options = Options(spec)
    count = options.count("virtual_functions", default=1, least=1, most=_MOST)
    options.finish()
    return count


def no_nic(node: Node, count: int) -> Missing | None:
    """Return what is missing where no NIC of the node can have so many functions."""
    if any(total >= count for total in node.call(virtual_functions.capable).values()):
        return None
    return Missing(
        what=f"a NIC with {count} virtual functions",
        reason="no interface of the node has so many (SR-IOV)",
        mend="sh setup/sriov.sh, then bmwg run --in-guest --testbed testbeds/guest-sriov.yaml",
    )


def too_few(node: Node, nic: str, count: int) -> Missing | None:
    """Return what is missing where a NIC of the node cannot have so many functions; no other NIC helps."""
    totals = node.call(virtual_functions.capable)
    if totals.get(nic, 0) >= count:
        return None
    others = ", ".join(f"{name} has {total}" for name, total in totals.items())
    return Missing(
        what=f"{count} virtual functions of {nic}",
        reason=f"that NIC of node {node.name} has {totals.get(nic) or 'none'} (SR-IOV); {others}",
        mend="cable the tester to a NIC that has them (`links` of the testbed file)",
    )


def function_evidence(
    nic: Mapping[str, JsonValue], configured: int, made: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return which function of which NIC a pod has, by which driver, and its IOMMU group."""
    return {
        "mapping": {"nic": nic["interface"]},
        "virtual_function": {
            "nic": nic["interface"],
            "nic_address": nic["address"],
            "nic_driver": nic["driver"],
            "total": nic["total"],
            "configured": configured,
            "address": made["address"],
            "driver": made["driver"],
            "iommu_group": made["iommu_group"],
        },
    }


_: type[NetworkDriver] = SriovNetwork
