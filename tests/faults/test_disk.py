"""A full disk ends the run in order; with space again it goes on where it stopped. Simulated bed, tmpfs."""

import contextlib
import shutil
import stat
import subprocess

import pytest
from tests.faults.support import (
    END_DEADLINE_S,
    bmwg,
    bounds,
    check_complete,
    journal_lines,
    start,
    trials_on_disk,
    wait_for,
    write_profile,
    write_testbed,
)

from bmwg.reports.store import read_run

pytestmark = [
    pytest.mark.root,
]


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, timeout=10).returncode != 0:
        pytest.skip("needs mount(2) of a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, timeout=10)


def test_a_full_disk_ends_the_run_and_keeps_every_finished_trial(tmp_path, small_disk):
    testbed, profile = write_testbed(tmp_path, "simulated"), write_profile(tmp_path)
    whole, undisturbed = start(tmp_path, profile, testbed, run_id="undisturbed")
    assert whole.wait(END_DEADLINE_S) == 0
    profile = write_profile(tmp_path, trial={"restabilize_s": 0.2})  # time to fill it before its end
    process, run = start(tmp_path, profile, testbed, run_id="filled", results=small_disk)
    wait_for(lambda: trials_on_disk(run) >= 3, "three trials", process=process)
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    assert process.wait(END_DEADLINE_S) != 0
    log = (tmp_path / "runner.log").read_text()
    assert "STORE-08" in log, log
    stopped = read_run(run)
    assert stopped.status in ("running", "interrupted")
    assert len(stopped.outcomes) < len(stopped.plan)
    kept = journal_lines(run)
    assert kept
    ballast.unlink()
    done = bmwg(tmp_path, "resume", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    assert bounds(check_complete(run, kept)) == bounds(read_run(undisturbed))


def test_addresses_and_serials_are_their_owners_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_GID", raising=False)
    testbed, profile = write_testbed(tmp_path, "simulated"), write_profile(tmp_path)
    process, run = start(tmp_path, profile, testbed, tests=("CN-TPUT-1.1",))
    assert process.wait(END_DEADLINE_S) == 0
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    for name in ("run.json", "platform.json", "trials.jsonl", "ledger.jsonl"):
        assert stat.S_IMODE((run / name).stat().st_mode) == 0o600, name
    shutil.rmtree(run)
