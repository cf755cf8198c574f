"""What of a lab's ports and cables can serve a run, and what to mend first. Nothing is bound or moved.

Probe frames leave ports that the testbed file names in `lab_ports` alone, and only those that nothing uses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.hosting import cabling, interfaces, lab_port, pci_port
from bmwg.drivers.paths.bed_links import pci_needs
from bmwg.drivers.testbed.file import CABLE, Endpoint, LinkSpec, NodeKind, Testbed
from bmwg.drivers.testbed.medium import with_medium
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.undo.locks import port_claims, reserve_claims
from bmwg.methodology.errors import TestbedError, ToolkitError

LINK_DEADLINE_S = 10.0


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


def check(testbed: Testbed) -> list[Checked]:
    """Look at each end of each cable of this machine, then at the cables; in the order in which to mend.

    Raises what `reserve_claims` raises: a run on these ports goes on. Ports are up while cables are looked
    at, and then as they were.
    """
    remote = [node.name for node in testbed.nodes if node.kind is NodeKind.SSH]
    cables = [link for link in testbed.links if link.kind == CABLE]
    here = [link for link in cables if not {link.a.node, link.b.node} & set(remote)]
    found = [_elsewhere(link) for link in cables if link not in here]
    with reserve_claims(port_claims(testbed)):
        taken = pci_needs(testbed)
        nics: dict[Endpoint, str] = {}
        for end in [end for link in here for end in (link.a, link.b)]:
            one, name = _end(end, taken)
            found.append(one)
            if name:
                nics[end] = name
        found += _cables(here, nics)
        if here and len(nics) == 2 * len(here):
            found.append(_rate(testbed))
    return found


def _end(end: Endpoint, taken: Mapping[Endpoint, int]) -> tuple[Checked, str]:
    """Return what an end is, and its interface where a run can have it."""
    try:
        if end in taken:
            nic = pci_port.require_free(port=end.interface, memory_mib=taken[end])
        else:
            nic = lab_port.require_bare(interface=end.interface)
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


def _elsewhere(link: LinkSpec) -> Checked:
    return Checked(about=f"{link.a} - {link.b}", told="a host over SSH: not looked at in this version")


def _cables(links: Sequence[LinkSpec], nics: Mapping[Endpoint, str]) -> list[Checked]:
    """Look where frames of each end arrive; of a cable with a refused end neither one sends."""
    whole = [link for link in links if link.a in nics and link.b in nics]
    owners = {nics[end]: end for link in whole for end in (link.a, link.b)}
    with _up(sorted(owners)) as linked:
        arrived = cabling.heard(ports=sorted(linked)) if linked else {}
    found = []
    for link in whole:
        ends = (nics[link.a], nics[link.b])
        heard = [{owners[name] for name in arrived.get(end, ())} for end in ends]
        found.append(_cable(link, heard, [end in linked for end in ends]))
    return found


def _cable(link: LinkSpec, heard: Sequence[set[Endpoint]], linked: Sequence[bool]) -> Checked:
    about = f"{link.a} - {link.b}"
    ways = [(link.a, link.b, heard[0]), (link.b, link.a, heard[1])]
    if all(where == {other} for _, other, where in ways):
        return Checked(about=about, told="a frame of each end was heard at the other, and nowhere else")
    told = []
    for (end, _, where), up in zip(ways, linked, strict=True):
        places = ", ".join(map(str, sorted(where))) or ("nowhere" if up else "nowhere: it has no link")
        told.append(f"what {end} sent was heard at {places}")
    mend = "cable them as the testbed file says, or write there how they are cabled"
    return Checked(about=about, told="; ".join(told), mend=mend, error_id="LAB-01")


@contextmanager
def _up(ports: Sequence[str]) -> Iterator[list[str]]:
    """Set ports up and give those that have a link; as they were on leaving, by the ledger after a kill."""
    before = {str(one["name"]): bool(one["up"]) for one in interfaces.listing()}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bmwg-lab-")))
        ledger = Ledger(folder / "ledger.jsonl")
        for port in ports:
            number = ledger.before("lab_port", interface=port, up=before[port])
            stack.callback(ledger.undo, number)
            interfaces.up(interface=port)
        linked = []
        for port in ports:
            try:
                lab_port.wait_for_link(interface=port, within_s=LINK_DEADLINE_S)
            except TestbedError:
                continue
            linked.append(port)
        yield linked


def _rate(testbed: Testbed) -> Checked:
    try:
        rate = with_medium(testbed).data["medium"]["line_rate_bps"]
    except ToolkitError as error:
        return _refused("medium", error)
    return Checked(about="medium", told=f"{rate} bit/s")
