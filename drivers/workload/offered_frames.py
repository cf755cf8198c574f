"""Frames that are offered one by one, from before a path exists until it is gone; what comes out is timed.

Two packet sockets on the tester's ports and one thread. Until the device answers for its address, what is
offered is the question for it (ARP); then a UDP datagram. Times are of the monotonic clock.
"""

from __future__ import annotations

import ctypes
import ipaddress
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes import netns
from bmwg.drivers.paths.probe_frame import checksum
from bmwg.methodology.kinds.acts.records import ActsSpec

_ETH_P_ALL = 3
_OUTGOING = 4  # PACKET_OUTGOING
_ARP, _IPV4 = b"\x08\x06", b"\x08\x00"
_HEADERS_OCTETS = 14 + 20 + 8
_FCS_OCTETS = 4
HOP_LIMIT = 64
_AT_HOP_LIMIT = 22
_ASK_AGAIN = 32  # choice: frames in vain after which the device's address is asked for again
_UDP_PORTS = (49152, 7)
ON_ITS_WAY_S = 0.2  # choice: so long a frame may be on its way
_SO_ATTACH_FILTER = 26  # asm-generic/socket.h
_PACKET_KIND = 0xFFFFF000 + 4  # SKF_AD_OFF + SKF_AD_PKTTYPE: how a filter asks where a frame came from
LEAST_FRAME_OCTETS = 64  # its 18 octets of payload hold the mark of 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of the frames since `begin`: counts, and times of the monotonic clock in ns.

    `not_before_ns` is when the last was offered that did not come before `first_ns`. `bypassed` were not
    forwarded by all routers of the path: they went round the pod, and are in no other count.
    """

    offered: int
    received: int
    reordered: int
    bypassed: int
    not_before_ns: int | None
    first_ns: int | None
    last_ns: int | None


class OfferedFrames:
    """Offers frames at the first port and looks for them at the second, until it is left.

    `tells_at` is the octet of a frame by which it tells which way it came.
    """

    tells_at: ClassVar[int] = _AT_HOP_LIMIT

    def __init__(
        self,
        ports: tuple[TesterPort, TesterPort],
        *,
        frame_octets: int,
        interval_us: int,
        routers: int,
        answers: bool = False,
    ) -> None:
        """`answers`: say at the second port that its address is there, to whoever asks (ARP)."""
        self._ports = ports
        self._answers = answers
        self._interval_s = interval_us / 1e6
        self._hop_limit_left = HOP_LIMIT - routers  # of a frame that took the whole path
        self._token = secrets.token_bytes(8)
        self._octets = frame_octets - _FCS_OCTETS
        self._stop = threading.Event()
        self._came = threading.Event()
        self._pauses = threading.Event()
        self._lock = threading.Lock()
        self._failed: BaseException | None = None
        self._number = 0
        self._forget()

    def _forget(self) -> None:
        known = self._ports[0].peer_mac
        self._peer: bytes | None = _octets(known) if known else None
        self._first_number = self._number
        self._times: list[int] = []  # when something was offered, a question for the address as well
        self._sent: dict[int, int] = {}
        self._received: dict[int, int] = {}  # when each came
        self._highest = -1
        self._reordered = 0
        self._bypassed: set[int] = set()
        self._at: tuple[int | None, int | None] = (None, None)
        self._not_before: int | None = None
        self._in_vain = 0
        self._came.clear()

    @contextmanager
    def offering(self) -> Iterator[OfferedFrames]:
        """Offer frames until this is left. Raises TestbedError NETNS-01."""
        opened = [netns.within(port.netns, partial(self._opened, port.device)) for port in self._ports]
        thread = threading.Thread(target=self._run, args=(opened,), name="offered frames", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join(5.0)
            for one in opened:
                one.close()

    def _opened(self, device: str) -> socket.socket:
        """Open a socket that takes answers about addresses and these frames, not those of others."""
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        first, second = struct.unpack("!II", self._token)
        program = b"".join(
            struct.pack("HBBI", *one)
            for one in (
                (0x20, 0, 0, _PACKET_KIND),  # ld: the kind of packet
                (0x15, 7, 0, _OUTGOING),  # one that leaves is no answer: drop
                (0x28, 0, 0, 12),  # ldh: EtherType
                (0x15, 4, 0, 0x0806),  # ARP: take
                (0x20, 0, 0, _HEADERS_OCTETS),  # ld: the mark's first half
                (0x15, 0, 3, first),
                (0x20, 0, 0, _HEADERS_OCTETS + 4),
                (0x15, 0, 1, second),
                (0x06, 0, 0, 0xFFFFFFFF),  # take
                (0x06, 0, 0, 0),  # drop
            )
        )
        held = ctypes.create_string_buffer(program, len(program))
        told = struct.pack("HL", len(program) // 8, ctypes.addressof(held))
        opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, told)
        opened.bind((device, _ETH_P_ALL))
        opened.setblocking(False)
        return opened

    def begin(self) -> int:
        """Begin a life: forget what was seen before; returns the time."""
        with self._lock:
            self._forget()
            return time.monotonic_ns()

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Offer nothing until this is left; what is on its way is waited for first."""
        self._pauses.set()
        try:
            time.sleep(ON_ITS_WAY_S)
            yield
        finally:
            self._pauses.clear()

    def wait(self, within_s: float) -> bool:
        """Wait for the first frame that comes out; tells whether one did. Raises what ended the offering."""
        end_s = time.monotonic() + within_s
        while not self._came.wait(0.1):
            if self._failed is not None:
                raise self._failed
            if time.monotonic() > end_s:
                return False
        return True

    def seen(self, until_ns: int | None = None) -> Seen:
        """Return what came since `begin`; of what was offered, and of that came, until that time alone."""
        with self._lock:
            sent = [number for number, at in self._sent.items() if until_ns is None or at <= until_ns]
            return Seen(
                offered=len(sent),
                received=sum(number in self._received for number in sent),
                reordered=self._reordered,
                bypassed=sum(one in self._bypassed and one not in self._received for one in sent),
                not_before_ns=self._not_before,
                first_ns=self._at[0],
                last_ns=self._at[1],
            )

    @property
    def oddities(self) -> tuple[int, int]:
        """How many came after a later one, and how many went round and came by no path, since `begin`."""
        with self._lock:
            return self._reordered, len(self._bypassed - self._received.keys())

    def stopped(self) -> tuple[int, int, int] | None:
        """Say between which frames they stopped, of those that were offered since `begin`.

        Returns when the last that came was offered, when it came, and when the one after it was offered; None
        while the last one that was offered came.
        """
        with self._lock:
            if not self._received:
                return None
            last = self._highest
            if last + 1 not in self._sent:
                return None
            return self._sent[last], self._received[last], self._sent[last + 1]

    def between(self, from_ns: int, until_ns: int) -> tuple[int, int]:
        """Return how many frames were offered in that time, and how many of these came."""
        with self._lock:
            offered = [number for number in self._since(from_ns) if self._sent[number] <= until_ns]
            return len(offered), sum(number in self._received for number in offered)

    def again(self, since_ns: int) -> int | None:
        """Return when the first of the frames came that were offered since that time; None while none did."""
        with self._lock:
            found = [self._received[number] for number in self._since(since_ns) if number in self._received]
            return min(found, default=None)

    def _since(self, since_ns: int) -> Iterator[int]:
        """Yield the frames that were offered since a time, the last first: few, however many there are."""
        number = self._number - 1
        while number in self._sent and self._sent[number] >= since_ns:
            yield number
            number -= 1

    def _run(self, opened: list[socket.socket]) -> None:
        try:
            due_s = time.monotonic()
            while not self._stop.is_set():
                wait_s = due_s - time.monotonic()
                if wait_s <= 0:
                    if not self._pauses.is_set():
                        self._offer(opened[0])
                    due_s = time.monotonic() + self._interval_s
                    continue
                for ready in select.select(opened, [], [], wait_s)[0]:
                    self._take(ready, 0 if ready is opened[0] else 1)
        except BaseException as error:  # told to whoever waits
            self._failed = error

    def _offer(self, out: socket.socket) -> None:
        with self._lock:
            again = not self._received and self._in_vain >= _ASK_AGAIN and not self._ports[0].peer_mac
            asks = self._peer is None or again
            frame = self._question() if asks else self._frame(self._number)
            self._times.append(time.monotonic_ns())
            if asks:
                self._in_vain = 0
            else:
                self._sent[self._number] = self._times[-1]
                self._number += 1
                self._in_vain += 1
        with suppress(OSError):  # a port that is down for a moment loses what is sent to it
            out.send(frame)

    def _take(self, ready: socket.socket, side: int) -> None:
        try:
            frame, address = ready.recvfrom(65536)
        except OSError:
            return
        now_ns = time.monotonic_ns()
        if address[2] == _OUTGOING:
            return
        gateway = ipaddress.ip_address(self._ports[0].gateway_ipv4 or "0.0.0.0").packed
        with self._lock:
            if side == 0 and frame[12:14] == _ARP and frame[20:22] == b"\x00\x02" and frame[28:32] == gateway:
                self._peer = frame[22:28]
            elif side == 1 and (at := frame.find(self._token)) > 0:
                (number,) = struct.unpack_from("!Q", frame, at + len(self._token))
                self._count(number, now_ns, told=self._told(frame))
            elif side == 1 and self._answers and self._is_asked_for(frame):
                with suppress(OSError):
                    ready.send(self._answer(frame))

    def _count(self, number: int, now_ns: int, *, told: int) -> None:
        if number < self._first_number or number in self._received or number not in self._sent:
            return
        if not self._passed(number, told):
            self._bypassed.add(number)
            return
        if not self._received:
            # a frame may have waited within the device: later ones were offered meanwhile, and had not come
            others = [at_ns for at_ns in self._times[-2:] if at_ns != self._sent[number]]
            self._not_before = others[-1] if others else None
            self._at = (now_ns, now_ns)
            self._came.set()
        self._received[number] = now_ns
        self._reordered += number < self._highest
        self._highest = max(self._highest, number)
        self._at = (self._at[0], now_ns)

    def _told(self, frame: bytes) -> int:
        """Return what a frame tells of its way."""
        return frame[self.tells_at]

    def _passed(self, number: int, told: int) -> bool:
        """Whether a frame passed all routers of the path, by what they left of its hop limit."""
        return told == self._hop_limit_left

    def _is_asked_for(self, frame: bytes) -> bool:
        asks = frame[12:14] == _ARP and frame[20:22] == b"\x00\x01"
        return asks and frame[38:42] == _host(self._ports[1].ipv4)

    def _answer(self, question: bytes) -> bytes:
        """Return the answer to a question for the second port's address."""
        mac, mine = _octets(self._ports[1].mac), _host(self._ports[1].ipv4)
        asking = question[22:32]  # MAC and address
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + mac + mine + asking
        return (asking[:6] + mac + _ARP + body).ljust(LEAST_FRAME_OCTETS - _FCS_OCTETS, b"\0")

    def _question(self) -> bytes:
        port = self._ports[0]
        mac, mine = _octets(port.mac), _host(port.ipv4)
        asked = ipaddress.ip_address(port.gateway_ipv4 or "0.0.0.0").packed
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + mine + bytes(6) + asked
        return (b"\xff" * 6 + mac + _ARP + body).ljust(LEAST_FRAME_OCTETS - _FCS_OCTETS, b"\0")

    def _frame(self, number: int) -> bytes:
        port, other = self._ports
        mark = self._token + struct.pack("!Q", number)
        payload = mark.ljust(self._octets - _HEADERS_OCTETS, b"\0")
        head = struct.pack(
            "!BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, HOP_LIMIT, 17, 0,
        ) + _host(port.ipv4) + _host(other.ipv4)  # fmt: skip
        head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
        udp = struct.pack("!HHHH", *_UDP_PORTS, 8 + len(payload), 0)  # 0: no checksum, as IPv4 allows
        return (self._peer or b"") + _octets(port.mac) + _IPV4 + head + udp + payload


def frames_of(
    spec: ActsSpec, ports: tuple[TesterPort, TesterPort], routers: int, *, answers: bool = False
) -> OfferedFrames:
    """Return frames as acts ask for them, past so many routers."""
    return OfferedFrames(
        ports,
        frame_octets=spec.frame_octets,
        interval_us=spec.interval_us,
        routers=routers,
        answers=answers,
    )


def _octets(mac: str | None) -> bytes:
    return bytes.fromhex((mac or "").replace(":", ""))


def _host(address: str | None) -> bytes:
    return ipaddress.ip_interface(address or "0.0.0.0").ip.packed
