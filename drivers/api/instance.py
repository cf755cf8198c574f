"""An instance is a place where one network function is started: the protocol of the hosting forms.

A `Hosting` is one form on one node (native, Docker, virtual machine): what must stand before the first
instance is made there (a daemon, an image, a kernel) is made on entering it and removed on leaving it. A
`Hosting` starts instances; what `start` does is what a deployment benchmark counts (RFC 8172 4.3). An
instance runs one program, is reached at one endpoint, and is sampled from outside. The program's files are
handed over as text: an instance may share no file system with the runner.

Ids: INST-01 a pod of no known network option, INST-02 the program did not start or ended, INST-03 an instance
of that number stands already, INST-04 a pod got another address than the one it was to have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.machines.guest_image import GuestImage

if TYPE_CHECKING:  # agents import this module, and never read a testbed file
    from bmwg.drivers.testbed.file import NetworkSpec

FOLDER = "{folder}"  # in a program's command and files: the folder that the instance gave it
ADDRESS = "{address}"  # the address that the program is to listen on, as the program sees it
PORT = "{port}"  # the port that the program is to listen on there
CRUN = "crun"  # the runtime of pods where none is named
INSTANCE_NETWORK = "198.18.16.0/20"  # rfc2544-C.2.2: addresses for benchmarks; routed to the instances' node
FORM_NETWORKS = {  # each form's part of it
    "docker_routed": "198.18.16.0/24",
    "docker_nat": "198.18.17.0/24",
    "vm_full": "198.18.18.0/24",
    "vm_para": "198.18.19.0/24",
    "pod_net0": "198.18.20.0/24",  # where the node routes, by interface
    "pod_net1": "198.18.21.0/24",
    "kubernetes_pods": "198.18.22.0/24",
    "kubernetes_services": "198.18.23.0/24",
}


def bracketed(address: str) -> str:
    """Return an address as it stands before a port: one of IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What runs in an instance, as data.

    `command` is an argument vector (the first word is found in PATH) and `files` are texts by name within the
    program's folder; `{folder}`, `{address}` (before a port: in brackets where it is of IPv6) and `{port}` in
    either are replaced by what the instance gives.
    The folder is writable for everybody (the program may change its user). `packages` are the Debian packages
    that hold the program, `port` the TCP port that it listens on (forms that share the node's address count
    up from it). `secrets` names the files whose text is told nowhere.
    """

    name: str
    command: tuple[str, ...]
    port: int
    files: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()

    @property
    def told_files(self) -> dict[str, str]:
        """Its files as evidence may hold them."""
        return {name: text for name, text in self.files.items() if name not in self.secrets}

    def at(self, folder: str, address: str, port: int) -> Program:
        """Return the program with what an instance gives in its command and its files."""

        def filled(text: str) -> str:
            return text.replace(FOLDER, folder).replace(ADDRESS, bracketed(address)).replace(PORT, str(port))

        return replace(
            self,
            command=tuple(filled(word) for word in self.command),
            files={name: filled(text) for name, text in self.files.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one instance may use; a machine with fewer CPUs gives what it has, and the record says so."""

    cpus: int = 4  # document 001, section 4
    memory_octets: int = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What an instance used, seen from its host, all its processes together.

    `cpu_ns` counts from the instance's start (user and system); `memory_octets` is resident now. `at_ns` is
    the node's monotonic clock. `memory_peak_octets` is None where the host cannot tell it.
    """

    at_ns: int
    cpu_ns: int
    memory_octets: int
    memory_peak_octets: int | None = None


class Instance(Protocol):
    """One running place. `endpoint` is where clients reach its program: address and port.

    `fault` says why it no longer serves (None while all of it stands) and never blocks above a second;
    `stop` ends and removes it within its own deadline, whatever state it is in, and may be called twice.
    """

    name: str
    endpoint: tuple[str, int]

    def sample(self) -> Sample: ...
    def fault(self) -> str | None: ...
    def stop(self) -> None: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


class Group(Protocol):
    """Instances that stand together behind one address, `endpoint`, which the clients ask.

    Each instance has an endpoint of its own as well, by which it is looked at. `fault` and `sample` are of
    all of them; `describe` is evidence of what is in front of them.
    """

    instances: Sequence[Instance]
    endpoint: tuple[str, int]

    def sample(self) -> Sample: ...
    def fault(self) -> str | None: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


@runtime_checkable
class Grouping(Protocol):
    """A hosting form whose instances are made together and stand behind one address until it is left."""

    def group(
        self, program: Program, count: int, limits: Limits, *, within_s: float
    ) -> AbstractContextManager[Group]: ...


class Hosting(AbstractContextManager["Hosting"], Protocol):
    """One hosting form on one node.

    `probe` tells what the node lacks, having made nothing that stays. Entering makes what all share;
    `prepare` what a program needs before its first start (an image), which no deployment time counts.
    `start` makes instance `number` (0, 1, ...) and starts the program in it, and returns when the program's
    process was started: whether it serves is asked from the client's side, so that all forms are asked alike.
    `describe` is evidence: versions, image, accelerator, NIC model. The class is made by
    `Class(form=..., node=..., place=..., ledger=...)` and is found by the form's name among
    `bmwg.drivers.hosting`.
    """

    form: str

    def probe(self) -> Missing | None: ...
    def prepare(self, program: Program) -> None: ...
    def start(self, program: Program, number: int, limits: Limits) -> Instance: ...
    def describe(self) -> Mapping[str, JsonValue]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A place that forwards between clients and origin while it stands.

    `sides` are its interfaces towards the clients and towards the origin, `addresses` those by which clients
    and origin route through it. `run` runs a node function in its network namespace within so many seconds,
    `node` starts programs there (None: functions alone can enter it), `fault` says why it no longer stands,
    `told` is evidence.
    """

    name: str
    sides: tuple[str, str]
    addresses: tuple[str, str]
    run: Callable[..., JsonValue]
    node: Node | None
    fault: Callable[[], str | None]
    told: Callable[[], Mapping[str, JsonValue]]


@runtime_checkable
class AlsoIpv6(Protocol):
    """A hosting form whose instances get addresses of the version of IP that its node's own are of.

    `no_ipv6` says why not here.
    """

    def no_ipv6(self) -> Missing | None: ...


@runtime_checkable
class InPath(Protocol):
    """A hosting form that has a place between clients and origin, in which a table of nftables can be loaded.

    `no_way` says why it has none here, or none with a `program` in it. What is loaded is removed on leaving.
    """

    def no_way(self, *, program: bool) -> Missing | None: ...
    def crossing(self) -> AbstractContextManager[Crossing]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VmDriver:
    """What starts the virtual machines: a provider (libvirt at `uri`, or one of the run's own).

    Their root is that of `image`, or what the provider gives: the host's own, or a cloud's image.
    """

    driver: str = "qemu"
    uri: str | None = None
    image: GuestImage | None = None


QEMU_ITSELF = VmDriver()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The node's surroundings that a hosting form works in.

    `client_address` is the node's own address towards the clients (published ports are reached there);
    `client_interface` and `server_interface` are the node's two NICs; all of these are empty where there are
    no clients. The clients and the servers route `INSTANCE_NETWORK` to this node where they speak IPv4; the
    node forwards. `token` is unique to the run (names of daemons, cgroups, taps); `owner` labels processes;
    `run_dir` is the run's folder on the node. `prefix_lengths` are of the networks that the node's own
    addresses lie in, towards clients and servers; `networks` are the options by which pods can be attached,
    `runtime` names what makes pods. `cabled` are the node's NICs that machines forward between: the machines'
    host is then the node itself, and what it runs keeps to `cpus` (none: to any). `hosts` are the nodes that
    are to be machines' hosts, the first of them with what commands all, where that is not the node alone.
    """

    token: str
    owner: str
    run_dir: str
    client_address: str = ""
    client_interface: str = ""
    server_address: str = ""
    server_interface: str = ""
    prefix_lengths: tuple[int, int] = (24, 24)
    networks: Mapping[str, NetworkSpec] = field(default_factory=dict)
    vms: VmDriver = QEMU_ITSELF
    runtime: str = CRUN
    cabled: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    hosts: tuple[Node, ...] = ()
