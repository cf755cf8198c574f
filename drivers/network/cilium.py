"""Cilium as a network option: its agent's programs at the hooks of each pod's device carry the frames.

Pods of one node are joined by these programs alone; between two nodes their frames are routed as they are
(native routing).
`pods.runtime: kubernetes` starts the agent on each node of a cluster of the run's own. `options`: `interface`
(the nodes' NIC towards each other).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    ClusterNetwork,
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    UndoLog,
)
from bmwg.drivers.kubernetes import cilium
from bmwg.drivers.network.cni_network import CniNetwork
from bmwg.drivers.network.options import Options, refuse_plugin
from bmwg.drivers.paths import uplinks
from bmwg.drivers.paths.addresses import host
from bmwg.drivers.testbed.file import NetworkSpec


class CiliumNetwork(CniNetwork):
    """One option of `networks:` with `driver: cilium`, attached by Cilium's own CNI plugin."""

    ipv4_alone: ClassVar[bool] = True  # the agent has one router's address, of IPv4
    own_router: ClassVar[bool] = True  # its programs answer for the pods' router
    on_one_node: ClassVar[str] = "Cilium's programs, from the one pod's device to the other's"

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        refuse_plugin(spec, expected="interface below `options`")
        options = Options(spec)
        self.interface = options.text("interface", default="under0")
        options.finish()
        configured = replace(
            spec,
            plugin_dir=cilium.plugin_dir(),
            uplink=uplinks.ROUTED,
            conflist=cilium.conflist("${addresses}"),
        )
        super().__init__(configured, run_dir=run_dir, undo=undo)

    @property
    def between_nodes(self) -> str:
        """How the pods' nodes are joined."""
        return f"Cilium: {cilium.ROUTING} routing"

    def joining(
        self, ends: Sequence[tuple[PlacedNode, str, str]], *, bridge: str
    ) -> AbstractContextManager[None]:
        """Nothing: the agents have routes to each other's pods."""
        return nullcontext()

    def conflist(self, attachment: Attachment, *, bridge: str) -> dict[str, Any]:
        """Return the configuration of one pod: its address alone, for the agent knows no subnet of pods."""
        alone = tuple(f"{host(text)}/32" for text in attachment.addresses if ":" not in text)
        return super().conflist(replace(attachment, addresses=alone), bridge=bridge)

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: its programs, or an agent on this node."""
        found = node.call(cilium.missing)
        if found:
            return Missing(**found)
        awaited = node.call_within(20.0, cilium.ready)
        if not awaited:
            return None
        return Missing(
            what=f"network option {self.spec.name}",
            reason=f"no agent of Cilium serves this node: still awaited is {awaited}",
            mend="pods.runtime: kubernetes, with this node among pods.options.nodes",
        )

    def transit(self) -> Missing | None:
        """A frame that a pod forwards has another's source address, which Cilium's programs drop."""
        return Missing(
            what=f"a forwarding pod on {self.spec.name}",
            reason="Cilium drops what leaves a pod with another source address than the pod's own",
            mend="path p2p or p2p-cluster for this option",
        )

    def mtu_octets(self, node: Node) -> int:
        """Return the MTU that the agent gives routes between pods (octets)."""
        return int(node.call(cilium.effective)["route_mtu_octets"])

    def joined(self, pods: Sequence[tuple[PlacedNode, Attached]]) -> dict[str, JsonValue]:
        """Wait until the agent of each pod's node knows all these pods; return their identities by node.

        Raises DriverError KUBE-43.
        """
        nodes = {node.name: node for node, _ in pods}
        own = {name: node.call(cilium.node_address) for name, node in nodes.items()}
        expected = {
            host(text): own[node.name]
            for node, attached in pods
            for text in attached.attachment.addresses
            if ":" not in text
        }
        return {name: node.call_within(40.0, cilium.knows, pods=expected) for name, node in nodes.items()}

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the plugins as for any CNI option, Cilium's versions, and what its agent says of itself."""
        told = super().describe(node)
        return {
            **told,
            "driver": "cilium",
            **cilium.evidence(),
            "agent": node.call(cilium.effective),
        }


_: type[ClusterNetwork] = CiliumNetwork
