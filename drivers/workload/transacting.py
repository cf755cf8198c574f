"""The client of transactions: connections that open when they are due, in phases, each transaction counted.

One thread over epoll, on the clients' node. Nothing waits for an answer but the connection that asked: a
function that is slow has more connections open, and no fewer transactions offered. A connection that could
not open in time by this client's own fault (its CPU, its ports, its files) is counted as unsent.
"""

from __future__ import annotations

import errno
import gc
import resource
import select
import socket
import ssl
import time
from collections import deque
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.workload.tls_client import Trust
from bmwg.drivers.workload.transaction_counts import Counts, Phase, read_head
from bmwg.drivers.workload.transaction_load import HELD_TRANSACTIONS, Load

_AT_ONCE = 32  # choice: connections that open before answers are looked at again
_BLOCK = 262_144
_FILES = 1_048_576


class _Connection:
    __slots__ = (
        "asked_ns",
        "asks",
        "began_ns",
        "counted",
        "deadline_ns",
        "done",
        "established",
        "first_ns",
        "head",
        "left",
        "sock",
        "state",
    )

    def __init__(self, sock: socket.socket, began_ns: int, *, counted: bool, deadline_ns: int) -> None:
        self.sock = sock
        self.began_ns = began_ns
        self.asked_ns = began_ns
        self.deadline_ns = deadline_ns
        self.counted = counted  # of the sustain phase
        self.done = 0
        self.established = False
        self.first_ns = 0
        self.head = b""
        self.left = -1  # octets of the body that are still to come; -1 before its length is known
        self.asks = True  # a transaction is under way
        self.state = _CONNECTING


_CONNECTING, _SHAKING, _ASKING = range(3)


class Transactions:
    """One load while it is offered."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._context = load.trust.context() if load.trust else None
        self._request = (
            f"GET {load.target} HTTP/1.1\r\nHost: {load.host}\r\nUser-Agent: bmwg\r\nAccept: */*\r\n\r\n"
        ).encode()
        self._poll = select.epoll()
        self._standing: dict[int, _Connection] = {}
        self._waiting: deque[tuple[int, _Connection]] = deque()  # by when each has to have its answer
        self._pausing: deque[tuple[int, _Connection]] = deque()  # held ones, by when each asks again
        self._counts = Counts()
        self._phase = Phase(0, 0)

    def run(self) -> dict[str, Any]:
        """Offer all of it; returns the fields of a sustain phase, what was unsent, and the time it took."""
        load = self._load
        began_ns = time.monotonic_ns()
        from_ns = began_ns + load.ramp_ns
        to_ns = from_ns + load.sustain_ns
        self._phase = Phase(from_ns, to_ns)
        stands = not load.held
        number, all_of_them = 0, load.connections
        due_ns = began_ns + load.due_ns(0)
        due = 0
        end_ns = to_ns + round(load.timeout_s * 1e9)
        while True:
            now_ns = time.monotonic_ns()
            turn = 0
            while number < all_of_them and due_ns <= now_ns and turn < _AT_ONCE:
                counted = bool(load.held) or due_ns >= from_ns
                due += counted
                self._begin(due_ns, now_ns, counted=counted)
                turn += 1
                number += 1
                due_ns = began_ns + load.due_ns(number)
                now_ns = time.monotonic_ns()
            self._ask_again(now_ns)
            self._overdue(now_ns)
            if not stands and now_ns >= from_ns and number == all_of_them and self._all_stand():
                # rfc9411-4.3.4: the sustain phase begins when all clients are active
                stands, to_ns = True, now_ns + load.sustain_ns
                self._phase = self._phase.moved(now_ns, to_ns)
                end_ns = to_ns + round(load.timeout_s * 1e9)
            if not stands:
                to_ns = now_ns + load.sustain_ns
                self._phase = self._phase.moved(now_ns, to_ns)
            if now_ns >= to_ns and (load.held or not self._standing or now_ns >= end_ns):
                break
            wait_ns = min(to_ns if now_ns < to_ns else end_ns, now_ns + 50_000_000) - now_ns
            if number < all_of_them:
                wait_ns = min(wait_ns, due_ns - now_ns)
            if self._pausing:
                wait_ns = min(wait_ns, self._pausing[0][0] - now_ns)
            for descriptor, _ in self._poll.poll(max(0, wait_ns) / 1e9, 512):
                connection = self._standing.get(descriptor)
                if connection is not None:
                    self._step(connection)
        self._phase.advance(time.monotonic_ns())
        for connection in list(self._standing.values()):  # the ramp down: held ones close, others are overdue
            if load.held:
                self._close(connection)
            else:
                self._fail(connection, "no answer in time")
        self._poll.close()
        counts = self._counts
        return {
            "sustain": counts.told(load, due, self._phase),
            "unsent": counts.unsent,
            "why_unsent": dict(counts.why_unsent),
            "took_ns": time.monotonic_ns() - began_ns,
        }

    def _all_stand(self) -> bool:
        """Whether no connection is still being opened."""
        return all(connection.state == _ASKING for connection in self._standing.values())

    def _begin(self, due_ns: int, now_ns: int, *, counted: bool) -> None:
        load = self._load
        if now_ns - due_ns > load.late_ns and not load.held:
            if counted:
                self._counts.unsent_for("the client was late")
            return
        family = socket.AF_INET6 if ":" in load.address else socket.AF_INET
        try:
            sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            if counted:
                self._counts.unsent_for(_word(error))
            return
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            began_ns = time.monotonic_ns()
            code = sock.connect_ex((load.address, load.port))
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, errno.errorcode.get(code, str(code)))
        except OSError as error:
            sock.close()
            if counted and error.errno in (errno.EADDRNOTAVAIL, errno.EAGAIN, errno.ENOBUFS):
                self._counts.unsent_for(_word(error))
            elif counted:
                self._counts.opened += 1
                self._counts.tried += 1
                self._counts.failures[_word(error)] += 1
            return
        deadline_ns = began_ns + round(load.timeout_s * 1e9)
        connection = _Connection(sock, began_ns, counted=counted, deadline_ns=deadline_ns)
        if counted:
            self._counts.opened += 1
            self._counts.tried += 1
        self._standing[sock.fileno()] = connection
        self._waiting.append((deadline_ns, connection))
        self._poll.register(sock.fileno(), select.EPOLLOUT)

    def _step(self, connection: _Connection) -> None:
        try:
            if connection.state == _CONNECTING:
                code = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code:
                    raise OSError(code, errno.errorcode.get(code, str(code)))
                self._phase.open(time.monotonic_ns(), 1)
                connection.established = True
                if self._context is None:
                    self._ask(connection)
                    return
                assert self._load.trust is not None
                descriptor = connection.sock.fileno()
                connection.sock = self._context.wrap_socket(
                    connection.sock,
                    server_hostname=self._load.trust.name,
                    do_handshake_on_connect=False,
                )
                assert connection.sock.fileno() == descriptor  # taken over
                connection.state = _SHAKING
            if connection.state == _SHAKING:
                self._shake(connection)
            elif connection.state == _ASKING:
                self._receive(connection)
        except ssl.SSLWantReadError:
            if connection.state == _SHAKING:
                self._poll.modify(connection.sock.fileno(), select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._poll.modify(connection.sock.fileno(), select.EPOLLOUT)
        except BlockingIOError:
            pass  # the rest of an answer is still to come
        except OSError as error:
            if error.errno in (errno.ECONNRESET, errno.EPIPE) and connection.counted:
                self._counts.resets += 1
            self._fail(connection, _word(error))

    def _shake(self, connection: _Connection) -> None:
        tls = connection.sock
        assert isinstance(tls, ssl.SSLSocket)
        tls.do_handshake()
        if connection.counted:
            cipher = tls.cipher()
            self._counts.negotiated[f"{tls.version()} {cipher[0] if cipher else ''}"] += 1
            self._counts.resumed += bool(tls.session_reused)
        self._ask(connection)

    def _ask(self, connection: _Connection) -> None:
        connection.state = _ASKING
        if connection.done:
            connection.asked_ns = time.monotonic_ns()
        connection.first_ns, connection.head, connection.left, connection.asks = 0, b"", -1, True
        self._poll.modify(connection.sock.fileno(), select.EPOLLIN)
        if connection.sock.send(self._request) != len(self._request):
            raise OSError(errno.ENOBUFS, "the request did not fit the socket's buffer")

    def _receive(self, connection: _Connection) -> None:
        while True:
            block = connection.sock.recv(_BLOCK)
            if not block:
                if not connection.asks:  # a held one, between two requests
                    connection.asks = True
                    self._tried(connection)
                self._fail(connection, "closed before its answer was whole")
                return
            if not connection.asks:
                self._fail(connection, "octets that nobody asked for")
                return
            if not connection.first_ns:
                connection.first_ns = time.monotonic_ns()
            if connection.left < 0:
                connection.head += block
                head, end, rest = connection.head.partition(b"\r\n\r\n")
                if not end:
                    continue
                wrong, length = read_head(head)
                if wrong or length != self._load.octets:
                    self._fail(connection, wrong or "an object of another size")
                    return
                connection.left, block = length, rest
            connection.left -= len(block)
            if connection.left < 0:
                self._fail(connection, "more octets than were announced")
                return
            if not connection.left:
                self._complete(connection)
                return

    def _complete(self, connection: _Connection) -> None:
        now_ns = time.monotonic_ns()
        self._phase.complete(now_ns)
        if connection.counted:
            self._counts.first_ns.append(connection.first_ns - connection.asked_ns)
            self._counts.last_ns.append(now_ns - connection.asked_ns)
            self._counts.body_octets += self._load.octets
        connection.done += 1
        connection.asks = False
        connection.deadline_ns = 0
        if self._load.held:
            if connection.done < HELD_TRANSACTIONS:
                self._pausing.append((connection.asked_ns + self._load.pause_ns, connection))
        elif connection.done < self._load.per_connection:
            self._next(connection, now_ns)
        else:
            self._close(connection)

    def _next(self, connection: _Connection, now_ns: int) -> None:
        connection.deadline_ns = now_ns + round(self._load.timeout_s * 1e9)
        self._waiting.append((connection.deadline_ns, connection))
        self._tried(connection)
        self._ask(connection)

    def _tried(self, connection: _Connection) -> None:
        if connection.counted:
            self._counts.tried += 1

    def _ask_again(self, now_ns: int) -> None:
        while self._pausing and self._pausing[0][0] <= now_ns < self._phase.to_ns:
            _, connection = self._pausing.popleft()
            if connection.sock.fileno() < 0:
                continue
            try:
                self._next(connection, now_ns)
            except OSError as error:
                self._counts.resets += error.errno in (errno.ECONNRESET, errno.EPIPE)
                self._fail(connection, _word(error))

    def _overdue(self, now_ns: int) -> None:
        while self._waiting and self._waiting[0][0] <= now_ns:
            deadline_ns, connection = self._waiting.popleft()
            if connection.deadline_ns == deadline_ns and connection.sock.fileno() >= 0:
                self._fail(connection, "no answer in time")

    def _fail(self, connection: _Connection, why: str) -> None:
        if connection.counted and (connection.asks or not self._load.held):
            self._counts.failed_by(why)
        self._close(connection)

    def _close(self, connection: _Connection) -> None:
        if connection.established:
            self._phase.open(time.monotonic_ns(), -1)
            connection.established = False
        self._standing.pop(connection.sock.fileno(), None)
        connection.deadline_ns = 0
        connection.sock.close()


def _word(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'no handshake'}".replace("_", " ").lower()
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def run(*, load: dict[str, JsonValue], trust: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    """Node function: offer a load (fields of `Load`), by TLS where `trust` has the fields of `Trust`."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, _FILES), most))
    gc.disable()  # its pauses would be in the latencies
    try:
        return Transactions(Load(**load, trust=Trust(**trust) if trust else None)).run()
    finally:
        gc.enable()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
