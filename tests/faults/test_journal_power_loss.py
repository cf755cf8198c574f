"""Power loss at every write of the journal: each prefix is repaired by rule or refused, none misread."""

import json
import os
import random
import shutil
from datetime import UTC, datetime

import pytest
from tests.faults.support import start, trials_on_disk, wait_for, write_profile, write_testbed

from bmwg.drivers.undo.ledger import cleanup
from bmwg.methodology.errors import ConfigError
from bmwg.reports.store import RunStore, read_run

STEP = 1 if os.environ.get("FAULTS_POINTS") else 997  # octets between the prefixes that are tried


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    """A run that was killed with trials of an unfinished search in its journal."""
    folder = tmp_path_factory.mktemp("journal")
    testbed = write_testbed(folder, "simulated")
    profile = write_profile(folder, trial={"restabilize_s": 0.2})  # time to be killed before its end
    process, run = start(folder, profile, testbed)
    wait_for(lambda: trials_on_disk(run) >= 8, "eight trials", process=process)
    process.kill()
    process.wait(10)
    yield run
    cleanup(run)


def known(run):
    """How many trials run.json vouches for."""
    return json.loads((run / "run.json").read_text())["journal"]["trials"]


def test_every_prefix_is_read_as_its_whole_lines_or_refused(cut_off, tmp_path):
    data = (cut_off / "trials.jsonl").read_bytes()
    whole = read_run(cut_off).trials
    vouched = known(cut_off)
    run = tmp_path / cut_off.name
    shutil.copytree(cut_off, run)
    ends = {position + 1 for position, octet in enumerate(data) if octet == 10}
    around = {end + shift for end in ends for shift in (-2, -1, 0, 1)} | {0, 1, len(data)}
    cuts = sorted(cut for cut in around | set(range(0, len(data), STEP)) if 0 <= cut <= len(data))
    read = refused = 0
    for cut in cuts:
        (run / "trials.jsonl").write_bytes(data[:cut])
        lines = data[:cut].count(b"\n")
        if lines < vouched:  # an answer rests on what is missing
            with pytest.raises(ConfigError, match="STORE-07"):
                read_run(run)
            refused += 1
            continue
        found = read_run(run)
        assert found.trials == whole[:lines], f"cut at {cut}"
        assert bool(found.notes) is (cut not in ends and cut != 0)
        read += 1
    assert read > 8
    assert (refused > 0) is (vouched > 0)


def test_a_repaired_journal_goes_on_behind_its_last_whole_line(cut_off, tmp_path):
    run = tmp_path / cut_off.name
    shutil.copytree(cut_off, run)
    data = (run / "trials.jsonl").read_bytes()
    before = read_run(run)
    start_of_last = data.rstrip(b"\n").rfind(b"\n") + 1
    chance = random.Random(1)
    for _ in range(3):
        cut = chance.randrange(start_of_last + 1, len(data) - 1)
        if before.trials and known(cut_off) == len(before.trials):
            pytest.skip("needs a trial behind the last answer")
        (run / "trials.jsonl").write_bytes(data[:cut])
        store = RunStore.resume(run)
        store.close(None, "interrupted", reason="again")
        found = read_run(run)
        assert found.trials == before.trials[:-1]
        assert found.notes == ()
        assert store.repairs
        assert found.interruptions[-1]["repairs"] == list(store.repairs)
    torn = sorted(path.name for path in run.glob("trials.jsonl.torn-*"))
    assert len(torn) == 3


@pytest.mark.parametrize("damage", ["zeros", "garbage", "swapped"])
def test_damage_that_is_no_prefix_is_refused_by_line(cut_off, tmp_path, damage):
    """A file system may give back a block of zeros, or an older block, after a power loss."""
    run = tmp_path / cut_off.name
    shutil.copytree(cut_off, run)
    lines = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    if damage == "zeros":
        lines[2] = b"\0" * (len(lines[2]) - 1) + b"\n"
    elif damage == "garbage":
        lines[2] = random.Random(2).randbytes(200).replace(b"\n", b" ") + b"\n"
    else:
        lines[2], lines[3] = lines[3], lines[2]
    (run / "trials.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_run(run)
    assert caught.value.error_id in ("STORE-01", "STORE-03", "STORE-04")
    assert "line 3" in str(caught.value)
    with pytest.raises(ConfigError):
        RunStore.resume(run)


def test_a_clock_that_steps_back_changes_no_order(cut_off, tmp_path):
    """Stamps are for people: the journal's order is its chain."""
    run = tmp_path / cut_off.name
    shutil.copytree(cut_off, run)
    trial = read_run(run).trials[-1]
    store = RunStore.resume(run, clock=lambda: datetime(2001, 1, 1, tzinfo=UTC))
    seq = store.append_trial(
        cell_id=trial.cell_id,
        deployment_id=trial.deployment_id,
        metric=trial.metric,
        test_id=trial.test_id,
        phase=trial.phase,
        result=trial.result,
        validity=trial.validity,
    )
    store.close(None, "interrupted", reason="the test is over")
    found = read_run(run)
    assert [entry.seq for entry in found.trials] == list(range(1, seq + 1))
    assert found.trials[-1].at < found.trials[-2].at
    assert found.interruptions[0]["noticed_at"] < found.interruptions[0]["last_sign_at"]
