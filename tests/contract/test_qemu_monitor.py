"""The control channel against a real QEMU that has no guest: fast, and the same program."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from bmwg.drivers.machines import qemu
from bmwg.drivers.machines.qemu_monitor import Monitor
from bmwg.methodology.errors import DriverError

pytestmark = pytest.mark.skipif(
    qemu.probe_program() is not None, reason=f"needs {qemu.PROGRAM}: {qemu.QEMU_LINE}"
)


@pytest.fixture
def empty_machine() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        argv = [str(qemu.program()), "-M", "none", "-nodefaults", "-display", "none", "-S"]
        argv += ["-chardev", f"socket,id=m,fd={far.fileno()}", "-mon", "chardev=m,mode=control"]
        started = subprocess.Popen(argv, pass_fds=[far.fileno()], stdin=subprocess.DEVNULL)
        far.close()
        yield started, near
        started.kill()
        started.wait(5)


def test_it_answers_and_tells_what_accelerates(
    empty_machine: tuple[subprocess.Popen[bytes], socket.socket],
) -> None:
    monitor = Monitor("g", empty_machine[1])
    assert monitor.execute("query-kvm")["enabled"] is False
    monitor.close()
    monitor.close()
    with pytest.raises(DriverError) as caught:
        monitor.execute("query-kvm")
    assert caught.value.error_id == "VM-07"


def test_a_refused_command_is_an_error_and_the_next_one_is_answered(
    empty_machine: tuple[subprocess.Popen[bytes], socket.socket],
) -> None:
    monitor = Monitor("g", empty_machine[1])
    with pytest.raises(DriverError) as caught:
        monitor.execute("no-such-command")
    assert caught.value.error_id == "VM-07"
    assert monitor.execute("query-status")["status"] in ("prelaunch", "paused")
    monitor.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_qemu_that_is_gone_or_hangs_is_found_out_in_bounded_time(
    empty_machine: tuple[subprocess.Popen[bytes], socket.socket], number: signal.Signals
) -> None:
    monitor = Monitor("g", empty_machine[1])
    os.kill(empty_machine[0].pid, number)
    began_s = time.monotonic()
    with pytest.raises(DriverError) as caught:
        monitor.execute("query-status", deadline_s=1.0)
    monitor.close()
    assert caught.value.error_id == "VM-07"
    assert time.monotonic() - began_s < 6.0


def test_a_far_end_that_says_nothing_is_no_monitor() -> None:
    near, far = socket.socketpair()
    with near, far, pytest.raises(DriverError) as caught:
        Monitor("g", near, deadline_s=0.5)
    assert caught.value.error_id == "VM-07"
