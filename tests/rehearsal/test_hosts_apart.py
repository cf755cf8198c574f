"""A run whose device is on a host with a kernel of its own, over SSH: function and records, no rate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.contract.lab_support import needs_sshd
from tests.rehearsal.accidents import ENDS_WITHIN_S
from tests.rehearsal.course import ANSWERS, INTERRUPTED, told_in
from tests.rehearsal.rehearsal_lab import NEEDS, ROOT, here

from bmwg.reports.store import read_run

pytestmark = [*NEEDS, needs_sshd]
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")


def test_wire_node_and_pods_of_a_host_with_its_own_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/lab.yaml"]
    words += ["--results", "FOLDER/results", *(word for test in TESTS for word in ("--test", test))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.rehearsal.apart", str(folder), "--", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=1200,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    files = list(folder.glob("results/*/run.json"))
    assert len(files) == 1, done.stdout + done.stderr
    run = read_run(files[0].parent)
    assert run.status == "complete", done.stdout[-3000:]
    assert {one.cell.path for one in run.outcomes} == {"wire", "node", "pvp"}
    assert {one.type.value for one in run.outcomes} <= ANSWERS, done.stdout[-3000:]
    kernels = {
        name: record["fields"]["kernel"]["release"]["value"]
        for one in run.platform["records"].values()
        for name, record in one.items()
        if name in ("tester", "dut1") and "fields" in record
    }
    assert kernels["tester"] != kernels["dut1"]
    verified = here("verify", str(run.folder))
    assert "REJECTED" not in verified.stdout, verified.stdout[-3000:]


def test_a_killed_runner_a_host_without_power_and_a_pulled_cable_leave_sound_runs(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.rehearsal.accidents", str(tmp_path / "lab")],
        check=False,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S + 120,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = told_in(tmp_path / "lab")
    statuses = {
        what: [one["status"] for one in told if one["what"] == what] for what in ("cleanup", "verified")
    }
    assert statuses["verified"] == [0, 0], told
    assert set(statuses["cleanup"]) == {0}, told
    last = {one["what"]: one for one in told}
    assert last["runner killed"]["status"] == -signal.SIGKILL
    assert last["host without power"]["status"] == INTERRUPTED
    assert "lost its link" in last["cable pulled"]["fault"]
