"""A run of HTTP experiments that is killed goes on: nothing that was recorded is lost or measured twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.contract.http_support import needs_docker, needs_guest, needs_http
from tests.faults import support

from bmwg.methodology.http.judge import MEASURED
from bmwg.methodology.records import OutcomeType
from bmwg.reports.http.answers import read_answers
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = needs_http
SUITE = support.ROOT / "testcases" / "http_proxy" / "4__cpu_and_memory.robot"
REPETITIONS = 12  # so many that the runner is killed long before the last
LINES_BEFORE_THE_KILL = 3  # of the last form's cell
TEST_IDS = {
    "native": "HP-USE-1",
    "docker_routed": "HP-USE-2",
    "docker_nat": "HP-USE-3",
    "vm_para": "HP-USE-5",
}
CUT_OFF = b'{"cell":"cut off'  # as a power cut in the midst of a line would leave it
RUNNER = f"""
    import json, sys
    from robot.run import run_cli
    from bmwg.methodology.http.profile import HttpProfile, load
    from bmwg.resources.http_proxy import bench
    data = json.loads(json.dumps(load("quick").data))
    data["experiments"] = [entry for entry in data["experiments"] if entry["id"] == "resources"]
    data["experiments"][0] |= {{
        "forms": sys.argv[3::2],
        "objects": [{{"octets": 1000, "requests": 200, "slow_requests": 20}}],
    }}
    data |= {{"name": "tiny", "cell_limit_s": 600}}
    data |= dict.fromkeys(("repetitions", "slow_repetitions", "least_repetitions"), {REPETITIONS})
    bench.load = lambda name: HttpProfile(name="tiny", data=data)
    named = [word for test_id in sys.argv[4::2] for word in ("--include", f"id:{{test_id}}")]
    run_cli(["--outputdir", sys.argv[1], *named, sys.argv[2]])
"""


def lines_of(run: Path) -> list[bytes]:
    try:
        return (run / "http.jsonl").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []


def killed_run(folder: Path, *forms: str) -> Path:
    """A run of one cell on each form, killed when the journal held some repetitions of the last one."""
    forms = forms or ("native",)
    lines = (len(forms) - 1) * (REPETITIONS + 1) + LINES_BEFORE_THE_KILL  # each cell has one that warms up
    run = folder / "results" / "killed"
    with (folder / "runner.log").open("ab") as log:
        runner = subprocess.Popen(
            [
                *(sys.executable, "-c", textwrap.dedent(RUNNER), str(folder), str(SUITE)),
                *(word for form in forms for word in (form, TEST_IDS[form])),
            ],
            cwd=folder,
            env=support.environment(BMWG_RESULTS=str(folder / "results"), BMWG_RUN_ID="killed"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    support.wait_for(lambda: len(lines_of(run)) >= lines, "repetitions", deadline_s=120, process=runner)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "forms",
    [
        pytest.param(("native", "docker_routed", "docker_nat"), marks=needs_docker),
        pytest.param(("vm_para",), marks=needs_guest),
    ],
)
def test_what_is_made_anew_for_a_run_that_goes_on_is_no_drift(tmp_path: Path, forms: tuple[str, ...]) -> None:
    run = killed_run(tmp_path, *forms)
    before = lines_of(run)
    done = support.bmwg(tmp_path, "resume", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    ended = read_run(run)
    answers = read_answers(run, ended.run_id, ended.header_sha256)
    assert [(answer.type, answer.reason) for answer in answers] == [(OutcomeType.MEASURED, "")] * len(forms)
    assert ended.platform["drift"] == []
    last = [json.loads(line) for line in lines_of(run) if f"/{forms[-1]}/".encode() in line]
    assert len({line["deployment"] for line in last}) == 2
    first_id, again_id = dict.fromkeys(line["deployment"] for line in last)
    assert {one["equal_to"] for one in ended.platform["records"][again_id].values()} <= {
        *ended.platform["records"],
        first_id,
    }
    assert lines_of(run)[: len(before)] == before
    assert [found for found in verify_folder(run).findings if found.rule_id in ("VER-14", "VER-18")] == []


def test_a_journal_that_was_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    path = run / "http.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"requests":', b'"requests":1', 1))
    refused = support.bmwg(tmp_path, "resume", str(run))
    assert refused.returncode != 0
    assert "STORE-01" in refused.stdout + refused.stderr
    assert support.bmwg(tmp_path, "cleanup", str(run)).returncode == 0
