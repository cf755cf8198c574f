"""A run of acts verifies from its executions, as folder and as bundle; no changed one does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import replayable
from tests.unit.acts.test_exchanges import LOAD
from tests.unit.acts.test_kind import both_ways, pair, result, spec

import bmwg
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.records import HALF_LOAD
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.records import OutcomeType
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import PlannedCell, RunHeader, RunStore
from bmwg.reports.verify.verify import verify_bundle, verify_folder
from bmwg.resources.run.guest_record import record_machine

QUICK = profile.PROFILES.load("quick")
PLAN = QUICK.plan()
CLOUD = profile.PROFILES.load("cloud")
MS = 1_000_000


class Clock(replayable.Clock):
    """Goes on by far more than an execution takes."""

    def __call__(self):
        self.moment += timedelta(seconds=20)
        return super().__call__()


def header_by(chosen, testbed: str) -> RunHeader:
    plan = tuple(PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in chosen.plan())
    return RunHeader(
        toolkit_version=bmwg.__version__,
        toolkit_commit="0123456789abcdef0123456789abcdef01234567",
        toolkit_dirty=False,
        simulated=False,
        testbed={"name": testbed},
        testbed_source=None,
        profile=chosen.data,
        medium_kind="veth",
        line_rate_bps=None,
        procedures=versions(ACTS.families),
        plan=plan,
    )


def executed(store: RunStore, planned, deployment_id: str, results) -> None:
    """Append these executions of a cell, and its answer."""
    done = []
    for number, one in enumerate(results, start=1):
        asked = spec(planned, number)
        found = ACTS.assessed(asked, one)
        seq = store.append(
            cell_id=planned.cell.cell_id,
            deployment_id=deployment_id,
            metric=planned.metric,
            test_id=planned.test_id,
            phase=MEASURED,
            body=ACTS.body_of(asked, one, {}),
            validity=found.validity,
            reason=found.reason,
        )
        done.append(ACTS.tried(seq, asked, one, deployment_id))
    store.add_outcome(ACTS.answered(planned, done))


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
            store.add_deployment(deployment_id, evidence)
            record_machine(store, evidence, "openstack")
            place = {"schema": "record/1.0", "scope": "network", "fields": {}}
            store.platform.note_records(deployment_id, {"dut1": place})
            # one every 10 ms: fewer than a pod is offered
            each = [
                replace(one, lives=tuple(replace(life, offered_frames=200) for life in one.lives))
                for one in results
            ]
            executed(store, planned, deployment_id, each)
        store.close(None, "complete")
    write_report(store.folder)
    return store.folder


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
        store.add_deployment("acts-pvp-bridge-1", {"path": "pvp"})
        place = {"schema": "record/1.0", "scope": "network", "fields": {}}
        store.platform.note_records("acts-pvp-bridge-1", {"dut1": place})
        store.add_deployment("acts-pvp-service-none-2", {"path": "pvp-service"})
        store.platform.note_records("acts-pvp-service-none-2", {"dut1": place})
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
        store.close(None, "complete")
    write_report(store.folder)
    return store.folder


@pytest.fixture
def run(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "a"))


def test_folder_and_bundle_verify(made, tmp_path) -> None:
    found = verify_folder(made)
    assert found.findings == ()
    bundle = make_bundle(
        made,
        tmp_path / "a.bmwg.tar",
        evidence=folder_evidence(made),
        findings=list(found.findings),
        signer=None,
    )
    assert verify_bundle(bundle).findings == ()


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


def forged(run: Path, change) -> set[str]:
    """Change the lines and answers of a run, its chain made again; what verification finds."""
    lines, document = replayable.bodies(run), json.loads((run / "run.json").read_text())
    change(lines, document)
    replayable.forge(run, document, lines)
    return {finding.rule_id for finding in verify_folder(run).findings}


def test_a_faster_start_does_not_follow_from_the_executions(run) -> None:
    def change(lines, document) -> None:
        one = next(one for one in document["outcomes"] if one["values"])
        one["values"][0]["number"] *= 0.9

    assert "VER-16" in forged(run, change)


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
