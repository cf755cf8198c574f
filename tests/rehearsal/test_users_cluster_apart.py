"""A run on a user's cluster whose node is a machine of its own, over SSH, with accidents: function alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.lab_support import needs_sshd
from tests.kubernetes.conftest import lacking
from tests.rehearsal.course import ANSWERS, INTERRUPTED, told_in
from tests.rehearsal.rehearsal_lab import NEEDS, ROOT, here
from tests.rehearsal.users_cluster import ENDS_WITHIN_S, NETWORKS

from bmwg.reports.store import read_run

pytestmark = [*NEEDS, needs_sshd, pytest.mark.skipif(lacking() is not None, reason=str(lacking()))]


def test_a_node_on_another_machine_is_measured_left_as_it_was_and_loses_its_power(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    done = subprocess.run(
        [sys.executable, "-m", "tests.rehearsal.users_cluster", str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S + 120,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    told = told_in(folder)
    last = {one["what"]: one for one in told}
    assert last["runner killed"]["status"] == -signal.SIGKILL
    assert last["runner killed"]["left"], "the killed run left no namespace to be cleaned"
    assert last["node without power"]["status"] == INTERRUPTED
    assert {one["status"] for one in told if one["what"] == "cleanup"} == {0}, told
    looks = [one for one in told if one["what"] == "node looked at"]
    assert len(looks) == 2
    assert all(one["as_before"] and not one["namespaces"] for one in looks), looks
    (file,) = folder.glob("results/*/run.json")
    run = read_run(file.parent)
    pods = [one for one in run.outcomes if one.cell.path == "pvp"]
    assert {one.cell.network for one in pods} == set(NETWORKS)
    assert {one.type.value for one in pods} <= ANSWERS, [(one.cell.cell_id, one.reason) for one in pods]
    verified = here("verify", str(run.folder))
    assert "REJECTED" not in verified.stdout, verified.stdout[-3000:]
