"""A guest's start keeps to one deadline, and its end leaves nothing open, whatever of it does not end."""

from __future__ import annotations

import subprocess
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bmwg.drivers.machines import guest, qemu_machine
from bmwg.drivers.machines.guest import GuestNode
from bmwg.drivers.machines.qemu import Accelerator, MachineSpec
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.methodology.errors import DriverError

SPEC = MachineSpec(name="vm0", cpus=1, memory_octets=1 << 20, accelerator=Accelerator.TCG)


class Process:
    """QEMU's process as its maker sees it; it ends once it was waited for `ends_after` times."""

    def __init__(self, ends_after: int) -> None:
        self.waited, self.killed, self._ends_after = 0, 0, ends_after

    def poll(self) -> None:
        return None

    def wait(self, timeout: float) -> int:
        self.waited += 1
        if self.waited <= self._ends_after:
            raise subprocess.TimeoutExpired(["qemu"], timeout)
        return 0

    def kill(self) -> None:
        self.killed += 1


def made(ends_after: int, closed: list[str]) -> tuple[Machine, Process]:
    machine, process = Machine(SPEC), Process(ends_after)
    machine._process = cast("Any", process)
    machine.pid = 7
    machine._stack.callback(closed.append, "sockets and logs")
    return machine, process


@pytest.mark.parametrize(("ends_after", "killed"), [(0, 0), (1, 1)])
def test_one_that_does_not_quit_is_killed(ends_after: int, killed: int) -> None:
    machine, process = made(ends_after, closed := [])
    machine.stop()
    assert (process.killed, closed) == (killed, ["sockets and logs"])


def test_one_that_outlives_sigkill_is_told_by_name_and_the_rest_is_closed() -> None:
    machine, _ = made(2, closed := [])
    with pytest.raises(DriverError, match=r"^VM-14 ") as caught:
        machine.stop()
    assert "process 7" in caught.value.found
    assert closed == ["sockets and logs"]


def test_a_node_that_cannot_be_closed_keeps_qemu_from_nothing() -> None:
    machine, process = made(1, closed := [])

    def broken() -> None:
        raise OSError("the channel")

    machine._node = cast("Any", SimpleNamespace(close=broken))
    with pytest.raises(OSError, match="the channel"):
        machine.stop()
    assert (process.killed, closed) == (1, ["sockets and logs"])


def test_a_guest_s_first_answer_is_within_the_deadline_of_its_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(io: object, spec: object) -> SimpleNamespace:
        time.sleep(0.3)
        return SimpleNamespace()

    monkeypatch.setattr(guest, "_ChannelIO", lambda connection, model: None)
    monkeypatch.setattr(guest, "_greet", late)
    node = GuestNode(
        "vm0",
        cast("Any", SimpleNamespace()),
        boot_deadline_s=20.0,
        broken_machine=lambda: None,
        console=list,
        describe=dict,
    )
    node._group = SimpleNamespace(
        allocate_id=lambda spec: None, execmodel=None, _register=lambda gateway: None
    )
    node._start(SimpleNamespace())
    assert 1.0 <= node.start_deadline_s <= 19.7


def test_who_waits_for_a_start_waits_longer_than_the_start_itself_does() -> None:
    """The node that hosts a guest is given up with all that it has when a call outlasts its deadline."""
    boot_s = qemu_machine.BOOT_DEADLINE_S
    answer_s, first_call_s, monitor_s, asked_s, root_s, end_s = boot_s, boot_s, 10.0, 15.0, 30.0, 25.0
    longest_s = answer_s + first_call_s + monitor_s + asked_s + root_s + end_s
    assert qemu_machine.start_deadline_s(boot_s) > longest_s
