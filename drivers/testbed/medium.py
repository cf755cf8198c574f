"""The medium between tester and device: as a testbed file names it, or as the cabled ports tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import lab_port, pci_port
from bmwg.drivers.testbed.file import CABLE, TESTER, VETH, VHOST_USER, NodeKind, Testbed, with_settings
from bmwg.methodology.errors import ConfigError

VIRTUAL = "veth"  # what it is where the file names none: virtual Ethernet, without a rate
ETHERNET = "ethernet"
_KEY = "medium"
_BOTH = 2  # ports of the tester


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """What lies between tester and device; `line_rate_bps` is its rate, bit/s (None: it has none)."""

    kind: str = VIRTUAL
    line_rate_bps: int | None = None


def medium_of(testbed: Testbed) -> Medium:
    """Return the medium of a testbed file that keeps to its schema.

    Where the file names none it is what the tester's links are: virtual Ethernet, vhost-user, or one of each.
    """
    if _KEY in testbed.data:
        return Medium(**testbed.data[_KEY])
    sockets = len(testbed.socket_ports)
    return Medium(kind=(VIRTUAL, f"{VIRTUAL} and {VHOST_USER}", VHOST_USER)[sockets])


def _interface(end: str) -> str:
    """Return the interface of a cable's end, which may be named by the PCI address of its NIC."""
    return next((name for name in pci_port.names_of(port=end) if ":" not in name), end)


def with_medium(testbed: Testbed) -> Testbed:
    """Return a testbed that names its medium, read from the ports of this machine that cables join.

    Those of hosts are held against it once their link is seen (`require_rate`). What lies between two ports
    only a person knows, so a rate that the file names stays; above that of a port it is refused, and where
    both ports are sockets, or one is an end of a veth pair, any. Call it before the ports are borrowed.
    Raises ConfigError PORT-05.
    """
    stated = medium_of(testbed).line_rate_bps
    if stated is not None and len(testbed.socket_ports) == _BOTH:
        raise _without_rate(testbed, f"both ports of the tester are {VHOST_USER} sockets, which have none")
    if pairs := _made_pairs(testbed):
        if stated is None:
            return testbed
        raise _without_rate(testbed, f"{', '.join(pairs)} of the tester: an end of a veth pair has none")
    hosts = {node.name for node in testbed.nodes if node.kind is NodeKind.SSH}
    if testbed.tester.host is not None:
        hosts.add(TESTER)
    ends = [
        end.interface
        for link in testbed.links
        if link.kind == CABLE and TESTER in (link.a.node, link.b.node)
        for end in (link.a, link.b)
        if end.node not in hosts
    ]
    if not ends or (_KEY in testbed.data and stated is None):
        return testbed
    if all(lab_port.is_pair(interface=_interface(end)) for end in ends):
        if stated is None:
            return testbed
        raise _without_rate(testbed, f"{', '.join(ends)}: an end of a veth pair has none")
    rates = {end: lab_port.line_rate_bps(interface=_interface(end)) for end in ends}
    told = ", ".join(f"{name} {rate or 'none'}" for name, rate in rates.items())
    least = min((rate for rate in rates.values() if rate is not None), default=None)
    if stated is None and (None in rates.values() or len(set(rates.values())) != 1):
        raise ConfigError(
            "PORT-05",
            f"testbed file {testbed.file}: medium; nothing was started",
            expected="one line rate, bit/s, that all cabled ports tell, or `medium` in the file",
            found=told,
            hint="set the ports up and look at their links, or name `medium` in the file (docs/lab.md)",
        )
    if stated is not None and least is not None and stated > least:
        raise ConfigError(
            "PORT-05",
            f"testbed file {testbed.file}: medium.line_rate_bps; nothing was started",
            expected=f"at most the rate of each cabled port, bit/s: {told}",
            found=str(stated),
        )
    if stated is not None:
        return testbed
    return with_settings(testbed, {(_KEY,): {"kind": ETHERNET, "line_rate_bps": least}}, "its ports' rate")


def _made_pairs(testbed: Testbed) -> list[str]:
    """Return the tester's ports that are ends of pairs which the run makes."""
    ends = {str(end) for link in testbed.links if link.kind == VETH for end in (link.a, link.b)}
    return [port for port in testbed.tester.ports if port in ends]


def _without_rate(testbed: Testbed, why: str, done: str = "nothing was started") -> ConfigError:
    return ConfigError(
        "PORT-05",
        f"testbed file {testbed.file}: medium.line_rate_bps; {done}",
        expected=f"no rate: {why}",
        found=str(medium_of(testbed).line_rate_bps),
    )


def require_rate(testbed: Testbed, link: Mapping[str, JsonValue]) -> None:
    """Hold a cable of the tester against the medium; ConfigError PORT-05 where an end tells a lower rate."""
    stated = medium_of(testbed).line_rate_bps
    ends = (link["a"], link["b"])
    if stated is None or TESTER not in {end["node"] for end in ends}:
        return
    for end in ends:
        if end.get("kind") == VETH and f"{end['node']}/{end['interface']}" in testbed.tester.ports:
            why = f"{end['interface']} of the tester is an end of a veth pair"
            raise _without_rate(testbed, why, done="no traffic was sent")
        rate = end.get("line_rate_bps")
        if rate is not None and int(rate) < stated:
            port = end.get("interface", end.get("port"))
            raise ConfigError(
                "PORT-05",
                f"interface {port} of node {end['node']}; no traffic was sent",
                expected=f"the rate of the medium, {stated} bit/s, or more",
                found=f"{rate} bit/s",
                hint="look at what both ends of that cable negotiate, or name `medium` in the testbed file",
            )
