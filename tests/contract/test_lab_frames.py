"""Runs of frames whose device is on another host over SSH: answers, records, refusals, what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.frame_lab import RUNNER, SWAPPED, FrameLab, frame_lab
from tests.contract.lab_support import needs_sshd

from bmwg.drivers.nodes import process
from bmwg.drivers.testbed.file import load_testbed
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.schemas.validation import problems

pytestmark = [pytest.mark.root, needs_sshd]
WIRE, NODE, PVP = "CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[FrameLab]:
    with frame_lab(tmp_path / "lab") as made:
        yield made


def only_run(lab: FrameLab) -> Path:
    (journal,) = lab.results.glob("*/trials.jsonl")
    return journal.parent


def left(lab: FrameLab) -> list[str]:
    """Files of runs on any machine, and agents that outlived theirs."""
    nodes = {node.pid for node in lab.machines.values()}
    named = process.each("environ")
    return [
        *lab.files(),
        *(
            f"process {pid}"
            for pid, labels in named
            if pid not in nodes
            and any(str(lab.folder).encode() in one for one in labels)
            and any(one.startswith(process.OWNER_VARIABLE.encode()) for one in labels)
        ),
    ]


def test_crossed_cables_are_refused_before_a_test_frame_is_sent(tmp_path: Path) -> None:
    with frame_lab(tmp_path / "lab", SWAPPED) as lab:
        before = lab.listed()
        done = lab.run("--test", NODE)
        assert "LAB-01" in done.stdout + done.stderr
        assert "what tester/eth1 sent was heard at dut1/eth4" in done.stdout + done.stderr
        assert lab.listed() == before
        checked = lab.bmwg("lab", "check", "--testbed", str(lab.testbed))
        assert checked.returncode == 1
        assert checked.stdout.count("MEND  LAB-01") == 2
        assert "ok    host of dut1: Linux" in checked.stdout
        told = lab.bmwg("lab", "check", "--testbed", str(lab.testbed), "--json")
        assert told.returncode == 1
        document = json.loads(told.stdout)
        assert not problems(document, "output")
        assert [one["error_id"] for one in document["checked"] if one["error_id"]] == ["LAB-01"] * 2
        assert lab.listed() == before
        assert not left(lab)


@pytest.mark.quiet
def test_a_run_on_another_host_is_killed_cleared_away_resumed_and_verified(lab: FrameLab) -> None:
    before = lab.listed()
    words = ("run", *lab.given, "--test", WIRE, "--test", NODE, "--test", PVP)
    with subprocess.Popen(
        lab.command(*words), env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as runner:
        end_s = time.monotonic() + 120
        while not any("pvp" in line for line in journal(lab)):
            assert time.monotonic() < end_s
            assert runner.poll() is None
            time.sleep(0.2)
        os.kill(runner.pid, signal.SIGKILL)
        runner.communicate()
    folder = only_run(lab)
    lab.cable()
    cleaned = lab.bmwg("cleanup", str(folder))
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert lab.listed() == before
    assert not left(lab)
    resumed = lab.bmwg("resume", str(folder))
    assert "report:" in resumed.stdout, resumed.stdout + resumed.stderr
    assert lab.listed() == before
    assert not left(lab)
    found = verify_folder(folder)
    assert not found.findings, [str(one) for one in found.findings]
    run = read_run(folder)
    assert {one.cell.path for one in run.outcomes} == {"wire", "node", "pvp"}
    assert all(one.type.value != "invalid" for one in run.outcomes), resumed.stdout
    records = run.platform["records"]
    places = {place for one in records.values() for place in one}
    assert {"tester", "dut1", "tester/host", "dut1/pod0"} <= places
    first = next(iter(records.values()))
    assert first["tester/host"]["fields"]["host"]["hostname"]["value"] == RUNNER
    assert run.platform["base"]["before"]["fields"]["host"]["hostname"]["value"] == "dut1"


def journal(lab: FrameLab) -> list[str]:
    files = list(lab.results.glob("*/trials.jsonl"))
    return files[0].read_text().splitlines() if files else []


def test_two_runs_do_not_share_a_host(lab: FrameLab) -> None:
    """Another runner holds the device's CPUs there; nothing of the lab is touched."""
    before = lab.listed()
    lock = (
        "import fcntl, os, sys; os.makedirs('/run/bmwg/locks', exist_ok=True);"
        "f = open('/run/bmwg/locks/CPU-1.lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    enter = ["nsenter", f"--target={lab.machines['dut1'].pid}", "--net", "--mount"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*enter, "python3", "-c", lock], **pipes) as other:
        assert other.stdout is not None
        other.stdout.readline()
        done = lab.run("--test", NODE)
        other.kill()
    assert "LOCK-01  CPU 1 of dut1's host" in done.stdout + done.stderr
    assert lab.listed() == before
    assert not left(lab)


def test_a_first_file_has_the_cables_that_probe_frames_find(tmp_path: Path) -> None:
    """Crossed ones too: the file says how they are, and the check finds nothing to mend."""
    with frame_lab(tmp_path / "lab", SWAPPED) as lab:
        before = lab.listed()
        file = lab.folder / "first.yaml"
        given = ("--ports", "eth1,eth2,eth5,eth6", "--dut", "root@lab-dut1", "--dut-ports", "eth3,eth4")
        words = ("lab", "init", str(file), *given, "--python", str(lab.folder / "python"))
        made = lab.bmwg(*words)
        assert made.returncode == 0, made.stdout + made.stderr
        testbed = load_testbed(file)
        assert {(str(link.a), str(link.b)) for link in testbed.links} == {
            ("tester/eth1", "dut1/eth4"),
            ("tester/eth2", "dut1/eth3"),
            ("tester/eth5", "tester/eth6"),
        }
        assert testbed.tester.ports == ("tester/eth1", "tester/eth2")
        checked = lab.bmwg("lab", "check", "--testbed", str(file))
        assert checked.returncode == 0, checked.stdout
        assert lab.bmwg(*words).stderr.startswith("LAB-02")  # it is there now
        assert lab.listed() == before
        assert not left(lab)
