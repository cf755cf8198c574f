"""A run of streams verifies from its executions, as folder and as bundle; no changed one does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import replayable
from tests.unit.streams.test_kind import result, spec

import bmwg
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import PlannedCell, RunHeader, RunStore, read_run
from bmwg.reports.store.journal import execution
from bmwg.reports.verify.verify import verify_bundle, verify_folder
from bmwg.resources.kinds.streams.bench import StreamsBench

QUICK = profile.PROFILES.load("quick")
PLAN = [one for one in QUICK.plan() if one.test_id == "PP-TCP-1"]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Clock(replayable.Clock):
    """Goes on by five seconds: an execution takes three."""

    def __call__(self):
        self.moment += timedelta(seconds=4)
        return super().__call__()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Bridge and ptp measured, macvlan not tried."""
    header = RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit=COMMIT,
        toolkit_dirty=False,
        simulated=False,
        testbed={"name": "two pods"},
        testbed_source=None,
        profile=QUICK.data,
        medium_kind="veth",
        line_rate_bps=None,
        procedures=versions(STREAMS.families),
        plan=tuple(PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in PLAN),
    )
    with RunStore.create(tmp_path_factory.mktemp("streams"), "s", header, clock=Clock()) as store:
        store.add_deployment("streams-p2p-1", {"path": "p2p"})
        place = {"schema": "record/1.0", "scope": "network", "fields": {}}
        store.platform.note_records("streams-p2p-1", {"dut1": place})
        for place_in_plan, planned in enumerate(PLAN):
            if planned.cell.network == "macvlan":
                reason = "iperf3: not on node dut1"
                store.add_outcome(
                    STREAMS.without_execution(planned, OutcomeType.NOT_ASSESSED, reason),
                    mend="sh setup/install.sh workloads",
                )
                continue
            done = []
            for number in range(1, 6):
                asked = spec(planned, number)
                one = result(250_000_000 + 100_000 * number)
                one = replace(one, process_ns=one.process_ns + place_in_plan)  # no two are alike
                found = STREAMS.assessed(asked, one)
                seq = store.append(
                    cell_id=planned.cell.cell_id,
                    deployment_id="streams-p2p-1",
                    metric=planned.metric,
                    test_id=planned.test_id,
                    phase=MEASURED,
                    body=STREAMS.body_of(asked, one, {}),
                    validity=found.validity,
                    reason=found.reason,
                )
                done.append(STREAMS.tried(seq, asked, one, "streams-p2p-1"))
            store.add_outcome(STREAMS.answered(planned, done))
        store.close(None, "complete")
    write_report(store.folder)
    return store.folder


@pytest.fixture
def run(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "s"))


def rules(folder: Path) -> set[str]:
    return {finding.rule_id for finding in verify_folder(folder).findings}


def test_each_interval_of_a_report_says_that_it_is_within_one_deployment(made) -> None:
    """Repetitions on one deployment cover their mean as stated, and not that of all deployments."""
    report = " ".join((made / "report.rst").read_text(encoding="utf-8").split())
    assert report.count("±") == report.count("(n = 5, if independent, within one deployment)") + report.count(
        "Mbit/s if independent, within one deployment"  # at first sight
    )
    assert report.count("(n = 5, if independent, within one deployment)") >= 2


def test_the_line_of_an_answer_says_that_its_interval_is_within_one_deployment(made) -> None:
    bench = StreamsBench.__new__(StreamsBench)
    told = [bench.line(one) for one in read_run(made).outcomes if one.type is OutcomeType.MEASURED]
    assert told
    assert all(line.endswith("(n = 5, if independent, within one deployment)") for line in told)


def test_folder_and_bundle_verify(made, tmp_path) -> None:
    found = verify_folder(made)
    assert found.findings == ()
    bundle = make_bundle(
        made,
        tmp_path / "s.bmwg.tar",
        evidence=folder_evidence(made),
        findings=list(found.findings),
        signer=None,
    )
    assert verify_bundle(bundle).findings == ()


def test_the_page_shows_answers_paths_and_what_supplies_what_was_missing(made) -> None:
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "Transport between pods and hosts" in page
    assert "1001.2" in page  # Mbit/s
    assert "pod0/net0 1.000" in page
    assert "sh setup/install.sh workloads" in page
    assert "6 answers from 20 executions" in page


def forged(run: Path, change) -> set[str]:
    """Change the lines and answers of a run, its chain made again; what verification finds."""
    lines, document = replayable.bodies(run), json.loads((run / "run.json").read_text())
    change(lines, document)
    replayable.forge(run, document, lines)
    return rules(run)


def test_a_higher_goodput_does_not_follow_from_the_executions(run) -> None:
    def change(lines, document) -> None:
        document["outcomes"][0]["values"][0]["number"] *= 1.1

    assert "VER-16" in forged(run, change)


def test_more_that_arrived_than_the_interfaces_carried_is_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:5]:
            line["result"]["received_octets"] *= 2
            line["result"]["sent_octets"] *= 2

    assert {"VER-03", "VER-34"} <= forged(run, change)


def test_an_execution_that_says_itself_that_its_counts_do_not_go_together_refuses_no_run(run) -> None:
    def change(lines, document) -> None:
        spare = next(line for line in lines if line["cell"] == lines[-1]["cell"])
        spare["result"]["crossings"][0]["octets"] = 0
        found = STREAMS.assess(execution({**spare, "schema": "trial/1.0"}).body)
        spare["assessment"] = {"validity": found.validity.value, "reason": found.reason}

    assert "VER-34" not in forged(run, change)


def test_an_execution_that_missed_the_path_cannot_be_called_valid(run) -> None:
    def change(lines, document) -> None:
        lines[0]["result"]["crossings"][0]["octets"] = 0

    assert "VER-03" in forged(run, change)


def test_an_execution_shorter_than_its_streams_is_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines:
            line["result"]["wall_ns"] = 1_000_000

    assert "VER-31" in forged(run, change)


def test_an_execution_of_other_streams_than_planned_is_found(run) -> None:
    def change(lines, document) -> None:
        lines[0]["spec"]["parallel"] = 8

    assert "VER-18" in forged(run, change)
