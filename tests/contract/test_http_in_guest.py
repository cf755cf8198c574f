"""The HTTP suites in a guest: a proxy in a pod by an option that this host may lack serves there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.http_support import needs_guest, needs_http, needs_pods

from bmwg.drivers.machines import qemu
from bmwg.methodology.records import OutcomeType
from bmwg.reports.render.sections.guest import guest_sentence
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.slow, *needs_http, needs_pods, *needs_guest]
SUITE = Path(__file__).resolve().parents[2] / "testcases" / "http_proxy" / "00__pods.robot"
IPVLAN = "HP-POD-4"
DEADLINE_S = 3000


def test_a_proxy_in_a_pod_by_ipvlan_serves_in_a_guest_and_the_run_names_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bmwg", "run", "--in-guest", str(SUITE), "--test", IPVLAN]
    done = subprocess.run(
        [*command, "--results", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    (folder,) = (record.parent for record in tmp_path.glob("*/run.json"))
    run = read_run(folder)
    found = {outcome.cell.cell_id: outcome.type for outcome in run.outcomes}
    assert found == {
        "one_client/pod_ipvlan/1p/1000o/1c": OutcomeType.MEASURED,
        "one_client/pod_ipvlan/1p/100000o/1c": OutcomeType.MEASURED,
        "start/pod_ipvlan/1p/1000o/1c": OutcomeType.MEASURED,
    }, done.stdout[-2000:]
    (machine,) = run.drivers
    assert (machine["name"], machine["accelerator"]) == ("qemu guest", qemu.probe_accelerator()[0].value)
    assert machine["guest_kernel"] != os.uname().release
    told = guest_sentence(run)
    page = " ".join((folder / "report.rst").read_text(encoding="utf-8").replace("\\", "").split())
    assert 0 < page.index(told) < page.index("answers from")
    assert verify_folder(folder).findings == ()
    (output,) = tmp_path.glob("robot/*/output.xml")
    said = output.read_text(encoding="utf-8")
    assert told in said
    assert f"run {run.run_id}" in said
