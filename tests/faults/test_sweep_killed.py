"""A runner of a sweep that is killed between two forms: the run goes on in its turns, and nothing stays."""

import json
import subprocess
import sys

import pytest
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

pytestmark = [pytest.mark.quiet, *needs("iperf3")]
TEST = "SK-UDPT-4"  # one size: each execution is another form's
LEAST_BLOCKS = 3
AFTER = 4  # executions: in the second block of three forms


def started(folder):
    with (folder / "runner.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "bmwg", "run", str(ROOT / "testcases" / "sockets"), "--test", TEST],
            env=environment(BMWG_RESULTS=str(folder / "results"), BMWG_ORDER_SEED="7"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def turns(run):
    """Return form and number of each execution."""
    lines = [json.loads(line) for line in journal_lines(run)]
    return [(line["cell"].split("/")[1], line["spec"]["number"]) for line in lines]


def test_a_killed_run_goes_on_in_its_turns_and_leaves_nothing(tmp_path):
    process, results = started(tmp_path), tmp_path / "results"
    try:
        (journal,) = wait_for(lambda: [*results.glob("*/trials.jsonl")], "a journal", process=process)
        run = journal.parent
        wait_for(lambda: trials_on_disk(run) >= AFTER, "executions", process=process)
    finally:
        process.kill()
        process.wait(30)
    before = journal_lines(run)
    resumed = bmwg(tmp_path, "resume", str(run))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert journal_lines(run)[: len(before)] == before
    there = read_run(run)
    assert (there.status, there.order_seed) == ("complete", 7)
    forms = {form for form, _ in turns(run)}
    assert {"baremetal", "pod"} <= forms
    first = turns(run)[: len(forms) * LEAST_BLOCKS]
    numbers = [number for _, number in first]
    assert numbers == sorted(numbers), "a block is whole before the next one, whoever was killed in it"
    assert len(set(first)) == len(first)
    assert verify_folder(run).findings == ()
    assert eventually_clean(run) == []
