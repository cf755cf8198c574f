"""What drivers are: the protocols and records that third-party drivers import, and nothing else.

A driver does one trial or one act and counts. It never searches, repeats, judges or rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypedDict, runtime_checkable

from bmwg.drivers.api.calls import Calls as Calls
from bmwg.drivers.api.calls import CallsInside as CallsInside
from bmwg.drivers.api.networks import Attached as Attached
from bmwg.drivers.api.networks import Attachment as Attachment
from bmwg.drivers.api.networks import ClusterNetwork as ClusterNetwork
from bmwg.drivers.api.networks import NetworkDriver as NetworkDriver
from bmwg.drivers.api.networks import PluginNetwork as PluginNetwork
from bmwg.drivers.api.networks import SocketNetwork as SocketNetwork
from bmwg.drivers.api.networks import SteeringNetwork as SteeringNetwork
from bmwg.drivers.api.networks import Way as Way
from bmwg.drivers.api.pods import ClusterRuntime as ClusterRuntime
from bmwg.drivers.api.pods import FunctionLink as FunctionLink
from bmwg.drivers.api.pods import KernelFunction as KernelFunction
from bmwg.drivers.api.pods import Pod as Pod
from bmwg.drivers.api.pods import PodFunction as PodFunction
from bmwg.drivers.api.pods import PodNetwork as PodNetwork
from bmwg.drivers.api.pods import PodParts as PodParts
from bmwg.drivers.api.pods import PodRuntime as PodRuntime
from bmwg.drivers.api.pods import ProgramPlace as ProgramPlace
from bmwg.drivers.api.pods import ResizingRuntime as ResizingRuntime
from bmwg.drivers.api.pods import ServingPlace as ServingPlace
from bmwg.drivers.api.workload import WorkloadDriver as WorkloadDriver

if TYPE_CHECKING:  # every agent imports this module, and reading testbed files is most of its start
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.testbed.file import Testbed
    from bmwg.methodology.cells.paths import PathKind
    from bmwg.methodology.records import Cell, TrialResult, TrialSpec
    from bmwg.methodology.trial.capabilities import Capability

JsonValue = Any  # builtins only: None, bool, int, float, str, list, dict with str keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A capability that the machine lacks: what, why (as found) and the line that would supply it."""

    what: str
    reason: str
    mend: str

    @classmethod
    def told(cls, found: Mapping[str, str] | None) -> Missing | None:
        """Return what a node function tells, by the names of these fields; None where nothing is missing."""
        return cls(**found) if found else None


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
    be spread (None: the path has no routes for any). `mtu_octets` is what a PCI port is to carry; an
    interface has its own.
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
    mtu_octets: int | None = None
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


class Trials(Protocol):
    """What sends trials over ports that are attached: a tester, or one with more than its frames beside."""

    def learn(self, spec: TrialSpec, /) -> None: ...
    def run(self, spec: TrialSpec, /) -> TrialResult: ...


@runtime_checkable
class TrafficDriver(WorkloadDriver["tuple[TesterPort, ...]", "TrialSpec", "TrialResult"], Protocol):
    """The workload of frames: sends one trial and counts it. It never searches, retries or judges.

    `for_testbed` makes it from a testbed file; counters must stand still for `drain_s` seconds after a trial
    before they are read. It stays up over attachments; `attach` binds two ports (after `detach` of the former
    two), resolves the next hops, and raises TestbedError, having sent nothing, on a port that is not allowed.
    `one_place` says that both ports must be in one network namespace, `renews_links` that each trial makes
    their links anew.
    `pci_memory_mib` says what a testbed file's tester needs in hugepages beside the NICs of PCI ports, MiB;
    None: it opens no NIC of its machine.
    `drivers.traffic.of_frames` has what all of them have in common.
    """

    one_place: ClassVar[bool]
    renews_links: ClassVar[bool]

    @classmethod
    def pci_memory_mib(cls, testbed: Testbed, /) -> int | None: ...
    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> TrafficDriver: ...
    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits: ...


@runtime_checkable
class Node(Calls, Protocol):
    """A place where code runs: a namespace node, a host over SSH, a VM guest.

    `call` runs a module-level function in a Python process *on the node*, under a deadline. Nothing may
    assume that two nodes share a file system or a clock.
    """

    name: str

    def describe(self) -> Mapping[str, JsonValue]: ...


class UndoLog(Protocol):
    """The run's ledger, as drivers need it: an undo is written before the act, ticked off after it."""

    def before(self, kind: str, place: Mapping[str, JsonValue] = ..., /, **arguments: JsonValue) -> int:
        """Store durably how to undo what is about to be made; return the entry's number."""

    def done(self, number: int, /) -> None:
        """Tick the entry off: it is undone, or was never made."""


@contextmanager
def undone(
    log: UndoLog,
    kind: str,
    place: Mapping[str, JsonValue],
    undo: Callable[[], object],
    /,
    **arguments: JsonValue,
) -> Iterator[None]:
    """Store how what is made meanwhile is undone, do so on leaving, and tick it off.

    Where `undo` fails the entry stays, for the clean-up.
    """
    number = log.before(kind, place, **arguments)
    try:
        yield
    finally:
        undo()
        log.done(number)


class PlacedNode(Node, Protocol):
    """A node that can say, as data, where it is, so that an undo finds it after this process has ended."""

    @property
    def place(self) -> Mapping[str, JsonValue]:
        """The node's kind, name and whatever finds it again."""

    @property
    def machine(self) -> PlacedNode:
        """The machine that the node is on, as it is: its NICs are there, and what outlives the node."""


class HostNode(PlacedNode, Protocol):
    """A node that pods can stand on: a namespace of this machine, or a guest with our agent inside.

    `pid` and `start_ticks` (clock ticks since boot) are its agent's, as the kernel there counts them.
    """

    pid: int
    start_ticks: int


@runtime_checkable
class NestedNode(HostNode, Protocol):
    """A node that is a guest: it has a clock of its own, and its pods get `pod_cpus` as it counts CPUs."""

    pod_cpus: str


class Evidence(TypedDict, total=False):
    """What stands, as its path tells it: platform.json has it by these names, and reports read it there.

    A path tells what it has; all of them tell `path`, `hops` and `forwarding`. `hops` are `at` and `what` in
    the order that frames pass them. Attachments are those of `Attached.evidence`; where pods are the ends of
    a path, each is in its `endpoints`. `own` is for what only a third party's path has.
    """

    # what the path is
    path: str
    hosting: str
    scenario: str
    function: str | Mapping[str, JsonValue]
    chain: str | Mapping[str, JsonValue]
    chains: Mapping[str, JsonValue]
    flow_definition: str
    hops: list[JsonValue]
    forwarding: str
    simulated: bool
    workloads: Mapping[str, JsonValue]
    crossed: list[str]
    offered_by: Mapping[str, JsonValue]
    # where it stands
    node: str
    host: str
    pod: Mapping[str, JsonValue]
    pod_runtime: Mapping[str, JsonValue]
    endpoints: Sequence[Mapping[str, JsonValue]]
    machine: Mapping[str, JsonValue]
    machines: Mapping[str, JsonValue]
    provider: Mapping[str, JsonValue]
    native_programs: Mapping[str, JsonValue]
    cpus: Mapping[str, str]
    boots_or_unpacks: Mapping[str, JsonValue]  # of a form without a pod or machine that tells it
    start_s: float
    start_ends: str
    one_network_namespace: bool
    files: str
    beside: list[str]  # hosting forms that stand on the same nodes meanwhile, and take turns with it
    # how it is joined
    network: JsonValue
    attachments: Sequence[Mapping[str, JsonValue]]
    checks: Sequence[Mapping[str, JsonValue]]
    known_to_network: Mapping[str, JsonValue]
    network_policies: JsonValue
    between_nodes: str
    routes: Mapping[str, JsonValue]
    tunnel: Mapping[str, JsonValue]
    link: Mapping[str, JsonValue]
    repeater: Mapping[str, JsonValue]
    vswitch: Mapping[str, JsonValue]
    switches: JsonValue
    service: Mapping[str, JsonValue]
    onward_service: Mapping[str, JsonValue]
    relay: Mapping[str, JsonValue]
    placement: Mapping[str, JsonValue]
    destination_networks: list[JsonValue]
    probe_frames: JsonValue
    # what is held against it
    device_queues: Sequence[Mapping[str, JsonValue]]
    datapath: Mapping[str, JsonValue]
    drawn_names: Mapping[str, str]
    own: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a path driver built: the two ports that traffic enters and leaves by, and evidence.

    `evidence` goes to platform.json: rendered CNI configuration, plugin hashes, results, bridge ports, where
    forwarding runs (kernel thread, pod), offload settings made.
    """

    ports: tuple[TesterPort, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEnd:
    """An end of a path where programs run, a pod or a host: its kernel has `address` on `interface`."""

    pod: ProgramPlace
    interface: str
    address: str


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
    evidence: Evidence
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
    """A path whose ends are pods: whatever runs in pods may go over it.

    `probe_pods` and `between_pods` are `probe` and `deploy` with the pods' own kernels at its ends, in place
    of the tester.
    """

    def probe_pods(self) -> Missing | None: ...
    def between_pods(self) -> AbstractContextManager[BetweenPods]: ...


@runtime_checkable
class ServedPath(PodPathDriver, Protocol):
    """A path whose answering end runs servers of its own; `unanswered` says which workload has none there."""

    def unanswered(self, workload: str) -> Missing | None: ...
