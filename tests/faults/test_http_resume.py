"""A run of HTTP experiments that is killed goes on: nothing that was recorded is lost or measured twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.contract.http_support import needs_docker, needs_guest, needs_http
from tests.faults import support
from tests.faults.http_killed import REPETITIONS, killed_run, lines_of

from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.records import OutcomeType
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = needs_http
CUT_OFF = b'{"cell":"cut off'  # as a power cut in the midst of a line would leave it


def test_a_killed_run_goes_on_from_its_journal(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    before = lines_of(run)
    with (run / "trials.jsonl").open("ab") as journal:
        journal.write(CUT_OFF)
    done = support.bmwg(tmp_path, "resume", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    after = lines_of(run)
    assert after[: len(before)] == before
    measured = [json.loads(line) for line in after if json.loads(line)["phase"] == MEASURED]
    numbers = [line["spec"]["number"] for line in measured]
    assert numbers == sorted(set(numbers))
    assert len({line["deployment"] for line in measured}) == 2
    ended = read_run(run)
    assert ended.status == "complete"
    assert len(ended.interruptions) == 1
    (answer,) = answers_of(ended)
    assert answer.outcome.type is OutcomeType.MEASURED
    assert len(answer.outcome.trials) == REPETITIONS
    assert (run / "trials.jsonl.torn-1").read_bytes() == CUT_OFF
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
    answers = answers_of(ended)
    assert [(one.outcome.type, one.outcome.reason) for one in answers] == [(OutcomeType.MEASURED, "")] * len(
        forms
    )
    assert ended.platform["drift"] == []
    broken_off = json.loads(before[-1])["cell"]  # forms take turns in an order that the run draws
    last = [json.loads(line) for line in lines_of(run) if json.loads(line)["cell"] == broken_off]
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
    path = run / "trials.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"requests":', b'"requests":1', 1))
    refused = support.bmwg(tmp_path, "resume", str(run))
    assert refused.returncode != 0
    assert "STORE-01" in refused.stdout + refused.stderr
    assert support.bmwg(tmp_path, "cleanup", str(run)).returncode == 0
