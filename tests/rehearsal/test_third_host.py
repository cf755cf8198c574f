"""A run whose tester is on a host of its own, by NICs on its PCI bus, with accidents: counts and records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.contract.lab_support import needs_sshd
from tests.rehearsal.course import told_in
from tests.rehearsal.rehearsal_lab import NEEDS, ROOT, here
from tests.rehearsal.test_pci_ports import hold
from tests.rehearsal.third import DEVICE, ENDS_WITHIN_S, PULLED, TESTER, lacking

from bmwg.reports.store import read_run

pytestmark = [*NEEDS, needs_sshd]


def test_a_tester_on_a_third_host_is_killed_loses_power_and_its_run_is_resumed_and_verified(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lab"
    done = subprocess.run(
        [sys.executable, "-m", "tests.rehearsal.third", str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S + 120,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert not lacking(told_in(folder)), done.stdout[-5000:] + done.stderr[-3000:]
    assert done.returncode == 0
    (file,) = folder.glob("results/*/run.json")
    run = read_run(file.parent)
    assert {one.cell.path for one in run.outcomes} == {"wire", "node", "pvp"}
    lost = [(one.cell.cell_id, one.reason) for one in run.outcomes if one.type.value == "invalid"]
    assert all(cell.startswith(PULLED) and "lost its link" in reason for cell, reason in lost), lost
    sound = [trial.result for trial in run.trials if trial.fault is None]
    assert sound
    for result in sound:
        hold(result)
    records = [record for one in run.platform["records"].values() for record in one.items()]
    names = {
        place: record["fields"]["host"]["hostname"]["value"]
        for place, record in records
        if "host" in record.get("fields", {})
    }
    assert (names["tester/host"], names[DEVICE]) == (TESTER, DEVICE)
    nics = [nic for one in run.platform["deployments"].values() for nic in one["nics"]]
    assert {nic["driver"] for nic in nics} == {"igb"}
    verified = here("verify", str(run.folder))
    assert "REJECTED" not in verified.stdout, verified.stdout[-3000:]
