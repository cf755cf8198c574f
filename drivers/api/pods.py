"""What pods, their runtimes and the functions in them are: a part of `drivers.api`, which imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bmwg.drivers.api.calls import CallsInside

if TYPE_CHECKING:
    from bmwg.drivers.api.instance import Sample
    from bmwg.drivers.api.protocols import (
        Attached,
        Attachment,
        Missing,
        NetworkDriver,
        Node,
        PlacedNode,
        UndoLog,
    )
    from bmwg.drivers.containers.bundle import PodSpec
    from bmwg.drivers.kubernetes.batch import Batch
    from bmwg.drivers.kubernetes.moving import Moving
    from bmwg.drivers.kubernetes.policies import Policies
    from bmwg.drivers.kubernetes.settings import Layout
    from bmwg.drivers.paths.bed import Bed
    from bmwg.methodology.records import Cell

JsonValue = Any  # as in drivers.api


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNetwork:
    """One network that a pod is to have: the option, the intent, a name where a bridge is made."""

    driver: NetworkDriver
    attachment: Attachment
    bridge: str


class ProgramPlace(CallsInside, Protocol):
    """Where programs of a workload run: a pod, or a host itself. What a pod's parts are, `Pod` says.

    `entry` says how a program enters it, as `pod_programs` takes it: by which process (`pid`,
    `start_ticks`), by an engine's API (`entered_by`), as a program of the node's (`programs_of_node`). A
    host adds on which CPUs (`cpus`, a list such as `0,2`) and in which cgroup (`cgroup`).
    """

    @property
    def pod_id(self) -> str: ...
    @property
    def node(self) -> PlacedNode: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_ticks(self) -> int: ...
    @property
    def entry(self) -> dict[str, JsonValue]: ...


@runtime_checkable
class ServingPlace(ProgramPlace, Protocol):
    """A place that nobody can enter: the programs that it `serves` listen there since it booted."""

    @property
    def serves(self) -> tuple[str, ...]: ...


@runtime_checkable
class Pod(CallsInside, Protocol):
    """A pod that exists on a node. `pid` and `start_ticks` (clock ticks since boot) are of its first process.

    `image` says what its root file system is. `attached` are its networks in the order in which they were
    asked for, `checks` what was done to see that each stands. `start` runs its program, with these
    arguments where the pod's were to be told at its start; `said` gives the last lines of its output.
    `start_steps_ns` says when its start came to each step, by name, in ns of the runner's monotonic clock,
    `end_steps_ns` the same of its removal, once it is gone.
    `kept_to` are the CPUs that its threads were told to keep to, where no cpuset of ours does so (else none).
    `restart` ends the container and starts it anew in the pod's own network namespace, and returns
    `began_ns` and `ended_ns` of the node's monotonic clock. `inside` runs a function on the node in that
    namespace. `sample` is what its processes use, `fault` why its first process no longer runs,
    `describe` the pod as the kernel has it.
    """

    pod_id: str
    node: PlacedNode
    pid: int
    start_ticks: int
    attached: tuple[Attached, ...]
    checks: tuple[dict[str, JsonValue], ...]

    @property
    def start_steps_ns(self) -> Mapping[str, int]: ...
    @property
    def end_steps_ns(self) -> Mapping[str, int]: ...
    @property
    def image(self) -> str: ...
    @property
    def kept_to(self) -> tuple[int, ...]: ...
    @property
    def netns_path(self) -> str: ...
    @property
    def entry(self) -> dict[str, JsonValue]: ...
    def start(self, arguments: Sequence[str] = ()) -> None: ...
    def said(self) -> list[str]: ...
    def restart(self) -> dict[str, JsonValue]: ...
    def sample(self) -> Sample: ...
    def fault(self) -> str | None: ...
    def describe(self) -> dict[str, JsonValue]: ...


class PodRuntime(Protocol):
    """What realizes pods, found by `pods.runtime` of the testbed file among `bmwg.drivers.runtime`.

    `run_dir` is the run's folder on the node, `options` are `pods.options` of the testbed file (an
    unknown one is a ConfigError). `probe` returns what a node lacks; `refuses` says why a network cannot
    be a pod's here, `side_by_side` why so many pods with functions cannot be on one node,
    `no_further_container` why none can join a pod's network namespace. `standing` makes what all of a run's
    pods need on these nodes and removes it on leaving; `cpus` are the pods'. Programs of the runtime's own
    avoid the CPUs in the lists `kept_off`; where no CPU remains, the last list is dropped first. `networks`
    are the testbed's options. `ready` makes what the first pod of a node would else wait for, so that pods
    can be timed. `made` makes a pod with its networks,
    whose program is not started, and removes it on leaving; each undo is in the ledger before. `describe`
    is evidence.
    """

    def __init__(self, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue]) -> None: ...
    def probe(self, node: Node) -> Missing | None: ...
    def side_by_side(self, functions: int) -> Missing | None: ...
    def no_further_container(self) -> Missing | None: ...
    def refuses(self, network: NetworkDriver) -> Missing | None: ...
    def standing(
        self,
        nodes: Mapping[str, PlacedNode],
        *,
        cpus: str,
        kept_off: Sequence[Sequence[int]] = (),
        networks: Sequence[NetworkDriver] = (),
    ) -> AbstractContextManager[None]: ...
    def ready(self, node: PlacedNode) -> AbstractContextManager[None]: ...
    def made(
        self, node: PlacedNode, spec: PodSpec, networks: Sequence[PodNetwork] = ()
    ) -> AbstractContextManager[Pod]: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


@runtime_checkable
class ResizingRuntime(PodRuntime, Protocol):
    """A runtime that changes the limits of a pod while it runs.

    `quota_us` is CPU time of each period of 100 ms, `memory_octets` of memory; what is 0 stays as it was.
    """

    def resize(self, pod: Pod, *, quota_us: int = 0, memory_octets: int = 0) -> None: ...


@runtime_checkable
class ClusterRuntime(PodRuntime, Protocol):
    """A runtime whose pods are a cluster's, which places them, finds them by Services and polices them.

    `own_alone` says that something is done on the run's own cluster alone, and this one is the user's.
    `layout` says how a node of the run's own cluster stands. `left` names what is still there of the run's
    pods. `at_once` has pods that are asked for at the same time. `service` is what finds an address while it
    is entered; `unbalanced` says why none of type LoadBalancer gets a front. `enforces` says why no
    NetworkPolicy takes effect between pods of a node, `policies` has them stand. `no_move` says why no pod
    can be moved to another node, `ways_to` the other nodes with their way to this one; `moving` has a pod
    that relays and moves, `pod_of` is that pod as it is now.
    """

    def own_alone(self, what: str) -> Missing | None: ...
    def layout(self, node: str) -> Layout: ...
    def left(self) -> list[str]: ...
    def at_once(
        self, node: PlacedNode, wanted: Sequence[tuple[PodSpec, Sequence[PodNetwork]]]
    ) -> AbstractContextManager[Batch]: ...
    def service(
        self, node: PlacedNode, *, name: str, address: str, port: int, **front: str
    ) -> AbstractContextManager[dict[str, JsonValue]]: ...
    def unbalanced(self) -> Missing | None: ...
    def enforces(self, node: Node, network: NetworkDriver) -> Missing | None: ...
    def policies(self, node: PlacedNode, network: NetworkDriver) -> AbstractContextManager[Policies]: ...
    def no_move(self) -> Missing | None: ...
    def ways_to(self, node: str) -> dict[str, str]: ...
    def moving(
        self, node: PlacedNode, spec: PodSpec, *, target: tuple[str, int], port: int
    ) -> AbstractContextManager[Moving]: ...
    def pod_of(self, moving: Moving, node: PlacedNode, spec: PodSpec) -> Pod: ...


def of_cluster(runtime: PodRuntime) -> ClusterRuntime:
    """Return a runtime that is a cluster's, as the caller's `probe` has found."""
    assert isinstance(runtime, ClusterRuntime)
    return runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionLink:
    """One interface of a function in a pod, and whom it sends to.

    `routes` are `(destination, via)` pairs; `neighbours` the next hops' addresses in prefix notation, which
    all have `neighbour_mac`: frames that leave by this interface go there. `device` is `Attached.device`.
    """

    interface: str
    routes: tuple[tuple[str, str], ...]
    neighbours: tuple[str, ...]
    neighbour_mac: str
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodParts:
    """What a function or a network needs of the pod that it serves.

    `forwarding` has the pod's kernel forward; `arguments` are the pod's program (none: it sleeps, or is told
    what to run when it is started: `told_at_start`), `binds` of `(source, destination, writable)` what it
    sees of the node. `capabilities` are the fewest by which it works, and all that it is granted; `root`
    says that it must be user 0.
    """

    forwarding: bool = False
    arguments: tuple[str, ...] = ()
    told_at_start: bool = False
    root: bool = False
    binds: tuple[tuple[str, str, bool], ...] = ()
    capabilities: tuple[str, ...] = ()

    def __or__(self, other: PodParts) -> PodParts:
        """What both need together."""
        return PodParts(
            forwarding=self.forwarding or other.forwarding,
            arguments=self.arguments or other.arguments,
            binds=(*self.binds, *other.binds),
            capabilities=(*self.capabilities, *other.capabilities),
            told_at_start=self.told_at_start or other.told_at_start,
            root=self.root or other.root,
        )


class PodFunction(Protocol):
    """What forwards between the two interfaces of a pod, found by name among `bmwg.drivers.function`.

    `routes` says that it forwards by routes, so that the pod is given one for each destination network.
    `answers_neighbours` says that the pod answers ARP and ND for the addresses of its interfaces; without it
    whoever sends to the pod is told its MACs. `forwarding` says where frames are forwarded, for the record.
    `drives` are the kinds of `NetworkDriver.hands_over` that it can use. `probe` returns what the node lacks.

    `parts` tells, before the pod is made, what it needs and takes away on leaving what it made for it;
    `furnish` gives the pod what it forwards by, before its program starts, and returns the arguments of a
    program that is told them at its start (else none); `started` waits until it forwards and returns evidence
    with the function's `name`.
    """

    routes: ClassVar[bool]
    answers_neighbours: ClassVar[bool]
    forwarding: ClassVar[str]
    drives: ClassVar[frozenset[str]]

    def __init__(self, bed: Bed) -> None: ...
    def probe(self, node: Node) -> Missing | None: ...
    def parts(self, pod_id: str) -> AbstractContextManager[PodParts]: ...
    def furnish(self, pod: Pod, links: Sequence[FunctionLink]) -> tuple[str, ...]: ...
    def started(self, pod: Pod) -> dict[str, JsonValue]: ...


@runtime_checkable
class KernelFunction(PodFunction, Protocol):
    """A function that is a kernel's forwarding: in a pod's network namespace, or in a node's own.

    `unfit` says why it cannot take the frames of a cell. `on_node` has it stand on a node that routes between
    these two interfaces, with its undo in the ledger, and gives evidence. Evidence with a `table` has
    counters of its own (`drivers/function/tables.py`), which are read before and after each trial.
    """

    def unfit(self, cell: Cell) -> Missing | None: ...
    def on_node(
        self, node: PlacedNode, links: Sequence[FunctionLink], undo: UndoLog
    ) -> AbstractContextManager[JsonValue]: ...
