"""What keeps CPUs awake: which way is taken, why another, and that nothing of it outlives its process."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import eventually

from bmwg.drivers.nodes import cgroups
from bmwg.drivers.watch import awake
from bmwg.drivers.watch.awake import Awake, current, hold, kept_awake, limit_us, release
from bmwg.methodology.trial.keep_awake import Held, KeepAwake, sentence

CPU = min(os.sched_getaffinity(0))
NO_SUCH_CPU = 100_000


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine that heeds requests: its device is a file, its driver of idle states has a name."""
    device, driver = tmp_path / "cpu_dma_latency", tmp_path / "current_driver"
    device.write_bytes(b"")
    driver.write_text("intel_idle\n")
    monkeypatch.setattr(awake, "DEVICE", device)
    monkeypatch.setattr(awake, "IDLE_DRIVER", driver)
    monkeypatch.setattr(awake, "maybe_translated", lambda source: False)
    yield
    assert current() is None


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def opened(path: Path) -> int:
    """How often this process has a file open."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += os.readlink(entry) == str(path)
    return found


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_a_request_is_held_as_long_as_the_block() -> None:
    with kept_awake(KeepAwake.PM_QOS, {CPU}) as held:
        assert held == current() == Held(asked=KeepAwake.PM_QOS, held=KeepAwake.PM_QOS)
        assert opened(awake.DEVICE) == 1
        assert awake.DEVICE.read_bytes() == bytes(4)
    assert opened(awake.DEVICE) == 0


def test_none_is_nothing_and_needs_no_reason() -> None:
    before = children()
    with kept_awake(KeepAwake.NONE, {CPU}) as held:
        assert held == current() == Held(asked=KeepAwake.NONE, held=KeepAwake.NONE)
        assert (opened(awake.DEVICE), children()) == (0, before)


def test_a_device_that_is_not_there_gives_spinners_and_the_reason() -> None:
    awake.DEVICE.unlink()
    before = children()
    with kept_awake(KeepAwake.PM_QOS, {CPU}) as held:
        assert held.held is KeepAwake.SPIN
        assert held.reason == f"{awake.DEVICE}: {os.strerror(errno.ENOENT)}"
        assert held.cpus == (CPU,)
        (spinner,) = children() - before
        assert os.sched_getaffinity(spinner) == {CPU}
        assert os.sched_getscheduler(spinner) == os.SCHED_IDLE
        told = sentence(held.as_json())
        assert told.startswith(f"CPUs {CPU} were kept from halting by a process of idle priority on each")
        assert "the profile asked for pm_qos" in told
    assert children() == before
    assert not runs(spinner)


@pytest.mark.parametrize("device", ["/dev/full", "/dev/null"])  # takes no request; tells no limit
def test_a_device_that_takes_no_request_is_left_closed(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "DEVICE", Path(device))
    before = opened(Path(device))
    with kept_awake(KeepAwake.PM_QOS, {CPU}) as held:
        assert held.held is KeepAwake.SPIN
        assert held.reason.startswith(f"{device}: ")
        assert opened(Path(device)) == before


def test_a_request_that_is_not_in_force_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake.os, "pread", lambda *about: struct.pack("=i", awake.NO_REQUEST_US))
    with kept_awake(KeepAwake.PM_QOS, {CPU}) as held:
        assert held.held is KeepAwake.SPIN
        assert "2000000000 us are in force after 0 us were asked for" in held.reason
        assert opened(awake.DEVICE) == 0


@pytest.mark.parametrize("driver", ["none\n", "", None])
def test_without_a_driver_of_idle_states_a_request_would_be_heeded_by_nobody(driver: str | None) -> None:
    if driver is None:
        awake.IDLE_DRIVER.unlink()
    else:
        awake.IDLE_DRIVER.write_text(driver)
    with kept_awake(KeepAwake.PM_QOS, {CPU}) as held:
        assert held.held is KeepAwake.SPIN
        assert "no driver of idle states" in held.reason
        assert opened(awake.DEVICE) == 0


@pytest.mark.parametrize("asked", [KeepAwake.PM_QOS, KeepAwake.SPIN])
def test_a_translated_machine_holds_nothing_and_says_why(
    asked: KeepAwake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awake, "maybe_translated", lambda source: True)
    before = children()
    with kept_awake(asked, {CPU}) as held:
        assert held.held is KeepAwake.NONE
        assert "QEMU translates" in held.reason
        assert (opened(awake.DEVICE), children()) == (0, before)


def test_a_spinner_runs_on_each_cpu_and_none_afterwards() -> None:
    cpus, before = os.sched_getaffinity(0), children()
    with kept_awake(KeepAwake.SPIN, cpus) as held:
        assert held == current() == Held(asked=KeepAwake.SPIN, held=KeepAwake.SPIN, cpus=tuple(sorted(cpus)))
        spinners = children() - before
        assert sorted(cpu for pid in spinners for cpu in os.sched_getaffinity(pid)) == sorted(cpus)
        assert opened(awake.DEVICE) == 0
    assert [pid for pid in spinners if runs(pid)] == []
    assert children() == before


def test_a_spinner_that_is_killed_holds_nothing_any_more() -> None:
    before = children()
    with kept_awake(KeepAwake.SPIN, {CPU}):
        (spinner,) = children() - before
        os.kill(spinner, signal.SIGKILL)
        assert eventually(lambda: (now := current()) is not None and now.held is KeepAwake.NONE)
        now = current()
        assert now is not None
        assert (now.asked, now.reason) == (KeepAwake.SPIN, "a spinner ended before its time")
    assert children() == before


@pytest.mark.parametrize(
    ("cpus", "reason"),
    [
        ({CPU, NO_SUCH_CPU}, f"no process of idle priority could run on CPU {NO_SUCH_CPU}"),
        (set(), "no CPU was named"),
    ],
)
def test_spinners_that_do_not_all_run_are_ended(cpus: set[int], reason: str) -> None:
    before = children()
    with kept_awake(KeepAwake.SPIN, cpus) as held:
        assert held == current() == Held(asked=KeepAwake.SPIN, held=KeepAwake.NONE, reason=reason)
        assert children() == before


def test_both_reasons_stand_where_neither_way_is_open() -> None:
    awake.DEVICE.unlink()
    with kept_awake(KeepAwake.PM_QOS, {NO_SUCH_CPU}) as held:
        assert held.held is KeepAwake.NONE
        first, second = held.reason.split("; ")
        assert str(awake.DEVICE) in first
        assert str(NO_SUCH_CPU) in second


def test_an_error_within_the_block_ends_it_too() -> None:
    before = children()
    with pytest.raises(RuntimeError), Awake(KeepAwake.SPIN, {CPU}):
        raise RuntimeError("as if a cell had failed")
    assert children() == before


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup of the CPU controller that this test made."""
    folder = cgroups.root_of("cpu") / f"bmwg-awake-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    try:
        yield folder
    finally:
        assert eventually(lambda: not (folder / "cgroup.procs").read_text())
        folder.rmdir()


def test_a_spinner_takes_no_group_s_share_from_pods_beside_it(group: Path) -> None:
    """As idle as it is, it would have the share of its parent's group against other groups."""
    root = group.parent / "cgroup.procs"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(CPU), str(group / "cgroup.procs")],
        stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        try:
            spinner = parent.stdout.readline().strip()
            assert (group / "cgroup.procs").read_text().split() == [str(parent.pid)]
            assert spinner in root.read_text().split()
        finally:
            parent.kill()


PARENT = """
import os, sys, time
if len(sys.argv) > 2:
    open(sys.argv[2], "w").write("0")
from bmwg.drivers.watch import awake
from bmwg.methodology.trial.keep_awake import KeepAwake
awake.maybe_translated = lambda source: False
with awake.kept_awake(KeepAwake.SPIN, {int(sys.argv[1])}) as held:
    assert held.held is KeepAwake.SPIN, held
    print(open(f"/proc/self/task/{os.getpid()}/children").read().strip(), flush=True)
    time.sleep(60)
"""


def test_spinners_end_when_their_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(CPU)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        spinner = int(parent.stdout.readline())
        try:
            assert runs(spinner)
            parent.kill()
            parent.wait(10)
            assert eventually(lambda: not runs(spinner))
        finally:
            parent.kill()


def test_a_node_holds_one_thing_until_it_is_released() -> None:
    before = children()
    try:
        assert hold(asked="pm_qos") == {"asked": "pm_qos", "held": "pm_qos", "reason": "", "cpus": []}
        cpus = sorted(os.sched_getaffinity(0))
        assert hold(asked="spin") == {"asked": "spin", "held": "spin", "reason": "", "cpus": cpus}
        assert opened(awake.DEVICE) == 0
        assert len(children() - before) == len(cpus)
    finally:
        release()
    assert children() == before
    release()  # what is not held is released without a word


def test_a_node_refuses_a_way_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="pm_qoss"):
        hold(asked="pm_qoss")


def test_a_limit_is_told_only_when_somebody_asked_for_it(tmp_path: Path) -> None:
    device = tmp_path / "device"
    assert limit_us(device) is None
    for octets, expected in (
        (struct.pack("=i", 0), 0),
        (struct.pack("=i", 70), 70),
        (struct.pack("=i", awake.NO_REQUEST_US), None),
        (b"\0", None),
        (b"", None),
    ):
        device.write_bytes(octets)
        assert limit_us(device) == expected
