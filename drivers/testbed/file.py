"""Reads a testbed file into frozen records; everything wrong with it is one ConfigError, nothing is started.

The records say what the user wrote, checked; whether the machine has it is another question (probes, doctor).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import yaml

import bmwg
from bmwg.drivers.api.instance import CRUN
from bmwg.drivers.testbed.text import text_of
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.cpu_lists import cpu_list
from bmwg.schemas.document import Document, parse
from bmwg.schemas.validation import Problem, near_hint, problems

_T = TypeVar("_T")
SCHEMA = "testbed"
TESTER = "tester"  # the node name under which links name the tester's own ports
SIMULATED = "simulated"  # the name of the traffic driver that needs no bed
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Kinds of links: a pair that the run makes, what is there, a port of a node's vSwitch at a socket.
VETH, CABLE, VHOST_USER = "veth", "cable", "vhost-user"
AUTO = "auto"  # of tester.io: drivers/testbed/port_kind.py says what that is on a machine


class NodeKind(StrEnum):
    """What a node is. QEMU is reserved: the file may not name it yet."""

    NAMESPACE = "namespace"
    SSH = "ssh"
    QEMU = "qemu"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """A place where code runs. `ssh` is `user@host[:port]`, only with kind ssh, `python` its interpreter."""

    name: str
    kind: NodeKind
    ssh: str | None = None
    python: str = "python3"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Endpoint:
    """One end of a link: an interface on a node (the node `tester` is the tester's own place)."""

    node: str
    interface: str

    def __str__(self) -> str:
        return f"{self.node}/{self.interface}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpec:
    """Two interfaces that are joined: `veth` (the run makes the pair) or `cable` (it is there).

    `vhost-user`: a port of the tester and one of a node's vSwitch, joined by a socket that the switch serves.
    """

    a: Endpoint
    b: Endpoint
    kind: str = VETH


@dataclass(frozen=True, slots=True, kw_only=True)
class TesterSpec:
    """The traffic driver by entry-point name, its ports as written, port kind and CPU numbers.

    `io` is the kind of all ports; the second of two has `other_io` where the file names a kind for each.
    `host` is the machine that its ports and CPUs are of; None: the runner's own.
    """

    driver: str
    ports: tuple[str, ...]
    io: str
    cpus: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    other_io: str = ""
    host: NodeSpec | None = None

    @property
    def ios(self) -> tuple[str, ...]:
        """The port kind of each port."""
        return (self.io, self.other_io or self.io, *[self.io] * (len(self.ports) - 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class DutSpec:
    """Where forwarding runs. `device_queue`: `threaded` (own queue and kernel thread) or `inline`."""

    cpus: tuple[int, ...]
    device_queue: str = "threaded"
    shares_tester_cpus: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """One network option. `conflist` is a CNI configuration list with our template variables unrendered.

    `dut_cpus` are the CPUs on which the DUT may poll (none: not known).
    """

    name: str
    driver: str
    plugin_dir: str | None = None
    uplink: str = "none"
    model: str | None = None
    vlan_id: int | None = None
    conflist: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    dut_cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """What each pod gets. `cpus` are CPU numbers (a cpuset, not a count); hugepages are page counts.

    `runtime` names what makes it, `options` are that one's own settings. `management` is the network option
    of an interface beside those for data, in pods of accelerated models (empty: none). `policies` are network
    policies for the pod that receives.
    """

    cpus: tuple[int, ...]
    memory_octets: int
    hugepages_2mi: int = 0
    hugepages_1gi: int = 0
    policies: int = 0
    runtime: str = CRUN
    management: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cpuset(self) -> str:
        """The CPU numbers as a cgroup's cpuset takes them."""
        return ",".join(map(str, self.cpus))


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbed:
    """A testbed file, checked. `data` is the file as data (for run.json), `file` where it was read from.

    `functions` are the settings of each function by its name. The host of the tester is none of the `nodes`.
    `lab_ports` are of the tester's machine.
    """

    __test__ = False  # not a pytest class

    file: str
    name: str
    nodes: tuple[NodeSpec, ...]
    links: tuple[LinkSpec, ...]
    tester: TesterSpec
    dut: DutSpec
    networks: tuple[NetworkSpec, ...]
    pods: PodSpec
    lab_ports: tuple[str, ...] = ()
    functions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def socket_ports(self) -> frozenset[Endpoint]:
        """The tester's ports that are at vhost-user sockets."""
        ends = [end for link in self.links if link.kind == VHOST_USER for end in (link.a, link.b)]
        return frozenset(end for end in ends if end.node == TESTER)

    @property
    def dut_cpus_here(self) -> tuple[int, ...]:
        """CPUs of this machine that the DUT and its pods have: none where all nodes are other hosts."""
        if all(node.kind is NodeKind.SSH for node in self.nodes):
            return ()
        return tuple(sorted({*self.dut.cpus, *self.pods.cpus}))

    @property
    def tester_cpus_here(self) -> tuple[int, ...]:
        """CPUs of this machine that the tester has: none where it is on another host."""
        return () if self.tester.host else self.tester.cpus

    @property
    def lab_ports_here(self) -> tuple[str, ...]:
        """Ports of this machine that test traffic may use: none where the tester is on another host."""
        return () if self.tester.host else self.lab_ports

    @property
    def at_the_tester(self) -> Testbed:
        """The testbed as the machine of the tester sees it, which is then this one."""
        return replace(self, tester=replace(self.tester, host=None))

    def node(self, name: str) -> NodeSpec:
        """Return the node of that name; ConfigError CFG-05 with a near name otherwise."""
        return _named(name, {node.name: node for node in self.nodes}, "node", self.file)

    def network(self, name: str) -> NetworkSpec:
        """Return the network option of that name; ConfigError CFG-05 with a near name otherwise."""
        return _named(name, {network.name: network for network in self.networks}, "network", self.file)


def load_testbed(path: Path | str | None = None) -> Testbed:
    """Read and check a testbed file; without a path the embedded testbed.

    A path such as `testbeds/simulated.yaml` that is not there is looked for among the package's own.

    Raises ConfigError: CFG-01 the file cannot be read, CFG-02 it is no strict YAML, CFG-03 it is against the
    schema, CFG-04 its parts contradict each other (all problems at once; CPU sharing: RFC8172-3.4-02).
    """
    file = Path(path) if path is not None else embedded_file()
    inside = Path(bmwg.__file__).parent / file
    if inside.is_file() and not file.exists():
        file = inside.resolve()
    return parse_testbed(text_of(file), file)


def parse_testbed(text: str, file: Path) -> Testbed:
    """Read and check a testbed from YAML text; `file` names it in messages. Raises as `load_testbed` does."""
    document = parse(text)
    if document.problems:
        raise _refusal("CFG-02", file, document, list(document.problems))
    return _checked(document, file, f"testbed file {file}")


def text_of_testbed(testbed: Testbed) -> str:
    """Return a testbed as YAML text, for `parse_testbed` at another place."""
    return yaml.safe_dump(dict(testbed.data), sort_keys=False, allow_unicode=True)


def with_settings(testbed: Testbed, settings: Mapping[tuple[str, ...], object], where: str) -> Testbed:
    """Return a testbed with other settings at these places, checked as a whole; `where` asked for them.

    Raises ConfigError CFG-03 and CFG-04 as `load_testbed` does, CFG-05 on a network that the file lacks.
    """
    data: dict[str, Any] = copy.deepcopy(dict(testbed.data))
    for place, value in settings.items():
        if place[0] == "networks":
            testbed.network(place[1])
        at = data
        for key in place[:-1]:
            at = at.setdefault(key, {})
        at[place[-1]] = value
    file = Path(testbed.file)
    return _checked(Document(data=data), file, f"testbed file {file} as {where} sets it")


def _checked(document: Document, file: Path, what: str) -> Testbed:
    found = problems(document.data, SCHEMA)
    if found:
        raise _refusal("CFG-03", file, document, found, what)
    testbed = _build(document.data, str(file))
    from bmwg.drivers.testbed.contradictions import contradictions  # it needs the records of this module

    if clashes := list(contradictions(testbed)):
        raise _refusal("CFG-04", file, document, clashes, what)
    return testbed


def embedded_file() -> Path:
    """Return the embedded testbed's file, which comes with the package."""
    file = (Path(bmwg.__file__).parent / "testbeds" / "embedded.yaml").resolve()
    if file.is_file():
        return file
    raise ConfigError(
        "CFG-01",
        "the embedded testbed's file is not there",
        expected=str(file),
        found="none",
        hint="install the toolkit again, or name a testbed file in BMWG_TESTBED",
    )


def _refusal(
    error_id: str, file: Path, document: Document, found: list[Problem], what: str = ""
) -> ConfigError:
    lines = [f"{file}:{document.line(problem.location)}: {problem}" for problem in found]
    what = what or f"testbed file {file}"
    what += f": {len(found)} problem{'s' if len(found) > 1 else ''}, nothing was started"
    return ConfigError(error_id, "\n          ".join([what, *lines]))


def _named(name: str, table: dict[str, _T], kind: str, file: str) -> _T:
    if name in table:
        return table[name]
    raise ConfigError(
        "CFG-05",
        f"{kind} {name!r} is not in the testbed file {file}",
        expected=f"one of {', '.join(table) or 'none (there are none)'}",
        found=name,
        hint=near_hint(name, table),
    )


def _endpoint(text: str) -> Endpoint:
    node, _, interface = text.partition("/")
    return Endpoint(node=node, interface=interface)


def _build(data: dict[str, Any], file: str) -> Testbed:
    tester, dut, pods = data["tester"], data["dut"], data["pods"]
    io = tester.get("io", AUTO)
    ios = (io, "") if isinstance(io, str) else (io[0], io[1] if io[1] != io[0] else "")
    try:
        pod_cpus = cpu_list(pods["cpus"])
    except ValueError:
        pod_cpus = ()  # reported as a contradiction
    nodes = {
        name: NodeSpec(
            name=name,
            kind=NodeKind(node["kind"]),
            ssh=node.get("ssh"),
            python=node.get("python", "python3"),
        )
        for name, node in data["nodes"].items()
    }
    host = nodes.pop(tester.get("host"), None)  # a name that no node has is reported as a contradiction
    return Testbed(
        file=file,
        name=data["name"],
        nodes=tuple(nodes.values()),
        links=tuple(
            LinkSpec(a=_endpoint(link["a"]), b=_endpoint(link["b"]), kind=link.get("kind", VETH))
            for link in data["links"]
        ),
        tester=TesterSpec(
            driver=tester["driver"],
            ports=tuple(tester["ports"]),
            io=ios[0],
            other_io=ios[1],
            cpus=tuple(map(int, tester["cpus"])),
            options=tester.get("options", {}),
            host=host,
        ),
        dut=DutSpec(
            cpus=tuple(map(int, dut["cpus"])),
            device_queue=dut.get("device_queue", "threaded"),
            shares_tester_cpus=dut.get("shares_tester_cpus", False),
        ),
        networks=tuple(
            network_spec(name, network, tuple(map(int, dut["cpus"])))
            for name, network in data["networks"].items()
        ),
        pods=PodSpec(
            cpus=pod_cpus,
            memory_octets=int(pods["memory"][:-3]) * UNITS[pods["memory"][-3:]],
            hugepages_2mi=int(pods.get("hugepages_2Mi", 0)),
            hugepages_1gi=int(pods.get("hugepages_1Gi", 0)),
            runtime=pods.get("runtime", CRUN),
            management=pods.get("management", ""),
            policies=int(pods.get("policies", 0)),
            options=pods.get("options", {}),
        ),
        lab_ports=tuple(data.get("lab_ports", ())),
        functions=data.get("functions", {}),
        data=data,
    )


def network_spec(name: str, data: Mapping[str, Any], dut_cpus: tuple[int, ...] = ()) -> NetworkSpec:
    """Return one entry of `networks`, of a file that keeps to its schema, as a record."""
    return NetworkSpec(
        name=name,
        driver=data["driver"],
        plugin_dir=data.get("plugin_dir"),
        uplink=data.get("uplink", "none"),
        model=data.get("model"),
        vlan_id=int(data["vlan_id"]) if "vlan_id" in data else None,
        conflist=data.get("conflist"),
        options=data.get("options", {}),
        dut_cpus=dut_cpus,
    )
