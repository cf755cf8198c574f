"""A pod that is started beside another one: idle, or with half of the load that it carries."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tests.contract.acts_support import executed
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.workload import pod_batches, pods_beside
from bmwg.drivers.workload.pods_beside import PodsBeside
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import HALF_LOAD, ActsResult, ActsSpec
from bmwg.methodology.records import Validity

pytestmark = [pytest.mark.root, needs_cni, needs_crun]
PLAN = {one.spec.beside: one for one in profile.PROFILES.load("quick").plan() if one.test_id == "LC-START-4"}
SLEEP_S = 2.0


@pytest.fixture
def lived(tmp_path):
    def run(beside: str, **changes) -> tuple[ActsSpec, ActsResult]:
        spec = replace(PLAN[beside].spec, number=1, first_frame_s=60.0, **changes)
        found = executed(PodsBeside, PLAN[beside], spec, tmp_path)
        assert contradictions(spec, found) == ()
        return spec, found

    return run


def test_a_start_made_slower_beside_a_load_is_seen_and_the_other_pod_goes_on(lived, monkeypatch) -> None:
    real, number = pods_beside.pod_made, []

    def made(stack, ground, at):
        number.append(at)
        if at == 0:  # the one that is started beside
            time.sleep(SLEEP_S)
        return real(stack, ground, at)

    monkeypatch.setattr(pods_beside, "pod_made", made)
    spec, found = lived(HALF_LOAD)
    assert found.faults == ()
    assert number == [1, 0]
    # on a machine that took the runner's CPU away frames were not offered all the time: said, no wrong time
    assert ACTS.assessed(spec, found).validity in (Validity.VALID, Validity.INCOMPLETE)
    (life,) = found.lives
    assert life.start_ns >= SLEEP_S * 1e9
    assert life.told["beside_fps"] == life.told["carried_fps"] // 2
    assert life.told["beside_offered_frames"] >= life.told["beside_received_frames"] > 0
    assert life.bypassed_frames == 0


@pytest.mark.slow
def test_beside_an_idle_pod_no_load_is_told_and_each_start_is_one_of_its_own(lived) -> None:
    _, found = lived("", cycles=2)
    assert found.faults == ()
    assert [life.told for life in found.lives] == [{}, {}]
    assert all(life.received_frames > 0 for life in found.lives)


@pytest.mark.slow
def test_a_pod_that_does_not_forward_is_no_pod_to_start_beside(lived, monkeypatch) -> None:
    real = pod_batches.pod_wanted
    monkeypatch.setattr(
        pod_batches,
        "pod_wanted",
        lambda *asked: (replace(real(*asked)[0], forwarding=False), real(*asked)[1]),
    )
    monkeypatch.setattr(
        "bmwg.drivers.workload.offered_frames.OfferedFrames.wait", lambda self, within_s: False
    )
    _, found = lived("")
    assert "MOVE-05" in found.faults[0]
    assert found.lives == ()
