"""A run on three hosts that is killed: what it made there is removed, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.http_support import labelled, needs_http, needs_pods
from tests.contract.lab_support import lab_hosts, needs_sshd
from tests.faults import support
from tests.faults.http_killed import REPETITIONS, killed_run, lines_of

from bmwg.methodology.records import OutcomeType
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.quiet, *needs_http, needs_sshd]
PORTS = 4


@pytest.mark.parametrize("form", ["native", pytest.param("pod_bridge", marks=needs_pods)])
def test_a_killed_run_leaves_nothing_on_its_hosts_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    with lab_hosts(tmp_path / "lab", monkeypatch) as lab:
        run = killed_run(tmp_path, form, BMWG_TESTBED=str(lab.testbed))
        before = lines_of(run)
        token = read_run(run).header_sha256[:6]
        assert labelled(token) != []

        cleared = support.bmwg(tmp_path, "cleanup", str(run))
        assert labelled(token) == []
        said = cleared.stdout + cleared.stderr
        assert said.count("PORT-03") == PORTS, said  # these are virtual: they ended with their namespaces
        assert cleared.returncode != 0

        lab.cable()
        done = support.bmwg(tmp_path, "resume", str(run))
        assert done.returncode == 0, done.stdout + done.stderr
        assert lines_of(run)[: len(before)] == before
        ended = read_run(run)
        assert ended.status == "complete"
        (answer,) = answers_of(ended)
        assert (answer.outcome.type, len(answer.outcome.trials)) == (OutcomeType.MEASURED, REPETITIONS)
        assert [found.rule_id for found in verify_folder(run).findings] == []
        assert {"eth7", "eth8"} <= lab.interfaces("two").keys()
