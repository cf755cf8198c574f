"""A tester made of packet sockets: resolves, sends and receives single frames inside network namespaces."""

import contextlib
import ipaddress
import os
import socket
import struct
import time
from pathlib import Path

from tests.beside import FOLDERS

from bmwg.drivers.nodes.netns import within

_ETH_P_ALL = 3
_PACKET_OUTGOING = 4


def open_socket(netns, interface):
    """Open a packet socket on an interface of another network namespace; this process stays where it is."""

    def opened():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        made.bind((interface, 0))
        return made

    return within(netns, opened)


def octets(mac):
    return bytes.fromhex(mac.replace(":", ""))


def host(address):
    return ipaddress.ip_interface(address).ip


class PacketTester:
    """Two packet sockets on a deployment's ports."""

    def __init__(self, ports):
        self.ports = ports
        self.sockets = [open_socket(port.netns, port.device) for port in ports]

    def close(self):
        for opened in self.sockets:
            opened.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def receive(self, number, wanted, deadline_s=2.0):
        """Return the first incoming frame for which `wanted` holds, or None; others are dropped."""
        due_s = time.monotonic() + deadline_s
        while (left_s := due_s - time.monotonic()) > 0:
            self.sockets[number].settimeout(left_s)
            try:
                frame, address = self.sockets[number].recvfrom(65536)
            except TimeoutError:
                return None
            if address[2] != _PACKET_OUTGOING and wanted(frame):
                return frame
        return None

    def chatter(self, seconds):
        """Return every frame that comes to either port by itself within the time."""
        found = []
        due_s = time.monotonic() + seconds
        for number in (0, 1):
            while frame := self.receive(number, lambda _: True, max(0.01, due_s - time.monotonic())):
                found.append((number, frame))
        return found

    def resolve(self, number):
        """Return the destination MAC of frames from a port, by ARP where no peer is fixed."""
        port = self.ports[number]
        if port.peer_mac is not None:
            return octets(port.peer_mac)
        mine, asked = host(port.ipv4).packed, ipaddress.ip_address(port.gateway_ipv4).packed
        head = b"\xff" * 6 + octets(port.mac) + b"\x08\x06"
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + octets(port.mac) + mine + b"\0" * 6 + asked
        self.sockets[number].send((head + body).ljust(60, b"\0"))
        answer = self.receive(number, lambda frame: frame[12:14] == b"\x08\x06" and frame[28:32] == asked)
        assert answer is not None, f"no ARP answer from {port.gateway_ipv4} at {port.name}"
        return answer[22:28]

    def carry(self, source, marker, *, ipv6=False, frame_octets=64, to=""):
        """Send one test frame from port `source` and return it as it came out at the other, or None.

        `to` is another address than the other port's own.
        """
        mine, other = self.ports[source], self.ports[1 - source]
        there = host(to or (other.ipv6 if ipv6 else other.ipv4)).packed
        payload_octets = frame_octets - 4 - 14 - (40 if ipv6 else 20) - 8
        payload = marker.ljust(payload_octets, b".")
        head = self.resolve(source) + octets(mine.mac)
        if ipv6:
            datagram = _udp6(host(mine.ipv6).packed, there, payload)
            frame = head + b"\x86\xdd" + datagram
        else:
            frame = head + b"\x08\x00" + _udp4(host(mine.ipv4).packed, there, payload)
        self.sockets[source].send(frame)
        return self.receive(1 - source, lambda seen: marker in seen)


def _sum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _udp4(source, destination, payload):
    def header(checksum):
        return (
            struct.pack("!BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, checksum)
            + source
            + destination
        )

    return header(_sum(header(0))) + struct.pack("!HHHH", 49152, 7, 8 + len(payload), 0) + payload


def _udp6(source, destination, payload):
    length = 8 + len(payload)
    pseudo = source + destination + struct.pack("!IHBB", length, 0, 0, 17)
    plain = struct.pack("!HHHH", 49152, 7, length, 0) + payload
    checksum = _sum((pseudo + plain).ljust(len(pseudo + plain) + length % 2, b"\0")) or 0xFFFF
    udp = struct.pack("!HHHH", 49152, 7, length, checksum) + payload
    return struct.pack("!IHBB", 0x6000_0000, length, 17, 64) + source + destination + udp


def traces(run_dir, token):
    """Return what exists on this machine that a deployment makes: for comparison before and after."""
    namespaces = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if _descends(int(entry.name)):
                    namespaces.add(os.readlink(entry / "ns" / "net"))
    # os.walk passes over what ends meanwhile: other tests and runs have groups too
    below = ((root, name) for root, folders, _ in os.walk("/sys/fs/cgroup") for name in folders)
    cgroups = sorted(os.path.join(root, name) for root, name in below if token in name)
    mounts = [
        line
        for line in Path("/proc/self/mounts").read_text().splitlines()
        if "bmwg" in line and line.split()[1] not in FOLDERS
    ]
    cached = sorted(
        str(path) for path in run_dir.rglob("*") if path.is_file() and path.name != "ledger.jsonl"
    )
    return {
        "network namespaces": len(namespaces),
        "cgroups": cgroups,
        "processes": sorted(_named(pid) for pid in _children()),
        "mounts": mounts,
        "files": cached,
    }


def _named(pid):
    """Return a process's name and state, by which one that stays is known in a failure."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "ended"
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return f"{name} {'zombie' if rest.split()[0] == 'Z' else 'runs'}"


def _children():
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _descends(int(name))]


def _descends(pid):
    """Whether a process comes from this one (other runs on the machine are none of ours)."""
    seen = pid
    while seen > 1:
        if seen == os.getpid():
            return True
        try:
            stat = Path(f"/proc/{seen}/stat").read_text()
        except OSError:
            return False
        seen = int(stat.rpartition(")")[2].split()[1])
    return False
