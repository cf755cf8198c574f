"""A run whose tester is on a host of its own, by NICs on its PCI bus, with accidents: counts and records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.contract.lab_support import needs_sshd
from tests.rehearsal.rehearsal_lab import NEEDS, ROOT, here
from tests.rehearsal.test_hosts_apart import ANSWERS, UNSHARE
from tests.rehearsal.test_pci_ports import hold
from tests.rehearsal.third import DEVICE, TESTER

from bmwg.reports.store import read_run

pytestmark = [*NEEDS, needs_sshd]


def test_a_tester_on_a_third_host_is_killed_loses_power_and_its_run_is_resumed_and_verified(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lab"
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.rehearsal.third", str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=3000,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    assert "== resume, tester's host without power: status 130" in done.stdout, done.stdout[-5000:]
    assert done.stdout.count("== cleanup: status 0") == 2, done.stdout[-5000:]
    (file,) = folder.glob("results/*/run.json")
    run = read_run(file.parent)
    assert run.status == "complete"
    assert {one.cell.path for one in run.outcomes} == {"wire", "node", "pvp"}
    lost = [one.reason for one in run.outcomes if one.type.value == "invalid"]
    assert all("lost its link" in reason for reason in lost), lost  # the cable that was pulled
    assert {one.type.value for one in run.outcomes} <= {*ANSWERS, "invalid"}
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
