"""CNI plugins that hang, print garbage, or say yes and do nothing: their cell says so, nothing else."""

import shutil
from pathlib import Path

import pytest
import yaml
from tests.faults.support import ROOT, bmwg, eventually_clean, machine, start, write_profile, write_testbed
from tests.needs import needs_crun

from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import read_run

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    needs_crun,
    pytest.mark.skipif(
        not Path("/usr/lib/cni/static").exists(), reason="needs apt-get install containernetworking-plugins"
    ),
]
VERSION = """if [ "$CNI_COMMAND" = VERSION ]; then
    echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}'
    exit 0
fi
"""
PLUGINS = {
    "garbage": VERSION + "head -c 100000 /dev/urandom\n",
    "endless": VERSION + "yes\n",
    "idle": VERSION + """echo '{"cniVersion": "1.0.0", "interfaces": [], "ips": []}'\n""",
    "silent": VERSION + "exit 0\n",
    "refusing": VERSION + """echo '{"code": 999, "msg": "not today"}'; exit 1\n""",
    "hanging": VERSION + "sleep 600 & sleep 600\n",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=() if name == "silent" else pytest.mark.slow) for name in PLUGINS]
)
def test_a_plugin_that_fails_costs_its_own_cell_and_leaves_nothing(tmp_path, kind):
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "bridge").write_text("#!/bin/sh\n" + PLUGINS[kind])
    (plugins / "bridge").chmod(0o755)
    shutil.copy2("/usr/lib/cni/static", plugins / "static")
    bridge = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())["networks"]["bridge"]
    testbed = write_testbed(tmp_path, "embedded", networks={"bridge": {**bridge, "plugin_dir": str(plugins)}})
    lenient = {"max_stall_ns": 10**9, "max_host_stall_ns": 10**9, "max_steal_ns": 10**9}
    before = machine()
    process, run = start(tmp_path, write_profile(tmp_path, trial=lenient), testbed)
    process.wait(400)
    found = read_run(run)
    types = {outcome.cell.path: outcome.type for outcome in found.outcomes}
    assert found.status == "complete", (tmp_path / "runner.log").read_text()
    assert types["wire"] not in (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED)
    assert types["pvp"] in (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED)
    assert all(outcome.reason for outcome in found.outcomes if outcome.cell.path == "pvp")
    assert bmwg(tmp_path, "cleanup", str(run)).returncode == 0
    assert eventually_clean(run) == []
    assert machine() == before
