"""A tester that outlives SIGKILL, as one in the hands of a NIC's driver, is not waited for without end."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any, cast

import pytest

from bmwg.drivers.traffic.embedded import process
from bmwg.drivers.traffic.trex.channel import ClientProcess
from bmwg.drivers.traffic.trex.server import Server
from bmwg.drivers.traffic.watchdog import process as watchdog
from bmwg.drivers.traffic.watchdog.process import Watch
from bmwg.methodology.errors import DriverError


class Held:
    """A process that outlives SIGKILL; who waits for it without a deadline fails here at once."""

    pid = 7

    def __init__(self) -> None:
        self.killed = 0
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO()

    def poll(self) -> None:
        return None

    def kill(self) -> None:
        self.killed += 1

    def send_signal(self, number: int) -> None:
        return None

    def wait(self, timeout: float | None = None) -> int:
        assert timeout is not None
        raise subprocess.TimeoutExpired(["tester"], timeout)


def test_the_embedded_tester_is_given_up() -> None:
    tester, held = process.TesterProcess(process.EmbeddedConfig()), Held()
    tester._process = cast("Any", held)
    tester.stop()
    assert (held.killed, tester.pid) == (1, None)


def test_trex_s_server_is_given_up_and_its_log_is_closed() -> None:
    server, held = cast("Any", object.__new__(Server)), Held()
    server._process, server._log, server._prefix = held, io.BytesIO(), "bmwg-of-nobody"
    server._switched_off = [("/run/bmwg/of-nobody", "p0", ["tx-tcp-segmentation"])]  # gone with its place
    server.stop()
    assert (held.killed, server._log.closed) == (1, True)


@pytest.mark.parametrize("kind", [ClientProcess, Watch])
def test_trex_s_client_and_the_watch_are_given_up_and_their_pipes_are_closed(kind: type) -> None:
    one, held = cast("Any", object.__new__(kind)), Held()
    one._process = held
    one.close()
    assert (held.killed, held.stdin.closed, held.stdout.closed) == (1, True, True)


def test_a_watch_that_answers_late_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late answer would be that of the question after it: a trial would have another one's counts."""
    monkeypatch.setattr(watchdog, "REPLY_S", 0.1)
    late = "import sys, time; sys.stdin.readline(); time.sleep(0.4); print(1, flush=True); time.sleep(60)"
    watch = cast("Any", object.__new__(Watch))
    watch._buffer = b""
    watch._process = subprocess.Popen(
        [sys.executable, "-S", "-c", late], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        with pytest.raises(DriverError, match="WATCH-02"):
            watch.arm()
        watch._process.wait(10)  # it would go on for a minute
        with pytest.raises(DriverError, match="WATCH-02"):
            watch.arm()
    finally:
        watch.close()
