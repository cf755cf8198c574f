"""A run whose device is on a host with a kernel of its own, over SSH: function and records, no rate."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.contract.lab_support import needs_sshd
from tests.rehearsal.rehearsal_lab import NEEDS, ROOT, here

from bmwg.reports.store import read_run

pytestmark = [*NEEDS, needs_sshd]
ANSWERS = {"measured", "unstable", "at_floor", "at_ceiling", "tester_limited"}
UNSHARE = ["unshare", "--net", "--mount", "--uts", "--propagation", "private"]
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")


def test_wire_node_and_pods_of_a_host_with_its_own_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/lab.yaml"]
    words += ["--results", "FOLDER/results", *(word for test in TESTS for word in ("--test", test))]
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.rehearsal.apart", str(folder), "--", *words],
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
        [*UNSHARE, sys.executable, "-m", "tests.rehearsal.accidents", str(tmp_path / "lab")],
        check=False,
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("== cleanup: status 0") == 2, done.stdout
