"""What providers of machines are: the protocols that the toolkit's own and other people's fulfil."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bmwg.drivers.api.protocols import Calls, JsonValue, Missing, Node

if TYPE_CHECKING:
    from types import TracebackType

    from bmwg.drivers.api.instance import Place, Sample
    from bmwg.drivers.undo.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineIntent:
    """The *intent* of one machine; the provider realizes it.

    `number` counts the machines of one provider from 0. `network` (IPv4, in prefix notation) is what their
    endpoints' addresses are taken from; the node routes it. `nic_model` is as QEMU names it. A provider may
    give fewer CPUs and less memory (octets), and then says so in what it describes.

    `links` are NICs of the node that a machine is to forward between: it gets a test interface in one segment
    with each, in their order, by which frames of any address pass, and `network` is not used. The addresses
    there are set by the caller. A machine without `network` and `links` only runs commands.

    `script` is a shell script that the machine runs as root when it boots. Such a machine is returned before
    its boot ends, and no call is sent to it.

    `host` names the node that it runs on, where a provider has several; with `links` their node is taken.
    """

    number: int
    name: str
    cpus: int
    memory_octets: int
    nic_model: str
    network: str
    links: tuple[str, ...] = ()
    host: str = ""
    script: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineEndpoint:
    """Where a load enters or leaves a machine: the provider says it, nobody computes it.

    `address` is IPv4 without prefix, `interface` the name inside the machine where it is known.
    """

    address: str
    interface: str
    mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected:
    """A user-mode network in place of a tap: the machine's own process ends each connection of the host.

    What comes to these `ports` (TCP and UDP) of an `address` of the node (IPv4 without prefix) is sent to the
    same ports of the address `inside` the machine. Without one that is the same address, which the machine
    has beside one of that network.
    """

    address: str
    ports: tuple[int, ...]
    inside: str = ""

    @classmethod
    def from_builtins(cls, data: Mapping[str, JsonValue] | None) -> Redirected | None:
        """Read what `asdict` gave to a node; None of a NIC with a tap."""
        return None if data is None else cls(**{**data, "ports": tuple(data["ports"])})


@runtime_checkable
class Machine(Calls, Protocol):
    """A machine that stands and answers. `endpoints` are in the order of its test interfaces.

    `call` runs a node function inside it. `sample` is what it uses, seen from its host. `fault` says why it
    no longer runs, without waiting above a second where the provider allows; `stop` ends and removes it
    whatever its state, and may be called twice. `describe` has `cpus` and `memory_octets` as given.
    """

    name: str

    @property
    def endpoints(self) -> tuple[MachineEndpoint, ...]: ...
    def sample(self) -> Sample: ...
    def fault(self) -> str | None: ...
    def stop(self) -> None: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


@runtime_checkable
class TimedMachine(Machine, Protocol):
    """A machine whose maker told when it came to each step of its start, by name (monotonic clock, ns)."""

    @property
    def start_steps_ns(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSize:
    """What a machine has: the number of its CPUs, and its memory in octets."""

    cpus: int
    memory_octets: int


@runtime_checkable
class ResizableMachine(Machine, Protocol):
    """A machine that its provider stops and starts anew with another size.

    `ask_size` returns the steps of the request (monotonic clock, ns) once the provider has begun, and raises
    where that refuses: the machine then runs as it was. Asked for the size before it takes the change back.
    `size` is the one in force as the provider says, None amid a change. `keep_size` ends a change: it can no
    longer be taken back. `console` is what the machine has written since it booted. `host_interfaces` are the
    other ends of its test interfaces, on the node that it runs on.
    """

    @property
    def host_interfaces(self) -> tuple[str, ...]: ...
    def ask_size(self, size: MachineSize, *, within_s: float) -> Mapping[str, int]: ...
    def size(self) -> MachineSize | None: ...
    def keep_size(self, *, within_s: float) -> None: ...
    def console(self) -> list[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingIntent:
    """A machine that routes and is to be moved: an archive in memory, which is told by its kernel's `words`.

    Beside it another one is made, with `other_words`. `links` are the NICs that both forward between.
    """

    name: str
    memory_octets: int
    words: str
    other_words: str
    links: tuple[str, ...]


class MachineProvider(Protocol):
    """What makes machines, found by `vms.driver` of the testbed file among `bmwg.drivers.provider`.

    `node` is the node that routes to them, `token` unique to this provider of this run. Entering makes what
    all machines share and leaving removes it. `probe` tells what is missing, having made nothing. `made`
    returns a machine that has booted and answers; where it raises, nothing of it stays. `root` says whose
    programs the machines have: `host` or `image`. `forwards` says that an intent may have `links`, of the
    NICs that `place.cabled` names. `describe` is evidence, by the provider's own keys.
    """

    forwards: ClassVar[bool]

    def __init__(self, *, node: Node, place: Place, ledger: Ledger, token: str) -> None: ...
    def __enter__(self) -> MachineProvider: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    @property
    def root(self) -> str: ...
    def probe(self) -> Missing | None: ...
    def made(self, intent: MachineIntent) -> Machine: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


@runtime_checkable
class UnjoinedMachineProvider(MachineProvider, Protocol):
    """One whose machines' NIC ends at an interface of the node, named as the machine, that is joined to
    nothing. `vhost`: the node's kernel carries its frames, and the machine's process does not. `own_disk` is
    a file of the node (empty: none) that the machine has as a further disk, past the node's page cache.
    `redirected` has no such interface: a user-mode network with redirected ports takes its place.
    `architecture` is Debian's word for the machine's, empty: the node's own; `probe_of` tells what is missing
    for one.
    """

    def probe_of(self, architecture: str) -> Missing | None: ...
    def unjoined(
        self,
        intent: MachineIntent,
        *,
        vhost: bool,
        own_disk: str = "",
        redirected: Redirected | None = None,
        architecture: str = "",
    ) -> Machine: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketNic:
    """A NIC of a machine whose frames a switch on its node takes from the machine's own memory.

    `socket` is the path on the node of the vhost-user socket that the switch serves.
    """

    socket: str
    mac: str


@runtime_checkable
class SocketMachine(Machine, Protocol):
    """A machine with such NICs, its endpoints in their order. `process` is its process on the node: `pid` and
    `start_ticks` (clock ticks since boot). `vnics` is what its emulator itself says of each NIC: `backend` is
    the kind of its other end, `socket` where that is; it raises where they are not what was wanted.
    """

    @property
    def process(self) -> Mapping[str, int]: ...
    def vnics(self) -> list[JsonValue]: ...


@runtime_checkable
class SocketMachineProvider(MachineProvider, Protocol):
    """One whose machines' NICs may be at vhost-user sockets of their node.

    `no_sockets` tells what is missing, having made nothing; the machine's memory is to lie in so many `pages`
    of `hugepage_octets` (0: in ordinary ones). `at_sockets` boots a machine with these NICs, whose process
    keeps to `cpus` (a list such as `2-3`). It raises where it cannot have the CPUs and memory that are asked.
    """

    def no_sockets(self, *, hugepage_octets: int, pages: int) -> Missing | None: ...
    def at_sockets(
        self, intent: MachineIntent, nics: tuple[SocketNic, ...], *, cpus: str, hugepage_octets: int
    ) -> SocketMachine: ...


@runtime_checkable
class LinkedMachineProvider(MachineProvider, Protocol):
    """One whose machines forward. `laid` has the segments on these NICs stand while it is entered, so that
    machines come and go without them; several may then be made at the same time.
    """

    def laid(self, links: tuple[str, ...]) -> AbstractContextManager[None]: ...


@runtime_checkable
class MovingMachineProvider(MachineProvider, Protocol):
    """One that has several hosts, between which it moves a machine while that runs.

    `moving_missing` says why there are none. `moving` has a machine stand at the host of the provider's node;
    what it yields is as `guest_moves.MovingGuest`, with what `moves` and `describe` say of it.
    """

    def moving_missing(self) -> Missing | None: ...
    def moving(self, intent: MovingIntent) -> AbstractContextManager[Any]: ...
