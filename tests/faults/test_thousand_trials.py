"""Power loss in a journal of 1,000 trials: every prefix is repaired or refused by rule, none is misread.

`python -m tests.faults.test_thousand_trials` tries every line's end and the octets around it, every octet of
the first two and the last three lines, and 1,000 seeded places in between, and prints the counts as JSON.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.reports.store import RunHeader, RunStore, read_run

TRIALS, VOUCHED = 1000, 400  # run.json is written with an outcome, and knows of no later trial
SEED = 8


def make_run(results):
    """A run of 1,000 trials that was killed: run.json vouches for the first 400 of them."""
    header = RunHeader(
        toolkit_version="0",
        toolkit_commit=None,
        toolkit_dirty=None,
        simulated=True,
        testbed={},
        testbed_source=None,
        profile={"name": "quick", "indicative": True, "deviations": []},
        medium_kind="none",
        line_rate_bps=None,
    )
    store = RunStore.create(results, "thousand", header)
    for number in range(1, TRIALS + 1):
        frames = 1000 + number
        spec = TrialSpec(frame_octets=64, load_fps=frames, duration_s=1.0)
        counts = StreamCounts(intended_frames=frames, sent_frames=frames, received_frames=frames - number % 2)
        store.append_trial(
            cell_id="wire/none/none/none/64/forward",
            deployment_id="wire-1",
            metric="throughput.rfc2544_26_1",
            test_id="CN-TPUT-1.1",
            phase="search",
            result=TrialResult(spec=spec, streams=(counts,), wall_time_ns=number),
            validity=Validity.VALID,
        )
        if number == VOUCHED:
            store.add_driver({"driver": "made"})
    store._release()  # as a kill does: nothing says that the run has ended
    return store.folder


def places(data, dense):
    """Where the file is cut: `dense` is between the lines whose ends are tried."""
    ends = [0] + [at + 1 for at, octet in enumerate(data) if octet == 10]
    cuts = {end + shift for end in ends[::dense] for shift in (-1, 0, 1)}
    cuts |= set(range(ends[VOUCHED] - 3, ends[VOUCHED] + 4))
    if dense == 1:
        cuts |= set(range(ends[2])) | set(range(ends[-4], len(data)))
        cuts |= set(random.Random(SEED).choices(range(len(data)), k=1000))
    return sorted(cut for cut in cuts if 0 <= cut <= len(data))


def check_unsynced_tail(folder, data, cut, whole):
    """A file system may keep the length of the last append and lose blocks of it, which read as zeros."""
    path = folder / "trials.jsonl"
    first, end = data.rfind(b"\n", 0, cut) + 1, data.index(b"\n", cut) + 1
    path.write_bytes(data[:cut] + bytes(end - cut))  # its last blocks: no newline, so the append is torn
    run = read_run(folder)
    assert [trial.line_hash for trial in run.trials] == whole
    assert run.notes
    path.write_bytes(data[:first] + bytes(cut - first) + data[cut:end])  # its first blocks: no such line
    with pytest.raises(ConfigError, match=r"STORE-0[13]"):
        read_run(folder)
    return 2


def check(folder, dense):
    """Cut the journal everywhere and read it; returns the counts, raises at the first that is misread."""
    path = folder / "trials.jsonl"
    data = path.read_bytes()
    whole = [trial.line_hash for trial in read_run(folder).trials]
    assert len(whole) == TRIALS
    found = {"prefixes": 0, "whole_lines": 0, "torn": 0, "refused": 0, "repaired": 0, "unsynced_tails": 0}
    chance = random.Random(SEED)
    try:
        for cut in places(data, dense):
            path.write_bytes(data[:cut])
            lines = data.count(b"\n", 0, cut)
            found["prefixes"] += 1
            if lines < VOUCHED:
                with pytest.raises(ConfigError, match="STORE-07"):
                    read_run(folder)
                found["refused"] += 1
                continue
            run = read_run(folder)
            assert [trial.line_hash for trial in run.trials] == whole[:lines], f"cut at {cut}"
            torn = cut > 0 and data[cut - 1] != 10
            assert bool(run.notes) is torn, f"cut at {cut}"
            found["torn" if torn else "whole_lines"] += 1
            if torn and chance.random() < 0.05:
                run_json = (folder / "run.json").read_bytes()
                RunStore.resume(folder).close(None, "interrupted", reason="again")
                assert path.read_bytes() == data[: data.rfind(b"\n", 0, cut) + 1]
                (folder / "run.json").write_bytes(run_json)
                found["repaired"] += 1
            if torn and chance.random() < 0.05:
                found["unsynced_tails"] += check_unsynced_tail(folder, data, cut, whole[:lines])
    finally:
        path.write_bytes(data)
    return found


def test_prefixes_of_a_thousand_trials(tmp_path):
    found = check(make_run(tmp_path), dense=97)
    assert min(found[kind] for kind in ("refused", "torn", "whole_lines")) > 0


@pytest.mark.slow
def test_every_prefix_of_a_thousand_trials(tmp_path):
    assert check(make_run(tmp_path), dense=1)["prefixes"] > 3 * TRIALS


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        begun_s = time.monotonic()
        counts = check(make_run(Path(folder)), dense=1)
        print(json.dumps(counts | {"seconds": round(time.monotonic() - begun_s, 1)}))
    sys.exit(0)
