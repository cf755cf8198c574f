"""That test traffic stays within the run: shown before it starts, watched while it flows (RFC 6815).

Before: each port lies in a namespace of the run or is a declared lab port, and no interface of the run's
namespaces leads anywhere else. During: packet sockets on every other interface of the machine's own namespace
take test frames alone; one is enough. Their filter runs in the kernel, on traffic that is none of the run's.
Ids: ISO-01 a port outside, ISO-02 an interface that leads out, ISO-03 a test frame outside: the run stops.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.protocols import JsonValue, Node, TesterPort
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.nodes.netns import in_initial_namespace
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports.interfaces import rtnetlink
from bmwg.drivers.testbed.file import CABLE
from bmwg.methodology.errors import TestbedError

_ETH_P_ALL = 3
_SO_ATTACH_FILTER = 26
_NOT_ASSIGNED = 0xFFFFFFFF  # of a namespace id
_IFF_UP = 1
_IN_POD = "pod "
_BUFFER_OCTETS = 1 << 16  # one frame is a leak; the rest may be dropped
_SYS_NET = Path("/sys/class/net")
_TEST_ETHERTYPE = 0x88B5  # of the embedded tester's frames without IP
_SIGNATURE_OCTETS, _SIGNATURE_SUM = 14, 0x5AC3  # seven words of the machine's byte order
_IN_NAMESPACE = {"xdp", "af_xdp", "af_packet"}

_Step = tuple[int, int | str, int | str, int]  # operation, jump if true, if false, operand
_LDH, _LDW, _AND, _JEQ, _RET = 0x28, 0x20, 0x54, 0x15, 0x06
_BENCHMARK_IPV4 = (0xFFFE0000, 0xC6120000)  # 198.18.0.0/15, rfc2544 appendix C
_BENCHMARK_IPV6 = 0x20010002  # 2001:2::/48, rfc5180


def require_own_ports(
    ports: Collection[TesterPort], lab_ports: Collection[str], machine: Calls = HERE
) -> None:
    """TestbedError ISO-01 for a port in its machine's own namespace that is no declared lab port."""
    for port in ports:
        if port.io not in _IN_NAMESPACE or port.device in lab_ports:
            continue
        if machine.call(in_initial_namespace, netns=port.netns):
            raise TestbedError(
                "ISO-01",
                f"tester port {port.name} ({port.device}); no traffic was sent",
                expected="a network namespace of the run, or a name in lab_ports",
                found="the machine's own network namespace",
            )


def require_closed(bed: Bed) -> None:
    """TestbedError ISO-02 when an interface in one of the run's namespaces leads out of all of them.

    An interface leads out when its other end lies in a namespace that is none of the run's, or when it is a
    device of the machine that the testbed file does not name: as lab port, or on a host as the end of a
    cable. Its name also stands for its virtual functions. That of a pod on a user's cluster may lead to the
    cluster as long as it is down.
    """
    borrowed: dict[str, set[str]] = {}  # ends of cables, by their nodes
    for link in bed.testbed.links:
        for end in (link.a, link.b) if link.kind == CABLE else ():
            borrowed.setdefault(end.node, set()).add(end.interface)
    for names in _by_machine(bed):
        there = {bed.guests.host(name) or name for name in names}
        ports = {port for name in there for port in borrowed.get(name, ())}
        found = _surveyed(bed, names)
        lent = set(bed.testbed.lab_ports) if there.isdisjoint(bed.hosts) else ports
        own = {one["bus_address"] for _, one in found if one["name"] in lent} - {""}
        for where, interface in found:
            if interface["name"] in borrowed.get(where.removeprefix("node "), ()):
                continue
            if where.startswith(_IN_POD) and interface["elsewhere"] and not interface["up"]:
                continue
            if reason := _leads_out(interface, lent | own):
                raise TestbedError(
                    "ISO-02",
                    f"interface {interface['name']} of {where}; no traffic was sent",
                    expected="interfaces that end within the run, or lab ports",
                    found=reason,
                    hint="name it in lab_ports if test traffic may use it",
                )


def _by_machine(bed: Bed) -> Collection[Collection[str]]:
    """Return the names of nodes, those on one machine together."""
    found: dict[str, list[str]] = {}
    for name in bed.nodes:
        where = bed.guests.host(name) or name
        found.setdefault(bed.hosts[where].name if where in bed.hosts else "", []).append(name)
    return found.values()


def _surveyed(bed: Bed, names: Collection[str]) -> list[tuple[str, dict[str, JsonValue]]]:
    """Return each interface of these nodes and of their pods, with the words for where it is."""
    found: list[tuple[str, dict[str, JsonValue]]] = []
    for name in names:
        pids = _of_one_kernel(bed, name)
        seen = bed.host(name).call(survey, pids=pids)
        # a guest's NIC is a device of its machine, and ends at a tap in a node of the run
        found += [(f"node {name}", one) for one in seen if one["name"] != bed.guests.nic(name)]
        for pod in bed.pods.values():
            if pod.node.name == name:
                handed = {attached.attachment.interface for attached in pod.attached if attached.took_nic}
                inside = pod.inside(survey, pids=pids)
                # a veth for a NIC, borrowed by the node: what it is was asked then
                lent = [one for one in inside if one["name"] in handed and not one["device"]]
                found += [(f"{_IN_POD}{pod.pod_id}", one) for one in inside if one not in lent]
    return found


def _of_one_kernel(bed: Bed, name: str) -> list[int]:
    """Return the processes whose namespaces are the run's, on the machine that a node is of.

    A guest is a machine of its own, and so is a host; all other nodes are namespaces of this one.
    """
    guests = bed.guests.names
    if name in guests:
        there = [name]
    else:
        machine = bed.node(name).machine
        there = [node for node in bed.nodes if node not in guests and bed.node(node).machine is machine]
    mine = [pod.pid for pod in bed.pods.values() if pod.node.name in there]
    return [*(bed.host(one).pid for one in there), *mine]


def _leads_out(interface: Mapping[str, JsonValue], lab_ports: Collection[str]) -> str:
    names = {interface["name"], interface["bus_address"], interface["nic_address"]}
    if interface["device"] and not names & set(lab_ports):
        return "a device of the machine"
    if interface["elsewhere"]:
        return f"a {interface['kind'] or 'link'} whose other end is in a namespace outside the run"
    return ""


def survey(*, pids: list[int]) -> list[dict[str, JsonValue]]:
    """Node function: this namespace's interfaces, and whether each ends in that of one of the processes."""
    with rtnetlink("list interfaces and their other ends") as kernel:
        links = list(kernel.get_links())
        inside = set()
        for pid in pids:
            number = kernel.get_netnsid(pid=pid)["nsid"]
            if number not in (None, _NOT_ASSIGNED):
                inside.add(number)
    seen: list[dict[str, JsonValue]] = []
    for link in links:
        name, other_end = link.get_attr("IFLA_IFNAME"), link.get_attr("IFLA_LINK_NETNSID")
        device = _SYS_NET / name / "device"
        seen.append(
            {
                "name": name,
                "kind": link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or "",
                "device": device.exists(),
                "bus_address": device.resolve().name if device.exists() else "",
                "nic_address": (device / "physfn").resolve().name if (device / "physfn").exists() else "",
                "up": bool(link["flags"] & _IFF_UP),
                "elsewhere": other_end is not None and other_end not in inside,
            }
        )
    return seen


class LeakWatch:
    """Packet sockets on all interfaces of the caller's namespace but the lab ports. Needs CAP_NET_RAW.

    `check` raises ISO-03 when one of them has seen a test frame. With `signed`, only frames with the embedded
    tester's signature count: a VPN may use benchmarking addresses for purposes of its own. `hosts` are
    watched likewise by their agents, each beside the ports that the run has there; nothing is asked of them
    between `begin` and `check`.
    """

    def __init__(
        self,
        lab_ports: Collection[str] = (),
        *,
        signed: bool = False,
        hosts: Sequence[tuple[Node, Collection[str]]] = (),
    ) -> None:
        self._hosts = hosts
        self._lab_ports = frozenset(lab_ports)
        self._signed = signed
        self._sockets: dict[tuple[int, str], socket.socket] = {}
        self._frames = 0

    def __enter__(self) -> LeakWatch:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()

    def begin(self) -> None:
        """Look at the interfaces that are there now; call it before each trial."""
        now = {(index, name) for index, name in socket.if_nameindex() if name not in self._lab_ports}
        for gone in self._sockets.keys() - now:
            self._sockets.pop(gone).close()
        for index, name in now - self._sockets.keys():
            with contextlib.suppress(OSError):  # it went in this moment
                self._sockets[index, name] = _tap(name)
        self._frames = self._count()
        for host, ports in self._hosts:
            host.call(watch_leaks, lab_ports=list(ports), signed=self._signed)

    def check(self) -> int:
        """Return how many frames all these interfaces carried since `begin`; raises TestbedError ISO-03.

        Those of hosts are looked at, and not among the frames that are counted.
        """
        for host, _ in self._hosts:
            host.call(require_no_leak)
        for (_, name), opened in self._sockets.items():
            frames = (frame for frame in _received(opened) if is_signed(frame) or not self._signed)
            if frame := next(frames, None):
                raise TestbedError(
                    "ISO-03",
                    f"a test frame was seen on interface {name} of the machine's own namespace; the run ends",
                    expected="test frames within the run's namespaces and lab ports only",
                    found=f"a frame of {len(frame)} octets with EtherType 0x{frame[12:14].hex()}",
                    hint="test traffic must not leave the lab (RFC 6815): look for what joins that interface",
                )
        return max(0, self._count() - self._frames)

    def _count(self) -> int:
        """Frames received and sent so far by the watched interfaces."""
        watched = {name for _, name in self._sockets}
        total = 0
        for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
            name, _, rest = line.partition(":")
            if name.strip() in watched:
                words = rest.split()
                total += int(words[1]) + int(words[9])
        return total


_standing: list[LeakWatch] = []  # that of a host's agent


def watch_leaks(*, lab_ports: list[str], signed: bool) -> None:
    """Node function, on a host: look at its interfaces beside these ports, for `require_no_leak`."""
    if not _standing:
        _standing.append(LeakWatch(lab_ports, signed=signed))
    _standing[0].begin()


def require_no_leak() -> int:
    """Node function, on a host: what `LeakWatch.check` does, with the watch that stands there."""
    return _standing[0].check()


def is_signed(frame: bytes) -> bool:
    """Whether a frame without tag carries the embedded tester's signature (docs/adr/0011)."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == 0x0800 and len(frame) > 14:
        start = 14 + (frame[14] & 0x0F) * 4 + 8
    else:
        start = {0x86DD: 14 + 40 + 8, _TEST_ETHERTYPE: 14}.get(kind, len(frame))
    words = frame[start : start + _SIGNATURE_OCTETS]
    if len(words) < _SIGNATURE_OCTETS:
        return False
    total = sum(struct.unpack("=7H", words))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return bool(total == _SIGNATURE_SUM)


def _received(opened: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(BlockingIOError, OSError):  # nothing there; or the interface went down
        while frame := opened.recv(2048):
            yield frame


def _tap(interface: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # takes nothing before its filter stands
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_OCTETS)
        program = b"".join(struct.pack("HBBI", *step) for step in _program())
        memory = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("HL", len(program) // 8, ctypes.addressof(memory))
        opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, header)
        opened.bind((interface, _ETH_P_ALL))
    except OSError:
        opened.close()
        raise
    return opened


def _program() -> list[tuple[int, int, int, int]]:
    """A socket filter that takes test frames alone: by benchmarking address, or by the tester's EtherType.

    The kernel takes an 802.1Q tag out of a frame before a filter sees it: the offsets hold for tagged ones.
    """
    mask, net = _BENCHMARK_IPV4

    def ipv4(at: int) -> list[_Step]:
        return [(_LDW, 0, 0, at), (_AND, 0, 0, mask), (_JEQ, "take", 0, net)]

    def ipv6(at: int) -> list[_Step]:
        return [
            (_LDW, 0, 0, at),
            (_JEQ, 0, 2, _BENCHMARK_IPV6),
            (_LDH, 0, 0, at + 4),
            (_JEQ, "take", 0, 0),
        ]

    bodies: dict[int, list[_Step]] = {
        0x0800: [*ipv4(26), *ipv4(30), (_RET, 0, 0, 0)],
        0x0806: [*ipv4(28), *ipv4(38), (_RET, 0, 0, 0)],
        0x86DD: [*ipv6(22), *ipv6(38), (_RET, 0, 0, 0)],
        _TEST_ETHERTYPE: [(_RET, 0, 0, 0xFFFF)],
    }
    steps: list[_Step] = [(_LDH, 0, 0, 12)]
    for ethertype, body in bodies.items():
        steps += [(_JEQ, 0, len(body), ethertype), *body]
    steps += [(_RET, 0, 0, 0), (_RET, 0, 0, 0xFFFF)]
    last = len(steps) - 1
    return [
        (code, last - at - 1 if yes == "take" else int(yes), int(no), number)
        for at, (code, yes, no, number) in enumerate(steps)
    ]
