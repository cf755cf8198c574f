"""SIGKILL of the runner at seeded points, on the simulated bed: the answers of an undisturbed run."""

import os
import random

import pytest
from tests.faults.support import (
    END_DEADLINE_S,
    bmwg,
    bounds,
    check_complete,
    journal_lines,
    kill_at,
    machine,
    remains,
    resume,
    start,
    write_profile,
    write_testbed,
)

from bmwg.drivers.undo.ledger import cleanup

POINTS = int(os.environ.get("FAULTS_POINTS", "4"))
SEED = int(os.environ.get("FAULTS_SEED", "9971"))
MODEL = {"knee_fps": 800_000, "tester_limit_fps": 1_500_000, "stall_ratio": 0.1, "seed": 7}


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    testbed = write_testbed(folder, "simulated")
    profile = write_profile(folder, search={"relative_width": 0.03, "verification_trials": 2})
    process, run = start(folder, profile, testbed, run_id="undisturbed")
    assert process.wait(END_DEADLINE_S) == 0, (folder / "runner.log").read_text()
    return folder, profile, testbed, check_complete(run)


def test_killed_anywhere_a_run_ends_with_the_answers_of_an_undisturbed_one(bed):
    folder, profile, testbed, undisturbed = bed
    chance = random.Random(SEED)
    before = machine()
    for point in range(POINTS):
        process, run = start(folder, profile, testbed, run_id=f"killed-{point}")
        for time_killed in range(chance.choice((1, 1, 2))):
            if time_killed:
                process = resume(folder, run)
            kill_at(process, run, chance.randrange(len(undisturbed.trials)), chance.random() * 0.1)
            if not (run / "run.json").exists() or process.returncode == 0:
                break
        if not (run / "run.json").exists():  # it never began: nothing to continue, and nothing left
            if (run / "ledger.jsonl").exists():
                cleanup(run)
            assert remains(run) == []
            continue
        kept = journal_lines(run)
        killed = process.returncode != 0
        if killed:
            done = bmwg(folder, "resume", str(run))
            assert done.returncode == 0, done.stdout + done.stderr
        found = check_complete(run, kept)
        assert bounds(found) == bounds(undisturbed), f"point {point}"
        assert bool(found.interruptions) is killed or len(found.interruptions) == 1
        for entry in found.interruptions:
            assert entry["reason"].startswith("the runner ended without a word"), entry
        assert remains(run) == []
    assert machine() == before
