"""A run of streams verifies from its executions, as folder and as bundle; no changed one does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from repeated_run import (
    Clock,
    closed,
    deployed,
    forged,
    header,
    recorded,
    require_whole,
    times_first_answer,
)
from tests.unit.streams.test_kind import result, spec

from bmwg.methodology.kinds.streams import profile
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.store.journal import execution
from bmwg.resources.kinds.streams.bench import StreamsBench

QUICK = profile.PROFILES.load("quick")
PLAN = [one for one in QUICK.plan() if one.test_id == "PP-TCP-1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Bridge and ptp measured, macvlan not tried."""
    planned_run = header(STREAMS, QUICK.data, PLAN, {"name": "two pods"})
    folder = tmp_path_factory.mktemp("streams")
    with RunStore.create(folder, "s", planned_run, clock=Clock(5.0)) as store:  # an execution takes three
        deployed(store, "streams-p2p-1", {"path": "p2p"})
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
                one = result(250_000_000 + 100_000 * number)
                one = replace(one, process_ns=one.process_ns + place_in_plan)  # no two are alike
                asked = spec(planned, number)
                done.append(recorded(STREAMS, store, planned, "streams-p2p-1", asked, one))
            store.add_outcome(STREAMS.answered(planned, done))
        return closed(store)


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
    require_whole(made, tmp_path / "s.bmwg.tar")


def test_the_page_shows_answers_paths_and_what_supplies_what_was_missing(made) -> None:
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "Transport between pods and hosts" in page
    assert "1001.2" in page  # Mbit/s
    assert "pod0/net0 1.000" in page
    assert "sh setup/install.sh workloads" in page
    assert "6 answers from 20 executions" in page


def test_a_higher_goodput_does_not_follow_from_the_executions(run) -> None:
    assert "VER-16" in forged(run, times_first_answer(1.1))


def test_more_that_arrived_than_the_interfaces_carried_is_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:5]:
            line["result"]["received_octets"] *= 2
            line["result"]["sent_octets"] *= 2

    assert {"VER-03", "VER-34"} <= forged(run, change)


def test_pods_of_one_host_may_carry_more_than_the_cable_between_tester_and_device(run) -> None:
    """The run of a lab whose pods are quicker than its ports was refused."""

    def change(lines, document) -> None:
        medium = {"kind": "ethernet", "line_rate_bps": 100_000_000}
        document["medium"] = document["testbed"]["medium"] = medium

    assert "VER-32" not in forged(run, change)


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
