"""flannel as a network option: pods of two nodes, joined by what flanneld makes (VXLAN, or routes by host).

It needs a cluster, in whose API flanneld keeps its leases: `pods.runtime: kubernetes` starts it on each node
of a cluster of the run's own. `options`: `backend` (vxlan, host-gw), `interface` (the nodes' NIC towards
each other).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import (
    Attachment,
    ClusterNetwork,
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    UndoLog,
)
from bmwg.drivers.kubernetes import flannel
from bmwg.drivers.network.cni_network import CniNetwork
from bmwg.drivers.network.options import Options, refuse_plugin
from bmwg.drivers.paths import uplinks
from bmwg.drivers.testbed.file import NetworkSpec


class FlannelNetwork(CniNetwork):
    """One option of `networks:` with `driver: flannel`, attached by flannel's own CNI plugin."""

    ipv4_alone: ClassVar[bool] = True  # flannel here has leases of IPv4, and so have its pods

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        refuse_plugin(spec, expected="backend and interface below `options`")
        options = Options(spec)
        self.backend = options.choice("backend", flannel.BACKENDS)
        self.interface = options.text("interface", default="under0")
        options.finish()
        configured = replace(
            spec,
            plugin_dir=flannel.plugin_dir(),
            uplink=uplinks.ROUTED,
            conflist=flannel.conflist("${bridge}", "${addresses}"),
        )
        super().__init__(configured, run_dir=run_dir, undo=undo)

    @property
    def between_nodes(self) -> str:
        """How the pods' nodes are joined."""
        return f"flannel: {self.backend}"

    def joining(
        self, ends: Sequence[tuple[PlacedNode, str, str]], *, bridge: str
    ) -> AbstractContextManager[None]:
        """Nothing: flanneld has joined the nodes."""
        return nullcontext()

    def conflist(self, attachment: Attachment, *, bridge: str) -> dict[str, Any]:
        """Return the configuration of one pod; flannel here has leases of IPv4, and so have its pods."""
        ipv4 = tuple(text for text in attachment.addresses if ":" not in text)
        return super().conflist(replace(attachment, addresses=ipv4), bridge=bridge)

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: its programs, or flanneld on this node."""
        found = node.call(flannel.missing)
        if found:
            return Missing(**found)
        if node.call(flannel.lease):
            return None
        return Missing(
            what=f"network option {self.spec.name}",
            reason="no flanneld has a lease on this node",
            mend="pods.runtime: kubernetes, with this node among pods.options.nodes",
        )

    def transit(self) -> Missing | None:
        """flannel joins pods; a node's NIC towards the tester has no part in it."""
        return Missing(
            what=f"a forwarding pod on {self.spec.name}",
            reason="flannel joins the pods of nodes; the NICs towards the tester are none of its members",
            mend="path p2p-cluster for this option",
        )

    def mtu_octets(self, node: Node) -> int:
        """Return the MTU that flanneld gives pods of a node (octets)."""
        return int(node.call(flannel.lease).get("FLANNEL_MTU", 0))

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the plugins as for any CNI option, the backend, flanneld's version and what it wrote."""
        told = super().describe(node)
        return {
            **told,
            "driver": "flannel",
            **flannel.evidence({"backend": self.backend}),
            "mtu_octets": self.mtu_octets(node),
        }


_: type[ClusterNetwork] = FlannelNetwork
