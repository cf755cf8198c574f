"""A runner of a sweep that is killed between two forms: the run goes on in its turns, and nothing stays."""

import json
import os
import signal
import subprocess
import sys

from tests.contract.streams_support import needs
from tests.faults.support import (
    ROOT,
    bmwg,
    environment,
    eventually_clean,
    journal_lines,
    trials_on_disk,
    wait_for,
)

from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = needs("iperf3")
TEST = "SK-UDPT-4"  # one size: each execution is another form's
BLOCKS = 5
AFTER = 4  # executions: in the second block of three forms


def started(folder):
    with (folder / "runner.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "bmwg", "run", str(ROOT / "testcases" / "sockets"), "--test", TEST],
            env=environment(BMWG_RESULTS=str(folder / "results"), BMWG_RUN_ID="run", BMWG_ORDER_SEED="7"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def forms(run):
    return [json.loads(line)["cell"].split("/")[1] for line in journal_lines(run)]


def test_a_killed_run_goes_on_in_its_turns_and_leaves_nothing(tmp_path):
    process, run = started(tmp_path), tmp_path / "results" / "run"
    try:
        wait_for(lambda: trials_on_disk(run) >= AFTER, "executions", process=process)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    before = journal_lines(run)
    resumed = bmwg(tmp_path, "resume", str(run))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert journal_lines(run)[: len(before)] == before
    there = read_run(run)
    assert (there.status, there.order_seed) == ("complete", 7)
    took_part = set(forms(run))
    assert {"baremetal", "pod"} <= took_part
    for block in range(BLOCKS):
        mine = forms(run)[block * len(took_part) : (block + 1) * len(took_part)]
        assert sorted(mine) == sorted(took_part), "each form once in a block, whoever was killed in it"
    assert verify_folder(run).findings == ()
    assert eventually_clean(run) == []
