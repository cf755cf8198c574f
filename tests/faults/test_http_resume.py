"""A run of HTTP experiments that is killed goes on: nothing that was recorded is lost or measured twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.contract.http_support import needs_http
from tests.faults import support

from bmwg.methodology.http.judge import MEASURED
from bmwg.methodology.records import OutcomeType
from bmwg.reports.http.answers import read_answers
from bmwg.reports.store import read_run

pytestmark = needs_http
SUITE = support.ROOT / "testcases" / "http_proxy" / "4__cpu_and_memory.robot"
REPETITIONS = 12  # so many that the runner is killed long before the last
LINES_BEFORE_THE_KILL = 3
CUT_OFF = b'{"cell":"cut off'  # as a power cut in the midst of a line would leave it
RUNNER = f"""
    import json, sys
    from robot.run import run_cli
    from bmwg.methodology.http.profile import HttpProfile, load
    from bmwg.resources.http_proxy import bench
    data = json.loads(json.dumps(load("quick").data))
    data["experiments"] = [entry for entry in data["experiments"] if entry["id"] == "resources"]
    data["experiments"][0] |= {{"forms": ["native"], "objects": [{{"octets": 1000, "requests": 200}}]}}
    data |= {{"repetitions": {REPETITIONS}, "least_repetitions": {REPETITIONS}, "name": "tiny"}}
    bench.load = lambda name: HttpProfile(name="tiny", data=data)
    run_cli(["--outputdir", sys.argv[1], "--include", "id:HP-USE-1", sys.argv[2]])
"""


def lines_of(run: Path) -> list[bytes]:
    try:
        return (run / "http.jsonl").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []


def killed_run(folder: Path) -> Path:
    """A run of one cell whose runner was killed when the journal held some repetitions."""
    run = folder / "results" / "killed"
    with (folder / "runner.log").open("ab") as log:
        runner = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(RUNNER), str(folder), str(SUITE)],
            cwd=folder,
            env=support.environment(BMWG_RESULTS=str(folder / "results"), BMWG_RUN_ID="killed"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    support.wait_for(
        lambda: len(lines_of(run)) >= LINES_BEFORE_THE_KILL, "repetitions", deadline_s=120, process=runner
    )
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait(10)
    return run


def test_a_killed_run_goes_on_from_its_journal(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    before = lines_of(run)
    with (run / "http.jsonl").open("ab") as journal:
        journal.write(CUT_OFF)
    done = support.bmwg(tmp_path, "resume", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    after = lines_of(run)
    assert after[: len(before)] == before
    measured = [json.loads(line) for line in after if json.loads(line)["phase"] == MEASURED]
    assert [line["number"] for line in measured] == sorted({line["number"] for line in measured})
    assert len({line["deployment"] for line in measured}) == 2
    ended = read_run(run)
    assert ended.status == "complete"
    assert len(ended.interruptions) == 1
    (answer,) = read_answers(run, ended.run_id, ended.header_sha256)
    assert answer.type is OutcomeType.MEASURED
    assert len(answer.repetitions) == REPETITIONS
    assert (run / f"http.jsonl.torn-{len(before) + 1}").read_bytes() == CUT_OFF
    again = support.bmwg(tmp_path, "resume", str(run))
    assert again.returncode != 0
    assert "RES-01" in again.stdout + again.stderr


def test_a_journal_that_was_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    path = run / "http.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"requests":', b'"requests":1', 1))
    refused = support.bmwg(tmp_path, "resume", str(run))
    assert refused.returncode != 0
    assert "STORE-01" in refused.stdout + refused.stderr
    assert support.bmwg(tmp_path, "cleanup", str(run)).returncode == 0
