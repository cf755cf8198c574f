"""Pods with an AF_XDP socket on the node's NIC: its XDP program redirects what enters to the pod's socket.

The XDP sub-type of the eBPF model by a user-space library, draft-ietf-bmwg-containerized-infra 5.1.2.2: what
the AF_XDP device plug-in and CNI do for a cluster. The host-device plugin hands the NIC over to the pod, and
DPDK's AF_XDP device there loads the program and opens the socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    NetworkDriver,
    Node,
    PlacedNode,
    PodParts,
    UndoLog,
)
from bmwg.drivers.network import xsk
from bmwg.drivers.network.cni_network import CniNetwork, by_host_device
from bmwg.drivers.network.handover import AF_XDP
from bmwg.drivers.network.options import Options
from bmwg.drivers.ports import nic_rings
from bmwg.drivers.testbed.file import NetworkSpec

BUSY_BUDGET_FRAMES = 64  # the DPDK device's own, when it busy-polls
_CAPABILITIES = ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN")  # to load and attach a program


class AfXdpNetwork(CniNetwork):
    """One option of `networks:` with `driver: af-xdp`. Keeps no state of its own."""

    hands_over: ClassVar[str] = AF_XDP

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        options = Options(spec)
        self._busy_poll = options.switch("busy_poll", default=False)
        options.finish()
        super().__init__(by_host_device(spec, "af-xdp"), run_dir=run_dir, undo=undo)

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the plugin and the option's settings."""
        return {**super().describe(node), "driver": "af-xdp", "af_xdp": {"busy_polling": self._busy_poll}}

    @contextmanager
    def pod_parts(self, node: PlacedNode, pod_id: str) -> Iterator[PodParts]:
        """The pod may load programs: its own device does so."""
        yield PodParts(capabilities=_CAPABILITIES)

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
        """Hand the NIC to the pod, and name the device by which a program there takes it."""
        node.call(
            nic_rings.require_one_queue,
            interface=str(attachment.uplink),
            where=f"network {self.spec.name} on node {node.name}",
        )
        budget = BUSY_BUDGET_FRAMES if self._busy_poll else 0
        named = {"pod_id": pod_id, "pod_pid": pod_pid, "bridge": bridge, "netns": netns}
        with super().attach(node, attachment, **named) as attached:  # type: ignore[arg-type]
            device = (
                f"net_af_xdp{attachment.side},iface={attachment.interface},start_queue=0,queue_count=1,"
                f"busy_budget={budget}"
            )
            yield replace(attached, device=device)

    def settled(self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int) -> dict[str, JsonValue]:
        """Return how the AF_XDP device was asked for, and what the kernel says of the sockets of the process.

        The XDP program itself is in the pod's record. A process holds the sockets of all its devices.
        """
        return {
            "af_xdp": {
                "busy_polling": self._busy_poll,
                "busy_budget_frames": BUSY_BUDGET_FRAMES if self._busy_poll else 0,
                "device": attached.device,
                "sockets": node.call(xsk.sockets, pid=pod_pid),
            }
        }


_: type[NetworkDriver] = AfXdpNetwork
