"""Hosts that are lost amid a run: where it ends by their name, where it is a cell's fault, and going on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.contract.frame_lab import GENERATOR, FrameLab, frame_lab
from tests.contract.lab_support import needs_sshd
from tests.contract.test_lab_frames import left, only_run
from tests.contract.test_tester_host import wait_for_trial

from bmwg.drivers.nodes import process
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_sshd]
THE_WIRE, NODE = "CN-TPUT-1.1", "CN-TPUT-1.2"
INTERRUPTED = 130
LOST = "NODE-23 the {host}'s host is lost"


def sessions(lab: FrameLab, host: str) -> list[int]:
    """The processes that carry connections to a host."""
    place = os.stat(f"/proc/{lab.machines[host].pid}/ns/net").st_ino
    found = []
    for pid, words in process.each("cmdline"):
        with suppress(OSError):
            session = words[0].startswith(b"sshd") and b"listener" not in words[0]
            if session and os.stat(f"/proc/{pid}/ns/net").st_ino == place:
                found.append(pid)
    return found


def without_power(lab: FrameLab, host: str) -> None:
    """End all that runs on a host for a run, at once."""
    ended = sessions(lab, host)
    for parent in ended:  # grows meanwhile: each one's children too
        with suppress(OSError):
            ended += [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    for pid in ended:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def silent(lab: FrameLab, host: str) -> None:
    """Let a host answer no more, while its connections stand."""
    for pid in sessions(lab, host):
        os.kill(pid, signal.SIGSTOP)


def agent_killed(lab: FrameLab, label: str) -> None:
    """Kill the processes of one label, as the kernel does that is out of memory."""
    labelled = [
        pid
        for pid, words in process.each("environ")
        if any(one.startswith(b"BMWG_OWNER=") and one.endswith(label.encode()) for one in words)
    ]
    assert labelled
    for pid in labelled:
        os.kill(pid, signal.SIGKILL)


@contextmanager
def a_run(lab: FrameLab, amid: str) -> Iterator[list[str]]:
    """A run of wire and node, from its first trial on a path until its end; gives what it says then."""
    told: list[str] = []
    with subprocess.Popen(
        lab.command("run", *lab.given, "--test", THE_WIRE, "--test", NODE),
        env=lab.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as runner:
        wait_for_trial(lab, runner, amid)
        yield told
        said, _ = runner.communicate(timeout=300)
    told += [said, str(runner.returncode)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tester", "host", "named", "amid", "lose"),
    [
        ("runner", "dut1", "dut1", "node/", without_power),
        (GENERATOR, GENERATOR, "tester", "wire/", without_power),
        (GENERATOR, "dut1", "dut1", "wire/", silent),
    ],
)
def test_a_host_that_is_lost_ends_the_run_by_its_name_and_the_run_goes_on_with_its_open_cells(
    tmp_path: Path, tester: str, host: str, named: str, amid: str, lose: Callable[[FrameLab, str], None]
) -> None:
    with frame_lab(tmp_path / "lab", tester=tester) as lab:
        before = lab.listed()
        with a_run(lab, amid) as told:
            lose(lab, host)
        said, status = told
        assert int(status) == INTERRUPTED, said
        folder = only_run(lab)
        run = read_run(folder)
        assert run.status == "interrupted"
        assert LOST.format(host=named) in (run.interruption or "")
        assert LOST.format(host=named) in said
        assert [one.cell.path for one in run.outcomes if one.type.value == "invalid"] == []
        assert [trial.fault for trial in run.trials if trial.fault] == []  # none that the loss made
        without_power(lab, host)  # the silent one, too, before it is there again
        lab.cable(of=host)
        cleaned = lab.bmwg("cleanup", str(folder))
        assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
        assert lab.listed() == before
        resumed = lab.bmwg("resume", str(folder))
        assert "report:" in resumed.stdout, resumed.stdout + resumed.stderr
        run = read_run(folder)
        assert run.status == "complete"
        assert {one.cell.path for one in run.outcomes} == {"wire", "node"}
        invalid = [one.reason for one in run.outcomes if one.type.value == "invalid"]
        # all "hosts" have one kernel, whose other processes a record sees as well
        assert [reason for reason in invalid if not reason.startswith("the platform changed")] == []
        (break_,) = run.interruptions
        assert LOST.format(host=named) in break_["reason"]
        assert break_["trial_cut_off"]["cell"].startswith(amid)
        found = verify_folder(folder)
        assert not found.findings, [str(one) for one in found.findings]
        assert lab.listed() == before
        assert not left(lab)


@pytest.mark.slow
def test_a_nodes_agent_that_is_killed_on_a_host_that_answers_is_the_fault_of_its_cells(
    tmp_path: Path,
) -> None:
    """That of a tester is one as well: `test_tester_host.py`."""
    with frame_lab(tmp_path / "lab") as lab:
        with a_run(lab, "node/") as told:
            agent_killed(lab, "-dut1")
        run = read_run(only_run(lab))
        assert run.status == "complete", told
        (node,) = [one for one in run.outcomes if one.cell.path == "node"]
        assert node.type.value == "invalid"
        assert "NODE-23" not in node.reason
        assert not verify_folder(run.folder).findings
