"""A run of acts verifies from its executions, as folder and as bundle; no changed one does."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from acts_run import executed, header_by
from repeated_run import Clock, closed, deployed, forged, require_whole, times_first_answer
from tests.unit.acts.lives import both_ways, pair, result
from tests.unit.acts.test_exchanges import LOAD

from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import HALF_LOAD
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import RunStore
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources.run.guest_record import record_machine

QUICK = profile.PROFILES.load("quick")
PLAN = QUICK.plan()
CLOUD = profile.PROFILES.load("cloud")
MS = 1_000_000


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Servers one at a time, and two at once."""
    start, batch = CLOUD.plan()
    with RunStore.create(
        tmp_path_factory.mktemp("servers"), "s", header_by(CLOUD, "servers"), clock=Clock()
    ) as store:
        machine = {"kind": "openstack", "accelerator": "tcg"}
        for number, (planned, results) in enumerate(
            [(start, [result(1500 + ms) for ms in range(3)]), (batch, [pair(1900 + ms) for ms in range(3)])],
            start=1,
        ):
            deployment_id = f"acts-pvp-vm-none-{number}"
            evidence = {"path": "pvp-vm", "hosting": "vm", "function": "kernel-l3", "machine": machine}
            deployed(store, deployment_id, evidence)
            record_machine(store, evidence, "openstack")
            # one every 10 ms: fewer than a pod is offered
            each = [
                replace(one, lives=tuple(replace(life, offered_frames=200) for life in one.lives))
                for one in results
            ]
            executed(store, planned, deployment_id, each)
        return closed(store)


def started(planned, start_ms: int):
    """Starts as they are planned, with what a load beside them has carried where they have one."""
    one = result(start_ms, cycles=planned.spec.cycles)
    told = LOAD if planned.spec.beside == HALF_LOAD else {}
    return replace(one, lives=tuple(replace(life, told={**life.told, **told}) for life in one.lives))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Starts on bridge and churn measured, the policy refused, other options not there."""
    header = header_by(QUICK, "pods")
    with RunStore.create(tmp_path_factory.mktemp("acts"), "a", header, clock=Clock()) as store:
        deployed(store, "acts-pvp-bridge-1", {"path": "pvp"})
        deployed(store, "acts-pvp-service-none-2", {"path": "pvp-service"})
        for at, planned in enumerate(PLAN):
            if planned.test_id == "LC-DRAIN-1":
                executed(
                    store, planned, "acts-pvp-service-none-2", [both_ways(800 + seq) for seq in range(1, 8)]
                )
                continue
            if planned.test_id == "LC-POLICY-1" or planned.cell.network != "bridge":
                reason = "it enforces no NetworkPolicy"
                store.add_outcome(
                    ACTS.without_execution(planned, OutcomeType.NOT_ASSESSED, reason), mend="another CNI"
                )
                continue
            executed(
                store,
                planned,
                "acts-pvp-bridge-1",
                [started(planned, 1500 + 10 * at + number) for number in range(1, 8)],
            )
        return closed(store)


def test_folder_and_bundle_verify(made, tmp_path) -> None:
    require_whole(made, tmp_path / "a.bmwg.tar")


def test_the_page_shows_starts_steps_frames_and_what_was_refused(made) -> None:
    page = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "The life of pods" in page
    assert "container runs" in page
    assert "went round the pod" in page
    assert "networks detached (CNI DEL is done)" in page
    assert "pvp, kernel-l3, bridge, 8 at once" in page
    assert "pods/min" in page
    assert "it enforces no NetworkPolicy" in page
    assert "15 answers from the life of 161 pods and drains" in page  # no policy had a life
    assert "median 1.504\u00a0s (1.501\u00a0s to 1.507\u00a0s) if independent, within one deployment" in page
    assert "first frame by the other pod" in page
    assert "pvp-service, udp-relay, none, to the other node" in page
    assert "pvp-service, udp-relay, none, back" in page
    assert "frames lost in each" in page


def test_servers_verify_and_their_page_names_what_ran_them(servers) -> None:
    assert verify_folder(servers).findings == ()
    page = (servers / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "The life of servers" in page
    assert "2 answers from the life of 9 servers" in page
    assert "a virtual machine under TCG, made by openstack" in page
    assert (
        "n = 3 of 2 servers at once, if independent, within one deployment, until all forward 1.921\u00a0s"
        in page
    )
    assert "went round the server" in page


def test_a_batch_that_lasted_less_than_its_slower_server_is_found(servers, tmp_path) -> None:
    def change(lines, document) -> None:
        one = next(one for one in document["outcomes"] if one["metric"] == "server_batch")
        one["values"][0]["number"] = 1500.0 * MS

    assert "VER-16" in forged(Path(shutil.copytree(servers, tmp_path / "s")), change)


def test_a_faster_start_does_not_follow_from_the_executions(run) -> None:
    assert "VER-16" in forged(run, times_first_answer(0.9))


def test_a_pod_that_was_removed_before_it_forwarded_is_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:7]:
            line["result"]["lives"][0]["remove_asked_ns"] = 100 * MS

    assert {"VER-03", "VER-34"} <= forged(run, change)


def test_more_frames_than_the_interval_allows_are_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:7]:
            line["result"]["lives"][0]["offered_frames"] = 5000

    assert "VER-34" in forged(run, change)


def test_pods_that_lived_longer_than_their_execution_are_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:7]:
            line["result"]["wall_ns"] = 500 * MS

    assert {"VER-03", "VER-31"} <= forged(run, change)


def test_a_start_that_lasted_longer_than_the_time_between_two_lines_is_found(run) -> None:
    def change(lines, document) -> None:
        for line in lines[:7]:
            line["result"]["wall_ns"] = 600_000 * MS

    assert "VER-30" in forged(run, change)


def test_starts_and_removals_stand_in_the_matrix_and_what_was_refused_says_why(made) -> None:
    page = (made / "report-matrices.html").read_text(encoding="utf-8")
    assert 'href="#activation-by-speed"' in page
    assert 'href="#de-activation-by-speed"' in page
    assert 'href="#de-activation-by-reliability"' in page  # the drain's outage
    assert "pod_scale: 3 of 3 measured" in page
    assert "Capacity: pvp pod bridge kernel-l3 at once 4" in page
    text = (made / "report.rst").read_text(encoding="utf-8").replace("\\", "")
    assert "not assessed: policy_programming: it enforces no NetworkPolicy" in text
    assert "median 600\u00a0ms" in text
    assert "bypassed 0\u00a0frames" in text
