"""A node of a real cluster is drained: frames follow the pod, and the node takes pods again in every case."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kubernetes.conftest import lacking

from bmwg.drivers.kubernetes import nodes
from bmwg.drivers.kubernetes.moving import LABEL
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.isolation import require_closed, require_own_ports
from bmwg.drivers.workload.drains import Drains
from bmwg.drivers.workload.of_acts import Ground
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.records import POD, Cell, Validity

TESTBED = Path(__file__).parents[2] / "testbeds" / "kubernetes.yaml"
(PLANNED,) = [one for one in profile.PROFILES.load("quick").plan() if one.test_id == "LC-DRAIN-1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if reason := lacking():
        pytest.skip(reason)
    made = tmp_path_factory.mktemp("run")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def ledger(folder):
    return Ledger(folder / "ledger.jsonl", index_dir=folder / "index")


@pytest.fixture(scope="module")
def bed(folder, ledger):
    testbed = load_testbed(TESTBED)
    options = {**testbed.pods.options, "ready_s": 300}
    networks = tuple(one for one in testbed.networks if one.driver == "cni")
    wanted = replace(testbed, networks=networks, pods=replace(testbed.pods, options=options))
    with open_bed(wanted, ledger, folder) as opened:
        yield opened


def frames(network: str = "none") -> Cell:
    return Cell(path="pvp-service", hosting=POD, function="udp-relay", network=network, frame_octets=64)


def takes_pods(bed, node: str) -> bool:
    return not bed.runtime.api.get(nodes.node_path(node))["spec"].get("unschedulable")


def test_frames_stop_with_the_eviction_and_come_again_by_the_pod_on_the_other_node(bed) -> None:
    driver = Drains(Ground(bed=bed, cell=frames()))
    assert driver.probe() is None
    before = {
        name: {one["name"] for one in bed.node(name).call(interfaces.listing)} for name in ("dut1", "dut2")
    }
    asked = replace(PLANNED.spec, number=1)
    driver.attach((Ground(bed=bed, cell=frames()),))
    found = driver.run(asked)
    driver.detach()
    assert found.faults == ()
    assert contradictions(asked, found) == ()
    assert ACTS.assessed(asked, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    assert len(found.lives) == 2  # there and back
    for life in found.lives:
        after_ms = {name: round((at - life.asked_ns) / 1e6, 1) for name, at in life.steps.items()}
        first_ms = round((life.first_frame_ns - life.asked_ns) / 1e6, 1)
        print(after_ms, "first frame", first_ms, "lost", life.lost_frames, "outage", life.outage_ns / 1e6)
    for life in found.lives:
        assert {
            "eviction_accepted", "pod_created", "scheduled", "networks_attached", "container_running",
            "pod_ready", "old_pod_gone", "frames_stopped", "frames_again",
        } <= set(life.steps)  # fmt: skip
        assert life.asked_ns < life.steps["eviction_accepted"] < life.first_frame_ns < life.removed_ns
        assert life.steps["networks_attached"] < life.first_frame_ns
        assert life.last_frame_ns <= life.first_frame_ns
        assert 0 < life.lost_frames * asked.interval_us * 1000 <= life.outage_ns * 1.2
        assert life.bypassed_frames == 0
    assert all(takes_pods(bed, name) for name in ("dut1", "dut2"))
    assert bed.runtime.left() == []
    after = {
        name: {one["name"] for one in bed.node(name).call(interfaces.listing)} for name in ("dut1", "dut2")
    }
    assert after == before


def cordoned(bed, ledger, node="dut2", owner="run-a"):
    return nodes.cordoned(bed.runtime.api, ledger, bed.node("dut1"), node=node, owner=owner)


def test_a_node_takes_pods_again_when_what_was_done_there_fails(bed, ledger) -> None:
    seen = []

    def fails() -> None:
        with cordoned(bed, ledger):
            seen.append(takes_pods(bed, "dut2"))
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        fails()
    assert seen == [False]
    assert takes_pods(bed, "dut2")
    assert all(entry.kind != nodes.UNDO_KIND for entry in ledger.pending)


def test_a_killed_runner_s_cordon_is_lifted_by_its_ledger(bed, ledger) -> None:
    held = cordoned(bed, ledger)
    held.__enter__()  # and the runner is killed: nothing of it is left in memory
    (entry,) = [one for one in ledger.pending if one.kind == nodes.UNDO_KIND]
    assert not takes_pods(bed, "dut2")
    after = Ledger(ledger.path, index_dir=ledger.path.parent / "index-after")
    after.undo(entry.number, {"dut1": bed.node("dut1")})
    assert takes_pods(bed, "dut2")
    assert entry.number not in [one.number for one in after.pending]
    held.__exit__(None, None, None)  # a second undo finds nothing to do
    assert takes_pods(bed, "dut2")


def test_a_node_that_somebody_else_has_cordoned_is_refused_and_stays_as_it_is(bed, ledger) -> None:
    api, path = bed.runtime.api, nodes.node_path("dut2")
    api.merge(path, {"spec": {"unschedulable": True}})
    try:
        with pytest.raises(TestbedError, match="KUBE-45") as caught, cordoned(bed, ledger):
            pass
        assert "somebody else" in caught.value.found
        assert nodes.uncordon(access=api.access.data(), node="dut2", owner="run-a") is False
        assert not takes_pods(bed, "dut2")
    finally:
        api.merge(path, {"spec": {"unschedulable": None}})


def test_an_eviction_that_a_budget_forbids_waits_to_its_deadline_and_names_the_budget(bed) -> None:
    api, namespace = bed.runtime.api, bed.runtime.namespace
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/all"
    with path_driver(frames(), bed).standing() as stands:
        label = {LABEL: stands.moving.name}
        budget = {"minAvailable": 1, "selector": {"matchLabels": label}}
        named = {"name": "all", "namespace": namespace}
        api.apply(
            path,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": named,
                "spec": budget,
            },
        )
        began_s = time.monotonic()
        try:
            with pytest.raises(TestbedError, match="KUBE-44") as caught, stands.moving.drained(within_s=3.0):
                pass
        finally:
            api.delete(path)
        assert 1.0 < time.monotonic() - began_s < 20.0
        assert "disruption budget" in caught.value.found
        assert "all allows 0" in caught.value.hint
        assert takes_pods(bed, "dut1")
        # without the budget the same pod is moved
        with stands.moving.drained(within_s=60.0) as moved:
            assert (moved.from_node, moved.to_node) == ("dut1", "dut2")
            print({name: round((at - moved.asked_ns) / 1e6, 1) for name, at in moved.steps.items()})
        assert takes_pods(bed, "dut1")


def test_the_path_leads_nowhere_but_to_the_run(bed) -> None:
    with path_driver(frames(), bed).deploy() as deployment:
        require_own_ports(deployment.ports, ())
        require_closed(bed)
        (pod,) = bed.pods.values()
        assert pod.node.name == "dut1"
    assert bed.pods == {}


def test_options_whose_frames_cannot_follow_a_pod_are_refused_by_name(bed) -> None:
    for network in ("bridge", "ptp"):
        missing = Drains(Ground(bed=bed, cell=frames(network))).probe()
        assert f"to another node on network option {network}" in missing.what
        assert "no Service leads there" in missing.reason
