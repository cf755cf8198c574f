"""What networks of pods are, and their attachments: a part of `drivers.api`, which imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bmwg.drivers.api.protocols import Missing, Node, PlacedNode, PodParts, UndoLog
    from bmwg.drivers.testbed.file import NetworkSpec

JsonValue = Any  # as in drivers.api


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The *intent* of one interface of one workload; the hosting form realizes it (design decision 11).

    `interface` is the name inside the workload; `uplink` the node's NIC that it must reach, or `None` for
    pod-to-pod on one node; `addresses` in prefix notation (v4 and v6); `routes` are `(destination, via)`
    pairs inside the workload; `side` numbers the chain's sides 0 and 1.
    """

    network: str
    interface: str
    side: int
    addresses: tuple[str, ...]
    uplink: str | None = None
    routes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An attachment that stands: the interface inside the workload as it was found there, and its other end.

    `link_kind` is the interface's kind as the kernel names it (`veth`, `macvlan`; `vhost-user` for a socket),
    `addresses` are in prefix notation. `device` is the EAL device by which a DPDK program in the pod takes it
    (an address such as `0000:01:10.0` for a PCI device, empty: an AF_PACKET device of the program's own),
    `socket` the vhost-user socket's path on the node.
    `host_interface` and `host_mac` are its other end on the node, None where there is none; `took_nic` says
    that the interface is the node's NIC itself. `evidence` is for the platform record; it has the keys
    `network` and `interface`, by which the record finds it.
    """

    attachment: Attachment
    link_kind: str
    mac: str
    mtu_octets: int
    addresses: tuple[str, ...]
    host_interface: str | None
    host_mac: str | None
    took_nic: bool
    evidence: Mapping[str, JsonValue]
    device: str = ""
    socket: str = ""

    @classmethod
    def seen(
        cls, attachment: Attachment, network: str, view: Mapping[str, JsonValue], **evidence: JsonValue
    ) -> Attached:
        """Return an interface of the kernel's by its view (`datapath.attachment_view`), and more evidence."""
        inside, other, uplink = view["inside"], view["host_side"] or {}, attachment.uplink
        return cls(
            attachment=attachment,
            link_kind=inside["kind"],
            mac=inside["mac"],
            mtu_octets=inside["mtu_octets"],
            addresses=tuple(inside["addresses"]),
            host_interface=other.get("name"),
            host_mac=other.get("mac"),
            took_nic=uplink is not None and uplink not in view.get("node_interfaces", (uplink,)),
            evidence={"network": network, **evidence, "interface": inside, "host_side": view["host_side"]},
        )


class NetworkDriver(Protocol):
    """One option of `networks:`, found by its `driver` among the entry points `bmwg.drivers.network`.

    It is made of the option as the testbed file has it (ConfigError NET-04 when a key is missing or wrong),
    the run's folder and its ledger, and keeps no state of its own. `probe` tries the option on a node and
    returns what is missing there; `transit` says why frames that pass through a workload cannot reach it
    (None: they can); `describe` returns the option's evidence on a node: versions, packages, hashes.
    `probe_uplink` is asked of each NIC that the option takes, for what it must have beyond being there.

    `attach` gives the workload of process `pod_pid` the interface that the attachment names, and takes it
    away on leaving; the undo stands in the ledger before. `netns` is a path that holds the workload's network
    namespace also when its process has ended, `bridge` a name for a bridge where the option makes one.
    `check` returns evidence that the attachment stands.

    `hands_over` is what the workload gets: `netdev`, `vhost-user`, `af-xdp`, `vfio` or `combined`
    (`network/handover.py`, where a network of netdevs finds the two methods that follow). `pod_parts` tells,
    before the pod is made, what it must see of the node; `settled` waits, once the workload's program runs
    (process `pod_pid`), until the attachment carries frames, and returns evidence of what is then so.

    `uses` tells, by name, what each of the network's own processes on a node has used since it began: `pid`,
    `at_ns` (monotonic), `cpu_ns`, `memory_octets` and, where threads poll, their `polling_cpu_ns` and numbers
    (`pollers`).

    What follows is for networks with programs of their own; `NetworkDefaults` has it for all others.
    `own_router`: these programs are the router of its pods, with no part of the node's kernel. `ipv4_alone`:
    its pods have addresses of IPv4 only. `enforces_policies`: a NetworkPolicy takes effect without the
    toolkit's agent. `on_one_node` says what carries frames between pods of one node (empty: what `uplink`
    says). `joined` waits until the network's daemons know these pods, and returns what they know of them.
    """

    spec: NetworkSpec
    hands_over: ClassVar[str]
    own_router: ClassVar[bool]
    ipv4_alone: ClassVar[bool]
    enforces_policies: ClassVar[bool]
    on_one_node: ClassVar[str]

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None: ...
    def probe(self, node: Node) -> Missing | None: ...
    def probe_uplink(self, node: Node, nic: str) -> Missing | None: ...
    def transit(self) -> Missing | None: ...
    def describe(self, node: Node) -> dict[str, JsonValue]: ...
    def attach(
        self,
        node: PlacedNode,
        attachment: Attachment,
        *,
        pod_id: str,
        pod_pid: int,
        bridge: str,
        netns: str = "",
    ) -> AbstractContextManager[Attached]: ...
    def check(self, node: Node, attached: Attached, *, pod_id: str) -> dict[str, JsonValue]: ...
    def pod_parts(self, node: PlacedNode, pod_id: str) -> AbstractContextManager[PodParts]: ...
    def settled(
        self, node: Node, attached: Attached, *, pod_id: str, pod_pid: int
    ) -> dict[str, JsonValue]: ...
    def uses(self, node: Node) -> dict[str, JsonValue]: ...
    def joined(self, pods: Sequence[tuple[PlacedNode, Attached]]) -> dict[str, JsonValue]: ...


@runtime_checkable
class PluginNetwork(NetworkDriver, Protocol):
    """A network that a CNI configuration describes, so that a kubelet can attach it.

    `conflist` is the configuration of one attachment, `plugin_dir` the node's folder of its plugins (empty:
    the distribution's). `attached_by_plugin` returns evidence that a plugin's result has no place for.
    """

    plugin_dir: str

    def conflist(self, attachment: Attachment, *, bridge: str) -> dict[str, JsonValue]: ...
    def attached_by_plugin(self, node: Node, attached: Attached, *, bridge: str) -> dict[str, JsonValue]: ...


@runtime_checkable
class ClusterNetwork(NetworkDriver, Protocol):
    """A network that joins the pods of two nodes by itself: `between_nodes` says how.

    `mtu_octets` is the MTU of pods on a node. `joining` joins the bridges of two nodes while it is entered,
    where nothing else does; its `ends` are node, NIC and the NIC's address in prefix notation.
    """

    @property
    def between_nodes(self) -> str: ...
    def mtu_octets(self, node: Node) -> int: ...
    def joining(
        self, ends: Sequence[tuple[PlacedNode, str, str]], *, bridge: str
    ) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A forwarding rule: frames to these destinations (prefixes) go from one member of a network to another.

    A member is an attachment, or the node's NIC by its name.
    """

    incoming: Attached | str
    outgoing: Attached | str
    destinations: tuple[str, ...]


@runtime_checkable
class SteeringNetwork(NetworkDriver, Protocol):
    """A network that can lead frames by their destination, between more than two members of one bridge.

    `steer` replaces whatever led frames on that bridge before; what no way is for goes nowhere. It returns
    what then stands, as the network itself tells it. All of it goes with the attachments.
    """

    def steer(self, node: Node, *, bridge: str, ways: Sequence[Way]) -> list[JsonValue]: ...


@runtime_checkable
class SocketNetwork(NetworkDriver, Protocol):
    """A network that serves the tester's own ports at vhost-user sockets, with no workload between them.

    `sockets` joins two ports on a node while it is entered: two of these names at sockets, or one and the NIC
    that is named. It yields the paths of the sockets there, with evidence. Frames that enter by one port
    leave by the other.
    """

    def sockets(
        self, node: PlacedNode, names: Sequence[str], *, bridge: str, nic: str = ""
    ) -> AbstractContextManager[tuple[Mapping[str, str], dict[str, JsonValue]]]: ...
