"""What drivers are: the protocols and records that third-party drivers import, and nothing else.

A driver does one trial or one act and counts. It never searches, repeats, judges or rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bmwg.drivers.api_pods import FunctionLink as FunctionLink
from bmwg.drivers.api_pods import Pod as Pod
from bmwg.drivers.api_pods import PodFunction as PodFunction
from bmwg.drivers.api_pods import PodNetwork as PodNetwork
from bmwg.drivers.api_pods import PodParts as PodParts
from bmwg.drivers.api_pods import PodRuntime as PodRuntime
from bmwg.drivers.api_pods import ProgramPlace as ProgramPlace
from bmwg.drivers.api_workload import WorkloadDriver as WorkloadDriver

if TYPE_CHECKING:  # every agent imports this module, and reading testbed files is most of its start
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.testbed import NetworkSpec, Testbed
    from bmwg.methodology.capabilities import Capability
    from bmwg.methodology.paths import PathKind
    from bmwg.methodology.records import Cell, TrialResult, TrialSpec  # noqa: F401  (in a protocol's base)

JsonValue = Any  # builtins only: None, bool, int, float, str, list, dict with str keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A capability that the machine lacks: what, why (as found) and the line that would supply it."""

    what: str
    reason: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TesterPort:
    """One port of the tester, as a driver needs it.

    `device` is an interface name (net_af_xdp, net_af_packet), a socket path (virtio_user, memif) or a PCI
    address; `netns` the path of the network namespace it lives in (`/proc/<pid>/ns/net`), `None` for the
    initial one, which only a declared lab port may use. `ipv4` and `ipv6` are the port's own addresses, in
    prefix notation, for which it answers ARP and ND. `gateway_ipv4` and `gateway_ipv6` are the next hops
    whose MAC it resolves; `peer_mac` fixes the destination MAC instead (no resolution). `host_ipv4` and
    `host_ipv6` are the first addresses that frames *towards this port* carry as destination. `vlan_id` tags
    the ARP and ND questions by which the next hops are resolved. `networks_ipv4` and `networks_ipv6` are the
    first of the consecutive networks *behind this port*, in prefix notation, to which frames towards it may
    be spread (None: the path has no routes for any).
    """

    __test__ = False  # not a pytest class

    name: str
    io: str
    device: str
    netns: str | None = None
    mac: str | None = None
    ipv4: str | None = None
    ipv6: str | None = None
    gateway_ipv4: str | None = None
    gateway_ipv6: str | None = None
    peer_mac: str | None = None
    vlan_id: int | None = None
    networks_ipv4: str | None = None
    networks_ipv6: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLimits:
    """What attached ports can carry. A spec outside is refused by name, never truncated.

    A trial that needs a capability that is not here is not sent: its cell is not assessed.
    """

    min_frame_octets: int
    max_frame_octets: int
    capabilities: frozenset[Capability] = field(default_factory=frozenset)


@runtime_checkable
class TrafficDriver(WorkloadDriver["tuple[TesterPort, TesterPort]", "TrialSpec", "TrialResult"], Protocol):
    """The workload of frames: sends one trial and counts it. It never searches, retries or judges.

    `for_testbed` makes it from a testbed file; counters must stand still for `drain_s` seconds after a trial
    before they are read. It stays up over attachments; `attach` binds two ports (after `detach` of the former
    two), resolves the next hops, and raises TestbedError, having sent nothing, on a port that is not allowed.
    `drivers.traffic.of_frames` has what all of them have in common.
    """

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> TrafficDriver: ...
    def attach(self, ports: tuple[TesterPort, TesterPort], /) -> TrafficLimits: ...


@runtime_checkable
class Node(Protocol):
    """A place where code runs: a namespace node, a host over SSH, a VM guest.

    `call` runs the module-level function `"package.module:function"` of this package in a Python process *on
    the node*, with builtins in and builtins out, under a deadline; a ToolkitError raised there is raised
    here. Nothing may assume that two nodes share a file system or a clock.
    """

    name: str

    def call(self, function: str, /, *, deadline_s: float = 30.0, **arguments: JsonValue) -> JsonValue: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


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


class UndoLog(Protocol):
    """The run's ledger, as drivers need it: an undo is written before the act, ticked off after it."""

    def before(self, kind: str, place: Mapping[str, JsonValue] = ..., /, **arguments: JsonValue) -> int:
        """Store durably how to undo what is about to be made; return the entry's number."""

    def done(self, number: int, /) -> None:
        """Tick the entry off: it is undone, or was never made."""


class PlacedNode(Node, Protocol):
    """A node that can say, as data, where it is, so that an undo finds it after this process has ended."""

    @property
    def place(self) -> Mapping[str, JsonValue]:
        """The node's kind, name and whatever finds it again."""


class HostNode(PlacedNode, Protocol):
    """A node that pods can stand on: a namespace of this machine, or a guest with our agent inside.

    `pid` and `start_ticks` (clock ticks since boot) are its agent's, as the kernel there counts them.
    """

    pid: int
    start_ticks: int


class NetworkDriver(Protocol):
    """One option of `networks:`, found by its `driver` among the entry points `bmwg.drivers.network`.

    It is made of the option as the testbed file has it (ConfigError NET-04 when a key is missing or wrong),
    the run's folder and its ledger, and keeps no state of its own. `probe` tries the option on a node and
    returns what is missing there; `transit` says why frames that pass through a workload cannot reach it
    (None: they can); `describe` returns the option's evidence on a node: versions, packages, hashes. A driver
    that needs more of a NIC than its presence has `probe_uplink(node, nic)` too, asked of each of them.

    `attach` gives the workload of process `pod_pid` the interface that the attachment names, and takes it
    away on leaving; the undo stands in the ledger before. `netns` is a path that holds the workload's network
    namespace also when its process has ended, `bridge` a name for a bridge where the option makes one.
    `check` returns evidence that the attachment stands.

    `hands_over` is what the workload gets: `netdev`, `vhost-user`, `af-xdp`, `vfio` or `combined`
    (`network/handover.py`, where a network of netdevs finds the two methods that follow). `pod_parts` tells,
    before the pod is made, what it must see of the node; `settled` waits, once the workload's program runs
    (process `pod_pid`), until the attachment carries frames, and returns evidence of what is then so.

    `uses` tells, by name, what each of the network's own processes on a node has used since it began: `pid`,
    `at_ns` (monotonic), `cpu_ns`, `memory_octets` and, where threads poll, their `polling_cpu_ns`.
    """

    spec: NetworkSpec
    hands_over: ClassVar[str]

    def __init__(self, spec: NetworkSpec, *, run_dir: Path, undo: UndoLog) -> None: ...
    def probe(self, node: Node) -> Missing | None: ...
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What enters by one member of a network for these destinations (prefixes) leaves by another one.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a path driver built: the two ports that traffic enters and leaves by, and evidence.

    `evidence` goes to platform.json: rendered CNI configuration, plugin hashes, results, bridge ports, where
    forwarding runs (kernel thread, pod), offload settings made.
    """

    ports: tuple[TesterPort, TesterPort]
    evidence: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEnd:
    """An end of a path where programs run, a pod or a host: its kernel has `address` on `interface`.

    `cpus` is a list such as `0,2` of CPUs that a program is put on, `cgroup` the one that it joins; both are
    empty for a pod, whose own say it.
    """

    pod: ProgramPlace
    interface: str
    address: str
    cpus: str = ""
    cgroup: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """An interface that lies on a path, from its first end to its second.

    `at` says which one without a name that is drawn anew at each deployment. It is in the namespace of
    `place`; `forward` is the counter that tells what goes forward, `tx` or `rx`.
    """

    at: str
    place: Node | Pod
    interface: str
    forward: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenPods:
    """What a path built between two pods, and the interfaces on its way in their order.

    `more` are further pods of the same network, by turns beside the first and beside the second.
    """

    ends: tuple[PodEnd, PodEnd]
    crossed: tuple[Crossed, ...]
    evidence: Mapping[str, JsonValue]
    more: tuple[PodEnd, ...] = ()


class PathDriver(Protocol):
    """Deploys one path (wire, node, pod chain, pod to pod) and removes it on exit, in reverse order.

    It is made of a cell and the bed that the run has open, and is found by the name of its `kind` among the
    entry points `bmwg.drivers.path`. `probe` returns what machine or testbed lacks for the cell and builds
    nothing that stays; `deploy` raises TestbedError PATH-02 when something is missing.
    """

    kind: ClassVar[PathKind]

    def __init__(self, cell: Cell, bed: Bed) -> None: ...
    def probe(self) -> Missing | None: ...
    def deploy(self) -> AbstractContextManager[Deployment]: ...


@runtime_checkable
class PodPathDriver(PathDriver, Protocol):
    """A path whose ends are pods (`PathKind.ends_in_pods`): whatever runs in pods may go over it.

    `probe_pods` and `between_pods` are `probe` and `deploy` with the pods' own kernels at its ends, in place
    of the tester.
    """

    def probe_pods(self) -> Missing | None: ...
    def between_pods(self) -> AbstractContextManager[BetweenPods]: ...
