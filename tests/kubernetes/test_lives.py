"""Lives on a real cluster: pods at once, and policies that stop frames and let them come again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.kubernetes.conftest import lacking

from bmwg.drivers.kubernetes import policies
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import pod_batches
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.pod_batches import PodBatches
from bmwg.drivers.workload.pod_lives import PodLives
from bmwg.drivers.workload.policies import Policies
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.records import POD, Cell, Validity

TESTBED = Path(__file__).parents[2] / "testbeds" / "kubernetes.yaml"
PLAN = profile.PROFILES.load("quick").plan()


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    if reason := lacking():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("run")
    testbed = load_testbed(TESTBED)
    options = {"cluster": "embedded", "ready_s": 300}
    networks = tuple(one for one in testbed.networks if one.driver == "cni")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    wanted = replace(testbed, networks=networks, pods=replace(testbed.pods, options=options))
    with open_bed(wanted, ledger, folder) as opened:
        yield opened
    shutil.rmtree(folder, ignore_errors=True)


def planned(test_id: str, **wanted):
    """The spec of a cell of the quick profile, and the ground of it."""
    (one,) = [
        one
        for one in PLAN
        if one.test_id == test_id
        and all(getattr(one.spec, name, None) == value for name, value in wanted.items())
        and one.cell.network == ("ptp" if test_id == "LC-POLICY-1" else "bridge")
    ]
    return replace(one.spec, number=1), one.cell


def on(bed, cell) -> Ground:
    parts = {name: getattr(cell, name) for name in ("path", "hosting", "function", "network")}
    return Ground(bed=bed, cell=Cell(**parts, frame_octets=64))


def executed(driver, ground, asked):
    workload = driver(ground)
    assert workload.probe() is None
    workload.attach((ground,))
    found = workload.run(asked)
    workload.detach()
    assert found.faults == ()
    assert contradictions(asked, found) == ()
    # a sender that stood still on a busy machine is said, and times nothing
    assert ACTS.assessed(asked, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    return found


def test_four_pods_that_are_asked_for_at_once_forward_each_by_its_own_address_and_leave_nothing(bed) -> None:
    asked, cell = planned("LC-SCALE-1", at_once=4)
    before = {one["name"] for one in bed.node("dut1").call(interfaces.listing)}
    found = executed(PodBatches, on(bed, cell), asked)
    assert len(found.lives) == 4
    requests = [life.asked_ns for life in found.lives]
    first_frames_ns = [life.first_frame_ns for life in found.lives]
    assert max(requests) < min(first_frames_ns)  # all were asked for before any of them forwarded
    for life in found.lives:
        assert life.received_frames > 0
        assert life.first_frame_ns > life.steps["networks_attached"] - 50_000_000
        assert {"api_accepted", "scheduled", "networks_attached", "container_running"} <= set(life.steps)
        assert {"delete_accepted", "networks_detached", "pod_gone"} <= set(life.removal_steps)
    assert {one["name"] for one in bed.node("dut1").call(interfaces.listing)} == before


def test_of_eight_pods_at_once_those_without_room_are_not_scheduled_and_the_others_forward(
    bed, monkeypatch
) -> None:
    (stand_ups,) = [one for one in profile.PROFILES.load("failures").plan() if one.spec.at_once == 32]
    real = pod_batches.pod_wanted

    def wanted(ground, at):
        spec, networks = real(ground, at)
        return (replace(spec, memory_octets=1 << 50) if at in (2, 5) else spec), networks

    monkeypatch.setattr(pod_batches, "pod_wanted", wanted)
    asked = replace(stand_ups.spec, number=1, cycles=8, at_once=8)
    found = executed(PodBatches, on(bed, stand_ups.cell), asked)
    assert [one.failed for one in found.lives] == ["not_scheduled" if at in (2, 5) else "" for at in range(8)]
    told = {v.metric: v.number for v in ACTS.values(replace(stand_ups, spec=asked), [found])}
    assert (told["pod_stand_up.attempts"], told["pod_stand_up.failed.not_scheduled"]) == (8, 2)
    assert bed.runtime.left() == []


def test_pods_in_a_row_tell_the_steps_of_their_removal_and_leave_nothing(bed) -> None:
    asked, cell = planned("LC-CHURN-1")
    found = executed(PodLives, on(bed, cell), replace(asked, cycles=2))
    for life in found.lives:
        assert {"delete_accepted", "networks_detached", "pod_gone"} <= set(life.removal_steps)
        assert life.removal_steps["networks_detached"] <= life.removal_steps["pod_gone"] <= life.removed_ns
    assert bed.runtime.left() == []


@pytest.mark.parametrize("others", [0, 10])
def test_frames_stop_with_a_policy_and_come_again_without_it(bed, others) -> None:
    asked, cell = planned("LC-POLICY-1", policies=others)
    found = executed(Policies, on(bed, cell), replace(asked, cycles=3))
    assert len(found.lives) == 3
    for life in found.lives:
        assert life.asked_ns < life.first_frame_ns < life.remove_asked_ns < life.removed_ns
        assert life.received_frames < life.offered_frames
        assert life.first_frame_ns >= life.steps["agent_saw"]  # nobody knew of it before
        assert life.removed_ns >= life.removal_steps["agent_saw"]
    assert bed.node("dut1").call(policies.rules) == []


def test_frames_pass_ten_policies_of_which_the_last_allows_them(bed) -> None:
    here = bed.varied({("pods", "policies"): 10}, "test")
    cell = Cell(path="p2p", hosting=POD, function="none", network="ptp", frame_octets=64)
    driver = path_driver(cell, here)
    assert driver.probe() is None
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        told = deployment.evidence["network_policies"]
        assert told["policies"] == 10
        assert "the toolkit's own agent" in told["enforced_by"]
        for source in (0, 1):
            for ipv6 in (False, True):
                assert tester.carry(source, f"{source} {ipv6}".encode(), ipv6=ipv6) is not None
        rules = bed.node("dut1").call(policies.rules)
        assert sum("jump Ingress-policy-" in line for line in rules) == 10
    assert bed.node("dut1").call(policies.rules) == []


def test_an_option_whose_frames_pass_no_netfilter_is_refused_by_name(bed, monkeypatch) -> None:
    monkeypatch.setattr(type(bed.node("dut1")), "call_named", lambda *_, **__: False)
    missing = bed.runtime.enforces(bed.node("dut1"), bed.network("bridge"))
    assert "NetworkPolicy on network option bridge" in missing.what
    assert "nothing enforces it" in missing.reason
