"""Pods joined by Open vSwitch with DPDK: vhost-user sockets in the pods, polling threads on the node.

The user-space model of draft-ietf-bmwg-containerized-infra 5.1.2.1. The node's NIC is a port of the switch by
DPDK's AF_PACKET or AF_XDP device. The switch serves the sockets (docs/adr/0270).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    Node,
    PlacedNode,
    PodParts,
    SocketNetwork,
    SteeringNetwork,
    UndoLog,
    Way,
    undone,
)
from bmwg.drivers.network import ovs_flows, ovs_obstacle, ovs_parts, ovs_switch, ovs_tools
from bmwg.drivers.network.handover import VHOST_USER, NetworkDefaults
from bmwg.drivers.network.options import Options
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.nodes import programs
from bmwg.drivers.nodes.links import mac_of
from bmwg.drivers.testbed.file import NetworkSpec

IN_POD = "/run/bmwg-vhost"
MTU_OCTETS = 1500  # of every port, as a vSwitch has it unless mtu_request says otherwise
_MAX_SOCKET_OCTETS = 107  # sun_path without the final zero


class OvsDpdkNetwork(NetworkDefaults):
    """One option of `networks:` with `driver: ovs-dpdk`. Keeps no state of its own."""

    hands_over: ClassVar[str] = VHOST_USER

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None:
        options = Options(spec)
        pmd_cpus = options.cpus("pmd_cpus", default=spec.dut_cpus[:1] or (0,), among=spec.dut_cpus)
        self._in_pod = options.text("socket_dir", default=IN_POD)
        self._config: dict[str, Any] = {
            "cpus": list(spec.dut_cpus or pmd_cpus),
            "pmd_cpus": list(pmd_cpus),
            "nic_port": options.choice("nic_port", ("af_packet", "af_xdp")),
            "rx_queues": options.count("rx_queues", default=1, least=1, most=64),
            "hugepages_2mi": options.count("hugepages_2mi", default=0, least=0, most=1 << 20),
            "hugepages_1gi": options.count("hugepages_1gi", default=0, least=0, most=1 << 10),
            "pmd_max_sleep_us": options.count("pmd_max_sleep_us", default=0, least=0, most=10_000),
            "emc_insert_inverse_probability": options.count(
                "emc_insert_inverse_probability", default=100, least=0, most=(1 << 32) - 1
            ),
            "smc": options.switch("smc", default=False),
        }
        options.finish()
        least_pages = ovs_switch.MEMORY_MIB // ovs_switch.HUGEPAGE_MIB
        if 0 < self._config["hugepages_2mi"] < least_pages:
            raise options.refusal(
                "hugepages_2mi",
                expected=f"0 (ordinary memory) or at least {least_pages}",
                found=str(self._config["hugepages_2mi"]),
            )
        if self._config["hugepages_1gi"] and self._config["hugepages_2mi"]:
            raise options.refusal(
                "hugepages_1gi", expected="0 beside hugepages_2mi", found=str(self._config["hugepages_1gi"])
            )
        longest = f"{self._in_pod}/{_port('x', 'net0')}"
        if not longest.startswith("/") or len(longest.encode()) > _MAX_SOCKET_OCTETS:
            raise options.refusal(
                "socket_dir",
                expected=f"an absolute folder whose sockets' paths have at most {_MAX_SOCKET_OCTETS} octets",
                found=f"{len(longest.encode())} octets: {longest}",
            )
        self.spec = spec
        self._undo = undo
        self._owner = vswitch_owner(run_dir)

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the programs, hugepages, a CPU that nobody else's switch polls."""
        found = node.call(ovs_parts.probe) or node.call(
            ovs_obstacle.obstacle,
            cpus=self._config["pmd_cpus"],
            hugepages_2mi=self._config["hugepages_2mi"],
            hugepages_1gi=self._config["hugepages_1gi"],
            owner=self._owner,
        )
        return Missing.told(found)

    def transit(self) -> Missing | None:
        """Every frame passes: the bridges forward by port alone."""
        return None

    def describe(self, node: Node) -> dict[str, JsonValue]:
        """Return the switch's program and versions, and the option's settings."""
        return {
            **self.named("ovs-dpdk"),
            "vswitch": node.call(ovs_parts.describe),
            "settings": dict(self._config),
        }

    @contextmanager
    def pod_parts(self, node: PlacedNode, pod_id: str) -> Iterator[PodParts]:
        """The pod sees the folder of the switch's sockets."""
        source = str(ovs_tools.FOLDER / ovs_switch.SOCKETS)
        node.call(programs.write_files, folder=source, files={})
        yield PodParts(binds=((source, self._in_pod, True),))

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
        """Add a vhost-user port, and the uplink, to a bridge of the switch; remove both on leaving."""
        port = _port(pod_id, attachment.interface)
        named: dict[str, JsonValue] = {
            "owner": self._owner,
            "bridge": bridge,
            "nic": attachment.uplink or "",
            "port": port,
        }
        remove = partial(node.call_within, CALL_DEADLINE_S, ovs_switch.remove, **named)
        with undone(self._undo, "owner", node.place, remove, owner=self._owner):
            made = node.call_within(CALL_DEADLINE_S, ovs_switch.add, config=self._config, **named)
            mac = mac_of(pod_id, attachment.interface)
            yield Attached(
                attachment=attachment,
                link_kind=VHOST_USER,
                mac=mac,
                mtu_octets=MTU_OCTETS,
                addresses=attachment.addresses,
                host_interface=None,
                host_mac=None,
                took_nic=False,
                device=f"virtio_user{attachment.side},path={self._in_pod}/{port},mac={mac},queues=1,queue_size=1024",
                socket=made["socket"],
                evidence={
                    "network": self.spec.name,
                    "interface": {
                        "name": attachment.interface,
                        "kind": VHOST_USER,
                        "mac": mac,
                        "mtu_octets": MTU_OCTETS,
                        "transmit_queues": 1,
                        "receive_queues": 1,
                    },
                    "host_side": None,
                    **made,
                },
            )

    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]:
        """Return how the switch serves the port; its peer comes with the pod's program (`settled`)."""
        port = _port(pod_id, attached.attachment.interface)
        return {"checked": True, **node.call_within(CALL_DEADLINE_S, ovs_switch.standing, port=port)}

    def settled(self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int) -> dict[str, JsonValue]:
        """Wait until the pod's program has opened the socket; return what the switch then says."""
        port = _port(pod_id, attached.attachment.interface)
        return {"vswitch": node.call_within(CALL_DEADLINE_S, ovs_switch.connected, port=port)}

    def steer(self, node: Node, *, bridge: str, ways: Sequence[Way]) -> list[JsonValue]:
        """Have the bridge forward by port and destination; return its flows."""
        told = [
            {"from": _member(way.incoming), "to": _member(way.outgoing), "destinations": way.destinations}
            for way in ways
        ]
        return node.call_within(CALL_DEADLINE_S, ovs_flows.steer, bridge=bridge, ways=told)

    @contextmanager
    def sockets(
        self, node: PlacedNode, names: Sequence[str], *, bridge: str, nic: str = ""
    ) -> Iterator[tuple[Mapping[str, str], dict[str, JsonValue]]]:
        """Join vhost-user ports for a tester, and the NIC, by a bridge of the switch; remove all on leaving.

        Yields the paths of their sockets on the node and how the switch serves them.
        """
        entry = self._undo.before("owner", node.place, owner=self._owner)
        told: dict[str, JsonValue] = {"owner": self._owner, "bridge": bridge, "nic": nic}
        try:
            made = [
                node.call_within(CALL_DEADLINE_S, ovs_switch.add, config=self._config, port=name, **told)
                for name in names
            ]
            served = node.call_within(CALL_DEADLINE_S, ovs_switch.settled, port=names[0])
            mine = [{"mtu_octets": MTU_OCTETS, "kind": VHOST_USER, **one} for one in made]
            paths = {name: one["socket"] for name, one in zip(names, made, strict=True)}
            yield paths, {"ports": mine, "served": served}
        finally:
            with ExitStack() as stack:  # each, although another one fails
                for name in reversed(names):
                    remove = partial(node.call_within, CALL_DEADLINE_S, ovs_switch.remove, port=name, **told)
                    stack.callback(remove)
            self._undo.done(entry)

    def uses(self, node: Node) -> dict[str, JsonValue]:
        """Return what the switch has used."""
        return node.call_within(CALL_DEADLINE_S, ovs_switch.uses)


def vswitch_owner(run_dir: Path) -> str:
    """Return the label of the processes of a run's vSwitch."""
    return f"vswitch-{hashlib.sha256(str(run_dir).encode()).hexdigest()[:12]}"


def _port(pod_id: str, interface: str) -> str:
    """Name a pod's port: unique on the switch, and as short as an interface's name."""
    return f"{interface}-{zlib.crc32(pod_id.encode()):08x}"


def _member(member: Attached | str) -> str:
    return member if isinstance(member, str) else str(member.evidence["mapping"]["vswitch_port"])


_: type[SteeringNetwork] = OvsDpdkNetwork
_sockets: type[SocketNetwork] = OvsDpdkNetwork
