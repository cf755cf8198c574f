"""Two runs on one machine: what they would share is refused to the second before it touches anything."""

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml
from tests.faults.support import END_DEADLINE_S, ROOT, start, wait_for, write_profile, write_testbed

from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.undo.locks import claims, reserve
from bmwg.methodology.errors import TestbedError

pytestmark = [
    pytest.mark.root,
]
HOLDER = """
import sys, time
from pathlib import Path
from bmwg.drivers.undo.locks import reserve
from bmwg.drivers.testbed.file import load_testbed
with reserve(load_testbed(sys.argv[1]), lock_dir=Path(sys.argv[2]), index_dir=Path(sys.argv[3])) as claims:
    print(claims, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def places(tmp_path):
    return {"lock_dir": tmp_path / "locks", "index_dir": tmp_path / "index"}


def holder(testbed, places):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(testbed), *map(str, places.values())], stdout=subprocess.PIPE
    )
    assert b"CPU 0" in process.stdout.readline()
    return process


def test_a_shared_cpu_is_refused_and_free_again_when_the_holder_is_killed(tmp_path, places):
    testbed = write_testbed(tmp_path, "embedded")
    process = holder(testbed, places)
    try:
        with pytest.raises(TestbedError, match="LOCK-01") as caught, reserve(load_testbed(testbed), **places):
            pass
        assert f"process {process.pid}" in str(caught.value)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=10)
    with reserve(load_testbed(testbed), **places) as held:
        assert held == ("CPU 0", "CPU 1")


def test_runs_on_other_cpus_share_nothing(tmp_path, places):
    embedded = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())
    other = write_testbed(
        tmp_path,
        "embedded",
        tester={**embedded["tester"], "cpus": [2]},
        dut={**embedded["dut"], "cpus": [3]},
        pods={**embedded["pods"], "cpus": "3"},
    )
    with reserve(load_testbed(), **places), reserve(load_testbed(other), **places) as held:
        assert held == ("CPU 2", "CPU 3")


def test_a_lab_port_is_reserved_by_name(tmp_path, places):
    testbed = load_testbed(write_testbed(tmp_path, "embedded", lab_ports=["eth7", "0000:01:00.0"]))
    assert claims(testbed)[-2:] == ("lab port eth7", "lab port 0000:01:00.0")
    with reserve(testbed, **places), pytest.raises(TestbedError, match="LOCK-01"), reserve(testbed, **places):
        pass


def test_a_simulated_run_reserves_nothing():
    assert claims(load_testbed(ROOT / "testbeds" / "simulated.yaml")) == ()


def test_what_an_ended_run_left_at_work_is_named(tmp_path, places):
    run = tmp_path / "ended"
    run.mkdir()
    ledger = Ledger(run / "ledger.jsonl", index_dir=places["index_dir"])
    ledger.before("owner", owner="ended-1")
    (index,) = places["index_dir"].iterdir()
    index.write_text(json.dumps(json.loads(index.read_text()) | {"pid": 1, "start_ticks": 1}))
    sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, "BMWG_OWNER": "ended-1"})
    try:
        with pytest.raises(TestbedError, match="LOCK-03") as caught, reserve(load_testbed(), **places):
            pass
        assert f"bmwg cleanup {run}" in str(caught.value)
        with reserve(load_testbed(), spare=run, **places):
            pass
    finally:
        sleeper.kill()
        sleeper.wait(10)
    with reserve(load_testbed(), **places):
        pass


def test_the_second_run_makes_no_folder(tmp_path):
    testbed, profile = write_testbed(tmp_path, "embedded"), write_profile(tmp_path)
    with reserve(load_testbed(testbed)):
        process, run = start(tmp_path, profile, testbed, run_id="second")
        assert process.wait(END_DEADLINE_S) != 0
    assert "LOCK-01" in (tmp_path / "runner.log").read_text()
    assert not run.exists()
    wait_for(lambda: not run.exists(), "no folder")
