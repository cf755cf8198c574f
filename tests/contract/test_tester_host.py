"""The tester on a host of its own, the device on another: trials, refusals, what is lost, what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.contract.frame_lab import GENERATOR, SWAPPED, FrameLab, frame_lab
from tests.contract.lab_support import needs_sshd
from tests.contract.test_lab_frames import journal, left, only_run
from tests.contract.traffic.test_moongen_peer import MACS, PROGRAM
from tests.contract.trials_support import lossless, whole

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import Testbed, load_testbed, parse_testbed
from bmwg.drivers.testbed.hosts import hosts_of
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import NOTHING, WIRE, Cell, TrialSpec
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.run import remote_tester
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.remote_tester import RemoteTraffic

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_sshd]
THE_WIRE, NODE, PVP = "CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3"
ON_THE_WIRE = Cell(path=WIRE, hosting=NOTHING, function=NOTHING, network=NOTHING, frame_octets=64)
OWNER = "tester-host-test"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[FrameLab]:
    with frame_lab(tmp_path / "lab", tester=GENERATOR) as made:
        yield made


@contextmanager
def beds(lab: FrameLab, folder: Path) -> Iterator[tuple[Bed, Ledger]]:
    """The lab's bed, opened from here; its hosts are found by the lab's HOME."""
    testbed = load_testbed(lab.testbed)
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    specs = hosts_of(testbed)
    with open_hosts(specs) as hosts:
        by_node = Machines(hosts, specs, tests_from_here=False).by_node
        with open_bed(testbed, ledger, folder, OWNER, hosts=by_node) as bed:
            yield bed, ledger


def changed(lab: FrameLab, **tester: object) -> dict[str, object]:
    """Write the lab's file with other settings of the tester; return it as data."""
    data = yaml.safe_load(lab.testbed.read_text())
    data["tester"] |= tester
    lab.testbed.write_text(yaml.safe_dump(data, sort_keys=False))
    return data


def moongen(bed: Bed, folder: Path) -> Testbed:
    """The bed's file with driver moongen, whose program is the one of its own tests."""
    program = folder / "build" / "MoonGen"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, act="pass"))
    program.chmod(0o755)
    tester = {**bed.testbed.data["tester"], "driver": "moongen", "io": "pci"}
    data = {**bed.testbed.data, "tester": {**tester, "options": {"dir": str(folder), **MACS}}}
    return parse_testbed(yaml.safe_dump(data), Path("lab.yaml"))


def _nic(side: int) -> TesterPort:
    return TesterPort(name=f"p{side}", io="pci", device=f"0000:00:0{side}.0", ipv4=f"198.18.{side}.2/24")


def agents() -> list[int]:
    """The processes that the tester's agent is, and started."""
    return process.owned_pids(f"{OWNER}-agent")


def test_a_trial_there_counts_as_one_here_and_a_lost_agent_is_its_fault(
    lab: FrameLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(lab.folder))
    before = lab.listed()
    short = TrialSpec(frame_octets=64, load_fps=1000, duration_s=0.2)
    long = TrialSpec(frame_octets=64, load_fps=1000, duration_s=20.0)
    with beds(lab, tmp_path) as (bed, ledger), path_driver(ON_THE_WIRE, bed).deploy() as deployment:
        standing = len(ledger.pending)
        with RemoteTraffic(bed.testbed, bed, 0.05) as traffic:
            limits = traffic.attach(deployment.ports)
            assert (limits.min_frame_octets, bool(limits.capabilities)) == (64, True)
            traffic.learn(short)
            result = whole(traffic, short, lossless)
            (stream,) = result.streams
            assert (stream.sent_frames, stream.received_frames, result.fault) == (200, 200, None)
            assert result.spec == short
            assert result.disturbance is not None  # of its own host, for `assess`
            assert {one.cpu for one in result.disturbance.watches} == {0}
            assert traffic.describe()["cpus"] == [0]
            with pytest.raises(ToolkitError, match="TST-1"):  # a refusal crosses by its id
                traffic.run(TrialSpec(frame_octets=9000, load_fps=1000, duration_s=0.2))
            traffic.detach()
            traffic.attach(deployment.ports)
            began_s = time.monotonic()
            kill = subprocess.Popen(
                ["sh", "-c", f"sleep 1; kill -9 {' '.join(map(str, agents()))}"], stdin=subprocess.DEVNULL
            )
            lost = traffic.run(long)
            kill.wait(5)
            assert time.monotonic() - began_s < long.duration_s  # it was not waited for
            assert lost.fault is not None
            assert "the tester on its host was lost: agent died during" in lost.fault
            assert lost.streams[0].sent_frames == 0
        assert agents() == []
        assert len(ledger.pending) == standing
        with monkeypatch.context() as short_of_time, RemoteTraffic(bed.testbed, bed, 0.05) as traffic:
            short_of_time.setattr(remote_tester, "TRIAL_MARGIN_S", -39.0)
            traffic.attach(deployment.ports)
            late = traffic.run(long)
            assert late.fault is not None
            assert "exceeded its deadline of 1 s" in late.fault
        assert agents() == []
        with RemoteTraffic(moongen(bed, tmp_path), bed, 0.05) as traffic:  # another driver, without change
            traffic.attach((_nic(0), _nic(1)))
            counts = traffic.run(TrialSpec(frame_octets=128, load_fps=1000, duration_s=0.2)).streams
            assert [(one.sent_frames, one.received_frames) for one in counts] == [(200, 180)]
            assert traffic.describe()["driver"] == "moongen"
        assert agents() == []
    assert not ledger.pending
    assert lab.listed() == before
    assert not left(lab)


def test_what_the_host_of_a_tester_lacks_is_said_before_anything_is_made(lab: FrameLab) -> None:
    before = lab.listed()
    plain = lab.folder / "python"
    poor = lab.folder / "poor"  # finds no compiler and no DPDK
    poor.write_text(plain.read_text().replace("#!/bin/sh\n", "#!/bin/sh\nPATH=/nonexistent\nexport PATH\n"))
    poor.chmod(0o755)
    data = changed(lab)
    nodes = data["nodes"]
    assert isinstance(nodes, dict)
    nodes[GENERATOR]["python"] = str(poor)
    lab.testbed.write_text(yaml.safe_dump(data, sort_keys=False))
    done = lab.run("--test", NODE)
    assert "TST-01  the embedded tester cannot be built" in done.stdout + done.stderr
    assert lab.listed() == before

    nodes[GENERATOR]["python"] = str(plain)
    lab.testbed.write_text(yaml.safe_dump(data, sort_keys=False))
    changed(lab, cpus=[4000])
    done = lab.run("--test", NODE)
    assert "NODE-22  the tester's host: CPUs" in done.stdout + done.stderr

    changed(lab, cpus=[0], driver="trex", io="af_packet")
    done = lab.run("--test", NODE)
    assert "TREX-01  " in done.stdout + done.stderr
    assert "driver trex: no TRex folder is named" in done.stdout + done.stderr
    assert lab.listed() == before

    changed(lab, driver="embedded", io="auto")
    lock = (
        "import fcntl, os, sys; os.makedirs('/run/bmwg/locks', exist_ok=True);"
        "f = open('/run/bmwg/locks/CPU-0.lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    enter = ["nsenter", f"--target={lab.machines[GENERATOR].pid}", "--net", "--mount"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*enter, "python3", "-c", lock], **pipes) as other:
        assert other.stdout is not None
        other.stdout.readline()
        done = lab.run("--test", NODE)
        other.kill()
    assert "LOCK-01  CPU 0 of tester's host" in done.stdout + done.stderr
    assert lab.listed() == before
    assert not left(lab)


@pytest.mark.slow
def test_crossed_cables_between_two_hosts_are_refused(tmp_path: Path) -> None:
    with frame_lab(tmp_path / "lab", SWAPPED, tester=GENERATOR) as lab:
        before = lab.listed()
        done = lab.run("--test", NODE)
        assert "what tester/eth1 sent was heard at dut1/eth4" in done.stdout + done.stderr
        checked = lab.bmwg("lab", "check", "--testbed", str(lab.testbed))
        assert checked.stdout.count("MEND  LAB-01") == 2, checked.stdout
        assert "ok    host of tester: Linux" in checked.stdout
        file = lab.folder / "first.yaml"
        given = ("--tester", "root@lab-gen", "--dut", "root@lab-dut1", "--dut-ports", "eth3,eth4")
        words = ("lab", "init", str(file), "--ports", "eth1,eth2,eth5,eth6", *given)
        made = lab.bmwg(*words, "--python", str(lab.folder / "python"))
        assert made.returncode == 0, made.stdout + made.stderr
        first = load_testbed(file)  # as they are cabled
        assert first.tester.host is not None
        assert str(first.links[0].b) == "dut1/eth4"
        assert set(first.lab_ports) == {"eth1", "eth2", "eth5", "eth6"}
        assert lab.bmwg("lab", "check", "--testbed", str(file)).returncode == 0
        assert lab.listed() == before
        assert not left(lab)


@pytest.mark.slow
def test_tester_and_device_on_two_hosts_are_measured_killed_resumed_and_verified(lab: FrameLab) -> None:
    before = lab.listed()
    words = ("run", *lab.given, "--test", THE_WIRE, "--test", NODE, "--test", PVP)
    with subprocess.Popen(
        lab.command(*words), env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as runner:
        wait_for_trial(lab, runner, "node/")
        os.kill(runner.pid, signal.SIGKILL)
        runner.communicate()
    folder = only_run(lab)
    lab.cable()
    cleaned = lab.bmwg("cleanup", str(folder))
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert lab.listed() == before
    assert not left(lab)
    resumed = lab.bmwg("resume", str(folder), within_s=600)
    assert "report:" in resumed.stdout, resumed.stdout + resumed.stderr
    assert lab.listed() == before
    assert not left(lab)
    run = read_run(folder)
    assert {one.cell.path for one in run.outcomes} == {"wire", "node", "pvp"}
    assert all(one.type.value != "invalid" for one in run.outcomes), resumed.stdout
    found = verify_folder(folder)
    assert not found.findings, [str(one) for one in found.findings]
    records = run.platform["records"]
    places = {place for one in records.values() for place in one}
    assert {"tester", "dut1", "tester/host", "dut1/pod0"} <= places
    first = next(iter(records.values()))
    assert first["tester/host"]["fields"]["host"]["hostname"]["value"] == GENERATOR
    assert run.platform["base"]["before"]["fields"]["host"]["hostname"]["value"] == "dut1"


@pytest.mark.slow
def test_a_run_goes_on_with_a_new_agent_where_one_was_killed(lab: FrameLab) -> None:
    before = lab.listed()
    words = ("run", *lab.given, "--test", THE_WIRE, "--test", NODE, "--test", PVP)
    with subprocess.Popen(
        lab.command(*words), env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as runner:
        wait_for_trial(lab, runner, "node/")
        labelled = [
            pid
            for pid, words_of in process.each("environ")
            if any(one.startswith(b"BMWG_OWNER=") and one.endswith(b"-agent") for one in words_of)
        ]
        assert labelled
        for pid in labelled:
            os.kill(pid, signal.SIGKILL)
        told, _ = runner.communicate(timeout=600)
    assert "report:" in told, told
    run = read_run(only_run(lab))
    (killed,) = [one for one in run.outcomes if one.cell.path == "node" and one.type.value == "invalid"][:1]
    assert "the tester on its host was lost" in killed.reason or "agent gone" in killed.reason
    assert any(one.cell.path == "pvp" and one.type.value == "measured" for one in run.outcomes), told
    assert not verify_folder(only_run(lab)).findings
    assert lab.listed() == before
    assert not left(lab)


def wait_for_trial(lab: FrameLab, runner: subprocess.Popen[object], path: str) -> None:
    """Wait until the journal has a trial of a path."""
    end_s = time.monotonic() + 120
    while not any(f'"cell":"{path}' in line for line in journal(lab)):
        assert time.monotonic() < end_s
        assert runner.poll() is None
        time.sleep(0.1)
