"""One replica more and one less while frames pass: by real pods, a real route, real frames."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tests.contract.acts_support import executed
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.ports import interfaces, sysctl
from bmwg.drivers.workload import flow_frames, replicas
from bmwg.drivers.workload.flow_frames import FLOWS
from bmwg.drivers.workload.replicas import Group, Replicas
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions, shortcomings
from bmwg.methodology.kinds.acts.records import (
    HALF_LOAD,
    SHARES_SETTLED,
    SIZE_REACHED,
    ActsResult,
    ActsSpec,
)
from bmwg.methodology.records import Validity

pytestmark = [pytest.mark.root, needs_cni, needs_crun]
PLAN = {
    one.spec.beside: one for one in profile.PROFILES.load("resize").plan() if one.test_id == "LC-REPLICA-1"
}
GONE_S = 0.5


@pytest.fixture
def changed(tmp_path):
    def run(beside: str = "", **changes) -> tuple[ActsSpec, ActsResult]:
        planned = PLAN[beside]
        spec = replace(planned.spec, number=1, **changes)
        return spec, executed(Replicas, planned, spec, tmp_path, standing)

    return run


def standing(bed) -> tuple[object, ...]:
    node = bed.node(bed.sides()[0].node)
    names = {one["name"] for one in node.call(interfaces.listing)}
    return names, node.call(sysctl.read, key="net.ipv4.fib_multipath_hash_policy")


def test_a_second_replica_gets_flows_and_gives_them_back_and_both_counts_agree(changed) -> None:
    spec, found = changed()
    print([(one.start_ns, dict(one.steps), dict(one.told), one.lost_frames) for one in found.lives])
    assert found.faults == ()
    assert contradictions(spec, found) == ()
    # on a machine that took the runner's CPU away frames were not offered all the time: said, no wrong time
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    more, less = found.lives
    assert (more.told["actual_replicas"], less.told["actual_replicas"]) == (2, 1)
    for number in (1, 2):  # of 64 flows each has some, whatever the kernel's hash
        assert 0 < more.told[f"replica_{number}_came_frames"] <= more.told[f"replica_{number}_sent_frames"]
    assert less.told["replica_1_came_frames"] == less.told["window_came_frames"] > 0
    assert more.steps["container_running"] <= more.steps[SIZE_REACHED] <= less.asked_ns
    assert more.asked_ns <= more.steps[SHARES_SETTLED] <= less.asked_ns
    assert less.first_frame_ns <= less.steps["container_removed"]  # its share was taken before
    assert more.bypassed_frames == less.bypassed_frames == 0
    # of those that have a share: what the second one had sent is no part of what the first did alone
    assert all(0 < one.told["forwarded_frames"] <= 2 * one.offered_frames for one in found.lives)


def test_frames_of_a_load_that_a_replica_takes_with_it_are_counted(changed, monkeypatch) -> None:
    real = Group.ask

    def ask(self, size: int) -> None:
        if size < len(self.pods):  # it goes before its share is taken: what goes to it meanwhile is lost
            self.pods[1][0].inside(sysctl.write_many, settings={"net.ipv4.ip_forward": "0"})
            time.sleep(GONE_S)
        real(self, size)

    monkeypatch.setattr(Group, "ask", ask)
    spec, found = changed(HALF_LOAD)
    print([(one.start_ns, dict(one.told), one.lost_frames) for one in found.lives])
    assert found.faults == ()
    assert contradictions(spec, found) == ()
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    more, less = found.lives
    assert more.told["beside_fps"] == more.told["carried_fps"] // 2
    assert more.told["beside_offered_frames"] >= more.told["beside_received_frames"] > 0
    for number in (1, 2):  # the load has the same flows
        assert 0 < more.told[f"replica_{number}_came_frames"] <= more.told[f"replica_{number}_sent_frames"]
    assert less.lost_frames > 0
    lost = less.told["beside_offered_frames"] - less.told["beside_received_frames"]
    assert lost > 0  # it has the same flows; how many a second depends on what the machine carried
    assert less.told["replica_1_came_frames"] == less.told["window_came_frames"] > 0


@pytest.mark.slow
def test_a_replica_without_a_share_is_seen(changed, monkeypatch) -> None:
    """Both flows and the number would look right if the route were believed and not the frames."""
    monkeypatch.setattr(flow_frames, "FLOWS", 1)  # all frames are of one flow: one replica has none of them
    spec, found = changed(cycles=1)
    assert found.faults == ()
    assert FLOWS == 64
    assert [one.rpartition(" ")[0] for one in shortcomings(spec, found)][:1] == [
        "resize 1: no frame came by replica"
    ]


@pytest.mark.slow
def test_a_replica_that_cannot_be_made_is_refused_and_the_other_goes_on(changed, monkeypatch) -> None:
    real = replicas.pod_made

    def made(stack, ground, at, addresses):
        if at:
            raise DriverError("POD-03", "a pod", expected="room", found="none")
        return real(stack, ground, at, addresses)

    monkeypatch.setattr(replicas, "pod_made", made)
    _, found = changed()
    (fault,) = found.faults
    assert "RESIZE-02" in fault
    assert "POD-03" in fault
    assert "all come again" in fault
    assert found.lives == ()


@pytest.mark.slow
def test_a_route_that_is_not_taken_is_no_change(changed, monkeypatch) -> None:
    real = Group.size
    monkeypatch.setattr(Group, "size", lambda self: 0 if self._wanted == 2 else real(self))
    _, found = changed(first_frame_s=3.0)
    (fault,) = found.faults
    assert "RESIZE-01" in fault
    assert "0, of 1 before" in fault
