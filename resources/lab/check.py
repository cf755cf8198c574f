"""What of a lab's hosts, ports and cables can serve a run, and what to mend first. Nothing is bound or moved.

Probe frames leave ports alone that the testbed file names, in `lab_ports` or on hosts as ends of cables, and
only those that nothing uses.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import probe
from bmwg.drivers.nodes.here import HERE, Here
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.paths.bed_links import pci_needs
from bmwg.drivers.paths.cables import misled
from bmwg.drivers.ports import cabling, interfaces, lab_port, pci_port
from bmwg.drivers.testbed.file import CABLE, Endpoint, LinkSpec, NodeKind, Testbed
from bmwg.drivers.testbed.hosts import HostSpec, hosts_of
from bmwg.drivers.testbed.medium import medium_of, with_medium
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.undo.locks import port_claims, reserve_claims
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.resources.run.machines import Machines

LINK_DEADLINE_S = 10.0
_CLOCKS_APART_S = 60.0  # choice: records and journals of two hosts are read side by side
Machine = Here | SshNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One thing that was looked at: `mend` is empty where nothing is to be done, `told` what was found."""

    about: str
    told: str
    mend: str = ""
    error_id: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing is to be mended."""
        return not self.error_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that was looked at, and what the doctor says of hosts that answered, by their names."""

    checked: Sequence[Checked]
    of_hosts: Mapping[str, Sequence[Mapping[str, JsonValue]]]


def check(testbed: Testbed) -> Found:
    """Look at each host, at each end of each cable, then at the cables; in the order in which to mend.

    Raises what `reserve_claims` raises: a run on these ports goes on. Ports are up while cables are looked
    at, and then as they were.
    """
    cables = [link for link in testbed.links if link.kind == CABLE]
    local = [node.name for node in testbed.nodes if node.kind is not NodeKind.SSH]
    with ExitStack() as stack:
        stack.enter_context(reserve_claims(port_claims(testbed)))
        found: list[Checked] = []
        of_hosts = {}
        machines: dict[str, Machine] = dict.fromkeys(["tester", *local], HERE)
        for spec in hosts_of(testbed):
            one, host = _host(stack, spec)
            found.append(one)
            if host is not None:
                machines |= dict.fromkeys(spec.nodes, host)
                of_hosts[spec.name] = Machines({spec.name: host}, tests_from_here=False).examine(
                    None, testbed
                )
        taken = pci_needs(testbed)
        nics: dict[Endpoint, str] = {}
        reached = [link for link in cables if {link.a.node, link.b.node} <= machines.keys()]
        for end in [end for link in reached for end in (link.a, link.b)]:
            one, name = _end(machines[end.node], end, taken)
            found.append(one)
            if name:
                nics[end] = name
        found += _cables(reached, nics, machines)
        if cables and len(nics) == 2 * len(cables):
            found.append(_rate(testbed))
        return Found(checked=found, of_hosts=of_hosts)


def _host(stack: ExitStack, spec: HostSpec) -> tuple[Checked, SshNode | None]:
    """Return what a host is, and the host where a run can have it; `stack` lets it go."""
    about = f"host of {', '.join(spec.nodes)}"
    try:
        hosts = stack.enter_context(open_hosts([spec]))
        Machines(hosts, tests_from_here=False)
        host = hosts[spec.name]
        told = host.call(probe.identify)
        apart_s = float(host.call(probe.wall_clock_s)) - time.time()
    except ToolkitError as error:
        return _refused(about, error), None
    words = f"Linux {told['kernel']}, Python {told['python']}, clock {abs(apart_s):.1f} s apart from this one"
    if abs(apart_s) > _CLOCKS_APART_S:
        mend = "set the clocks of both by NTP or PTP: records of two hosts are read side by side"
        return Checked(about=about, told=words, mend=mend, error_id="LAB-03"), host
    return Checked(about=about, told=words), host


def _end(machine: Machine, end: Endpoint, taken: Mapping[Endpoint, int]) -> tuple[Checked, str]:
    """Return what an end is, and its interface where a run can have it."""
    try:
        if end in taken:
            nic = machine.call(pci_port.require_free, port=end.interface, memory_mib=taken[end])
        else:
            nic = machine.call(lab_port.require_bare, interface=end.interface)
    except ToolkitError as error:
        return _refused(str(end), error), ""
    return Checked(about=str(end), told=_words(nic)), str(nic["interface"])


def _words(nic: Mapping[str, JsonValue]) -> str:
    parts = [f"{nic['driver'] or nic['kind']}", f"MTU {nic['mtu_octets']}"]
    if "address" in nic:
        parts.insert(0, str(nic["address"]))
        parts.append(f"firmware {nic['firmware'] or 'not told'}")
        node = nic["numa_node"]
        parts.append(f"IOMMU group {nic['iommu_group']}, NUMA node {'not told' if node is None else node}")
    return ", ".join(parts)


def _refused(about: str, error: ToolkitError) -> Checked:
    expected = f"expected {error.expected}, " if error.expected else ""
    return Checked(
        about=about,
        told=f"{error.what}: {expected}found {error.found or 'none'}",
        mend=error.hint,
        error_id=error.error_id,
    )


def _cables(
    links: Sequence[LinkSpec], nics: Mapping[Endpoint, str], machines: Mapping[str, Machine]
) -> list[Checked]:
    """Look where frames of each end arrive; of a cable with a refused end neither one sends."""
    whole = [link for link in links if link.a in nics and link.b in nics]
    ends = [end for link in whole for end in (link.a, link.b)]
    with ExitStack() as stack:
        places: list[tuple[Node, dict[str, str]]] = []
        for machine in dict.fromkeys(machines.values()):
            mine = {nics[end]: str(end) for end in ends if machines[end.node] is machine}
            linked = stack.enter_context(up(machine, sorted(mine)))
            places.append((machine, {name: mine[name] for name in linked}))
        arrived = cabling.heard(places) if ends else {}
    found = []
    for link in whole:
        about = f"{link.a} - {link.b}"
        wrong = misled(link, arrived)
        if wrong:
            mend = "cable them as the testbed file says, or write there how they are cabled"
            found.append(Checked(about=about, told=wrong, mend=mend, error_id="LAB-01"))
        else:
            told = "a frame of each end was heard at the other, and nowhere else"
            found.append(Checked(about=about, told=told))
    return found


@contextmanager
def up(machine: Machine, ports: Sequence[str]) -> Iterator[list[str]]:
    """Set ports up and give those that have a link; as they were on leaving, by the ledger after a kill."""
    before = {str(one["name"]): bool(one["up"]) for one in machine.call(interfaces.listing)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bmwg-lab-")))
        ledger = Ledger(folder / "ledger.jsonl")
        for port in ports:
            number = ledger.before("lab_port", machine.place, interface=port, up=before[port])
            stack.callback(ledger.undo, number, {machine.name: machine})
            machine.call(interfaces.up, interface=port)
        linked = []
        for port in ports:
            try:
                machine.call(lab_port.wait_for_link, interface=port, within_s=LINK_DEADLINE_S)
            except TestbedError:
                continue
            linked.append(port)
        yield linked


def _rate(testbed: Testbed) -> Checked:
    try:
        medium = medium_of(with_medium(testbed))
    except ToolkitError as error:
        return _refused("medium", error)
    rate = medium.line_rate_bps
    return Checked(about="medium", told=f"{rate} bit/s" if rate else f"{medium.kind}, without a rate")
