"""Pods joined by Open vSwitch without DPDK: kernel interfaces as ports of a switch of the run's own.

Our own attachment over `ovs-vsctl`, in the manner of OpenStack's Kuryr: a veth pair, one end in the pod, the
other an access port. Two nodes are joined by VLAN, or by a tunnel: VXLAN, GRE or GENEVE. The datapath is
`netdev`, in user space; the kernel's is another one, and where a kernel has none it is not measured
(docs/adr/0401). `options`: `join` (vlan, vxlan, gre, geneve), `vlan`, `vni`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.calls import name_of
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
from bmwg.drivers.network import datapath, ebpf_node, ovs_parts, ovs_switch, ovs_system
from bmwg.drivers.network.handover import NetdevHandover
from bmwg.drivers.network.options import Options
from bmwg.drivers.network.ovs_dpdk import vswitch_owner
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.nodes import inside as hosting_inside
from bmwg.drivers.testbed.file import NetworkSpec

VLAN = "vlan"
_MTU_OCTETS = 1500
_TAG, _VNI = 254, 2544  # choice: any of 12 and of 24 bits


class OvsNetwork(NetdevHandover):
    """One option of `networks:` with `driver: ovs`. Keeps no state of its own."""

    on_one_node: ClassVar[str] = "a bridge of Open vSwitch (netdev)"  # joins pods of one node as well

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        options = Options(spec)
        self.join = options.choice("join", (VLAN, *ovs_system.OVERHEAD_OCTETS))
        self._tag = options.count("vlan", default=_TAG, least=1, most=4094) if self.join == VLAN else 0
        self._vni = (
            options.count("vni", default=_VNI, least=1, most=(1 << 24) - 1) if self.join != VLAN else 0
        )
        options.finish()
        if spec.uplink != "none":
            raise options.refusal("uplink", expected="none: the switch itself joins pods", found=spec.uplink)
        self._config = ovs_system.config(list(spec.dut_cpus or (0,)))
        self.spec = spec
        self._undo = undo
        self._owner = vswitch_owner(run_dir)

    @property
    def between_nodes(self) -> str:
        """How the pods' nodes are joined."""
        return f"Open vSwitch (netdev): {self.join}"

    def mtu_octets(self, node: Node) -> int:
        """Return the MTU of pods (octets)."""
        return _MTU_OCTETS - ovs_system.OVERHEAD_OCTETS.get(self.join, 0)

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the programs."""
        return Missing.told(node.call(ovs_parts.probe))

    def transit(self) -> Missing | None:
        """It joins pods; a node's NIC towards the tester has no part in it."""
        return Missing(
            what=f"a forwarding pod on {self.spec.name}",
            reason="this switch joins pods; the NICs towards the tester are none of its ports",
            mend="`driver: ovs-dpdk`, whose ports are NIC and pod",
        )

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the switch's program and versions, and the option's settings."""
        return {
            **self.named("ovs"),
            "vswitch": node.call(ovs_parts.describe),
            "datapath": "netdev, ports by packet sockets",
            "settings": {"join": self.join, "vlan": self._tag, "vni": self._vni},
        }

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
        """Make a veth pair into the pod, its end on the node an access port; undo both on leaving."""
        host = f"bmwg{zlib.crc32(f'{pod_id}/{attachment.interface}'.encode()):08x}"
        link = self._undo.before("interface", node.place, interface=host)
        processes = self._undo.before("owner", node.place, owner=self._owner)
        try:
            node.call(
                ebpf_node.add_pair,
                host=host,
                pid=pod_pid,
                interface=attachment.interface,
                addresses=list(attachment.addresses),
                mtu_octets=self.mtu_octets(node),
            )
            offloads = node.call(
                hosting_inside.run,
                pid=pod_pid,
                function=name_of(ovs_system.finish),
                arguments={"interface": attachment.interface},
            )
            made = node.call_within(
                CALL_DEADLINE_S,
                ovs_system.add,
                config=self._config,
                owner=self._owner,
                bridge=bridge,
                port=host,
                tag=self._tag,
            )
            view = node.call(
                datapath.attachment_view, netns=f"/proc/{pod_pid}/ns/net", interface=attachment.interface
            )
            yield Attached.seen(
                attachment,
                self.spec.name,
                view,
                mapping={"bridge": bridge, "vswitch_port": host, "access_vlan": made["tag"]},
                offloads_in_the_pod=offloads,
                vswitch_start_s=made["vswitch_start_s"],
            )
        finally:
            node.call_within(CALL_DEADLINE_S, ovs_system.remove, owner=self._owner, bridge=bridge, port=host)
            self._undo.done(processes)
            self._undo.done(link)

    @contextmanager
    def joining(self, ends: Sequence[tuple[PlacedNode, str, str]], *, bridge: str) -> Iterator[None]:
        """Join the bridges by a trunk of one VLAN, or by a tunnel between the NICs' addresses."""
        with ExitStack() as stack:
            for (node, nic, local), (_, _, remote) in zip(ends, reversed(ends), strict=True):
                stack.callback(node.call_within, CALL_DEADLINE_S, ovs_system.apart, nic=nic)
                if self.join == VLAN:
                    node.call_within(CALL_DEADLINE_S, ovs_system.trunk, bridge=bridge, nic=nic, tag=self._tag)
                else:
                    node.call_within(
                        CALL_DEADLINE_S,
                        ovs_system.tunnel,
                        technique=self.join,
                        bridge=bridge,
                        nic=nic,
                        local=local,
                        remote=remote.partition("/")[0],
                        vni=self._vni,
                        mtu_octets=_MTU_OCTETS,
                    )
            yield

    def uses(self, node: Node) -> dict[str, JsonValue]:
        """Return what the switch has used."""
        return node.call_within(CALL_DEADLINE_S, ovs_switch.uses)

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Return the switch's ports as its datapath has them."""
        bridge = attached.evidence["mapping"]["bridge"]
        return {"checked": True, **node.call_within(CALL_DEADLINE_S, ovs_system.standing, bridge=bridge)}


_: type[ClusterNetwork] = OvsNetwork
