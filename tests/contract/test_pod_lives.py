"""Pods that are made, seen to forward and removed: by real frames."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in
from tests.contract.paths_support import traces
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.of_acts import Ground
from bmwg.drivers.workload.pod_batches import PodBatches
from bmwg.drivers.workload.pod_lives import PodLives
from bmwg.drivers.workload.policies import Policies
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts import profile
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.acts.proofs import contradictions
from bmwg.methodology.kinds.acts.records import ActsSpec
from bmwg.methodology.record import booted
from bmwg.methodology.records import POD, Cell, Validity

pytestmark = [pytest.mark.root, needs_cni, needs_crun]


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with bed_in(tmp_path_factory.mktemp("run")) as made:
        yield made


def ground(bed, network: str = "bridge") -> Ground:
    cell = Cell(path="pvp", hosting=POD, function="kernel-l3", network=network, frame_octets=64)
    return Ground(bed=bed, cell=cell)


def spec(**changes) -> ActsSpec:
    asked = profile.PROFILES.load("quick").plan()[0].spec
    return replace(asked, number=1, first_frame_s=60.0, **changes)


@pytest.mark.parametrize("network", ["bridge", "ptp"])
def test_a_pod_is_seen_to_forward_between_request_and_removal_and_nothing_stays(bed, network) -> None:
    workload = PodLives(ground(bed, network))
    assert workload.probe() is None
    before = traces(bed.run_dir, bed.token)
    workload.attach((ground(bed, network),))
    found = workload.run(spec(cycles=2))
    workload.detach()
    assert found.faults == ()
    assert contradictions(spec(cycles=2), found) == ()
    # on a machine that took the runner's CPU away frames were not offered all the time: said, no wrong time
    assert ACTS.assessed(spec(cycles=2), found).validity in (Validity.VALID, Validity.INCOMPLETE)
    for life in found.lives:
        assert life.first_frame_ns is not None
        assert life.received_frames > 0
        steps = ["pod_asked", "container_created", "networks_attached", "container_running"]
        assert list(life.steps) == steps
        assert sorted(life.steps.values()) == list(life.steps.values())
        assert list(life.removal_steps) == ["networks_detached", "container_removed"]
        assert life.remove_asked_ns <= life.removal_steps["networks_detached"]
        assert life.removal_steps["container_removed"] <= life.removed_ns
        # nothing can be forwarded before it has its networks
        assert life.first_frame_ns > life.steps["networks_attached"]
        assert life.removed_ns > life.remove_asked_ns >= life.first_frame_ns
    assert traces(bed.run_dir, bed.token) == before


def test_a_pod_of_a_path_says_that_it_has_its_nodes_root_and_no_image(bed) -> None:
    with path_driver(ground(bed).cell, bed).deploy() as deployment:
        assert deployment.evidence["pod"][booted.KEY] == booted.ROOT_OF_ITS_NODE.as_builtins()


def test_frames_that_went_round_the_pod_are_no_start(bed, monkeypatch) -> None:
    """Frames with one router too few for the whole path are counted, and start nothing."""
    here = ground(bed)
    workload = PodLives(here)
    workload.attach((here,))
    monkeypatch.setattr(Ground, "routers", property(lambda self: 2))
    asked = replace(spec(cycles=2), first_frame_s=1.0)
    found = workload.run(asked)
    assert [life.first_frame_ns for life in found.lives] == [None]
    assert found.lives[0].bypassed_frames > 0
    judged = ACTS.assessed(asked, found)
    assert judged.validity is Validity.INCOMPLETE
    assert "no frame came out within 1 s" in judged.reason


def test_nothing_is_made_without_a_path(bed) -> None:
    with pytest.raises(DriverError, match="LOAD-02"):
        PodLives(ground(bed)).run(spec())


def test_policies_and_pods_at_once_are_refused_by_what_this_runtime_lacks(bed) -> None:
    cell = Cell(path="p2p", hosting=POD, function="none", network="bridge", frame_octets=64)
    missing = Policies(Ground(bed=bed, cell=cell)).probe()
    assert "NetworkPolicy on network option bridge" in missing.what
    assert "crun, which has none" in missing.reason
    assert "one after the other" in PodBatches(ground(bed)).probe().reason


def test_a_path_behind_policies_is_refused_where_nothing_enforces_them(bed) -> None:
    here = bed.varied({("pods", "policies"): 10}, "test")
    for path, function in (("p2p", "none"), ("pvp", "kernel-l3")):
        cell = Cell(path=path, hosting=POD, function=function, network="bridge", frame_octets=64)
        assert path_driver(cell, bed).probe() is None
        assert "10 network policies" in path_driver(cell, here).probe().what
