"""A gate answers nobody before it is opened, and then all that wait; on loopback."""

from __future__ import annotations

import socket
import time

import pytest

from bmwg.drivers.workload.gate import Gate


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def asking(port: int, text: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(text.encode())
    return connection


def request(number: int) -> str:
    return f"GET /begin/{number} HTTP/1.1\r\nHost: gate\r\n\r\n"


def look_for(gate: Gate, numbers: set[int]) -> None:
    end_s = time.monotonic() + 10
    while gate.waiting != numbers and time.monotonic() < end_s:
        gate.look(0.01)
    assert gate.waiting == numbers


def test_nobody_is_let_go_before_it_is_opened(port: int) -> None:
    with (
        Gate("127.0.0.1", port) as gate,
        asking(port, request(1)) as first,
        asking(port, request(2)) as other,
    ):
        look_for(gate, {1, 2})
        first.settimeout(0.05)
        with pytest.raises(TimeoutError):
            first.recv(1)
        before = time.time_ns()
        instant = gate.open()
        assert before <= instant <= time.time_ns()
        first.settimeout(10)
        assert first.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        assert other.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_request_may_come_in_pieces_and_others_are_none(port: int) -> None:
    with (
        Gate("127.0.0.1", port) as gate,
        asking(port, request(3)[:9]) as slow,
        asking(port, "GET /other HTTP/1.1\r\n\r\n"),
        asking(port, "GET /begin/x HTTP/1.1\r\n\r\n"),
    ):
        gate.look(0.1)
        assert gate.waiting == set()
        slow.sendall(request(3)[9:].encode())
        look_for(gate, {3})


def test_whoever_goes_away_no_longer_waits_and_may_come_again(port: int) -> None:
    with Gate("127.0.0.1", port) as gate:
        with asking(port, request(5)):
            look_for(gate, {5})
        look_for(gate, set())
        with asking(port, request(5)) as again:
            look_for(gate, {5})
            gate.open()
            assert again.recv(100)


def test_whoever_sends_no_end_of_a_request_is_forgotten(port: int) -> None:
    with Gate("127.0.0.1", port) as gate, asking(port, "GET /begin/1 HTTP/1.1\r\n") as endless:
        endless.sendall(b"x" * 20_000)
        gate.look(0.2)
        assert gate.waiting == set()
