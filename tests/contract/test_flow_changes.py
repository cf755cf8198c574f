"""Idle flows of a real Open vSwitch, and their changes at a rate; frames go through meanwhile."""

import os
import re
import signal
import time
from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in, four_port_tester
from tests.contract.trials_support import lossless, whole
from tests.needs import needs_vswitch

from bmwg.drivers.actuators.acting import ActingTraffic, settle
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.network import ovs_flows, ovs_tools
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.workload import daemons, flow_table
from bmwg.drivers.workload.modifiers import modifiers
from bmwg.methodology.benchmarks import first_frames, flow_scale, match_action
from bmwg.methodology.benchmarks.first_frames import FirstFramesGoal
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.measurements.match_action import Matched
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, TrialSpec, Validity
from bmwg.methodology.trial.judging import JudgedTrial

pytestmark = [pytest.mark.root, needs_vswitch]
CELL = Cell(path="switch", hosting=BAREMETAL, function="ovs-netdev", network=NOTHING, frame_octets=64)
WAIT_S = 60.0
CACHED = {  # what the caches did to these frames
    "set_vlan": r"vlan\(vid=100\b.*actions:.*vid=200\b",
    "push_vlan": r"actions:push_vlan\(.*vid=200\b",
    "pop_vlan": r"vlan\(vid=100\b.*actions:pop_vlan",
}
ELSE = 20  # frames of a machine's own, at most, that a switch sees beside
LEARNING_FRAMES = 100  # more than a tester sends before


@pytest.fixture(scope="module")
def switch(tmp_path_factory):
    testbed = load_testbed("testbeds/switch.yaml")
    with bed_in(tmp_path_factory.mktemp("run"), testbed) as bed:
        with path_driver(CELL, bed).deploy() as deployment:
            yield Place(cell=CELL, bed=bed), deployment
        assert bed.undo.pending == ()


@pytest.fixture
def place(switch):
    return switch[0]


def standing(place):
    return place.node.call(flow_table.standing, matched=False)["flows"]


def beside(place, entries, rate):
    name = Coupling(entries=entries, changes_per_s=rate).modifier
    return modifiers(place, name)[name]()


@pytest.mark.parametrize("entries", [8, 1_000, 100_000])
def test_as_many_flows_stand_as_are_asked_for_and_none_afterwards(place, entries):
    with beside(place, entries, 0) as active:
        assert standing(place) == entries
        assert active.counts() == {"flow_changes": 0}
        program = active.evidence["program"]
    assert standing(place) == 0
    assert process.start_ticks(program["pid"]) != program["start_ticks"]


def test_changes_go_on_and_are_never_more_than_are_due(place):
    """Each is confirmed by the switch; after an odd one a flow more stands, after an even one none."""
    rate = 500
    began_s = time.monotonic()
    with beside(place, 8, rate) as active:
        first = active.counts()["flow_changes"]
        while active.counts()["flow_changes"] < first + 2 * rate:
            assert time.monotonic() < began_s + WAIT_S
            time.sleep(0.05)
        assert active.counts()["flow_changes"] <= rate * (time.monotonic() - began_s)
        assert standing(place) in (8, 9)
    assert standing(place) == 0


@pytest.mark.quiet
@pytest.mark.parametrize("flows", [1_000, 20_000])
def test_each_flow_of_the_test_frames_meets_an_entry_of_its_own(switch, tmp_path, flows):
    """Known truth: the switch counts every frame that was sent at these entries, and they go through."""
    place, deployment = switch
    name = flow_scale.modifier(flows)
    spec = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=1.0, flows=flows)
    with (
        four_port_tester(tmp_path) as tester,
        modifiers(place, name)[name]() as active,
    ):
        tester.attach(deployment.ports)
        tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
        assert active.counts() == {"matched_flows": flows}
        result = tester.run(spec)
        end_s = time.monotonic() + WAIT_S
        while _met(place) < result.received_frames and time.monotonic() < end_s:
            time.sleep(0.1)
        assert result.received_frames <= _met(place) <= result.sent_frames + LEARNING_FRAMES
        assert result.received_frames > 0
        tester.detach()


def _met(place):
    return place.node.call(flow_table.standing, matched=True)["frames"]


def counted(place, folder, program):
    own = {name: program[name] for name in ("pid", "start_ticks")}
    return place.node.call(flow_table.read, folder=folder, **own)["expired_flows"]


@pytest.mark.quiet
def test_flows_that_time_out_are_counted_and_then_frames_go_by_the_miss_rule(switch, tmp_path):
    """Known truth: each entry expires once; then the rule by which the bridge learns meets every frame."""
    place, deployment = switch
    flows = 256
    spec = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=0.5, flows=flows)
    kinds = {"entries": 0, "changes_per_s": 0, "matched": flows, "timeout_s": 1, "renewed": False}
    with four_port_tester(tmp_path) as tester:
        tester.attach(deployment.ports)
        tester.learn(spec)
        program = place.node.call(flow_table.start, folder=str(tmp_path / "flows"), **kinds)["program"]
        try:
            end_s = time.monotonic() + WAIT_S
            while counted(place, str(tmp_path / "flows"), program) < flows:
                assert time.monotonic() < end_s
                time.sleep(0.05)
            assert place.node.call(flow_table.standing, matched=True)["flows"] == 0
            before = place.node.call(flow_table.missed)
            result = tester.run(spec)
            end_s = time.monotonic() + WAIT_S
            while (met := place.node.call(flow_table.missed) - before) < result.sent_frames:
                assert time.monotonic() < end_s
            assert met <= result.sent_frames + ELSE
            assert result.received_frames > 0
            assert counted(place, str(tmp_path / "flows"), program) == flows
        finally:
            place.node.call(daemons.stop, **{name: program[name] for name in ("pid", "start_ticks")})
        tester.detach()


def test_flows_that_time_out_are_given_again_and_expire_no_more_often_than_their_time(place):
    flows = 1_000
    name = flow_scale.expiring_modifier(flows)
    began_s = time.monotonic()
    with modifiers(place, name)[name]() as active:
        while active.counts()["expired_flows"] < 3 * flows:
            assert time.monotonic() < began_s + WAIT_S
            time.sleep(0.05)
        gone = active.counts()["expired_flows"]
        assert gone <= flows * (time.monotonic() - began_s) / flow_scale.TIMEOUT_S
        assert 0 < place.node.call(flow_table.standing, matched=True)["flows"] <= flows
    assert place.node.call(flow_table.standing, matched=True)["flows"] == 0


def test_a_control_plane_that_has_ended_is_told(place):
    with beside(place, 8, 1) as active:
        program = active.evidence["program"]
        os.kill(program["pid"], signal.SIGKILL)
        while process.start_ticks(program["pid"]) == program["start_ticks"]:
            time.sleep(0.01)
        with pytest.raises(ToolkitError) as error:
            active.counts()
        assert error.value.error_id == "MOD-06"
    with beside(place, 8, 0):  # what it left is taken away by the next
        assert standing(place) == 8


def test_other_functions_know_no_flows(place):
    name = Coupling(entries=8, changes_per_s=1).modifier
    other = Place(cell=replace(CELL, function="linux-bridge"), bed=place.bed)
    assert modifiers(other, name) == {}
    assert modifiers(place, "flows-none") == {}


@pytest.mark.quiet
def test_each_first_frame_of_a_flow_is_an_upcall_and_no_later_one_is(switch, tmp_path):
    """Known truth: as many upcalls as flows, for twice as many frames; again once the caches are emptied."""
    place, deployment = switch
    goal = FirstFramesGoal(cell=replace(CELL, flows=64_000), load_fps=1_000)
    flows = goal.spec().flows
    with four_port_tester(tmp_path) as tester, ActingTraffic(tester, place) as acting:
        tester.attach(deployment.ports)
        acting.learn(goal.spec())
        for _ in range(2):
            result = whole(acting, goal.spec(), lossless)
            told = dict(result.auxiliary)
            assert result.lost_frames == 0
            assert told[first_frames.FAILED] == 0
            assert flows <= told[first_frames.UPCALLS] <= flows + ELSE
        (stream,) = result.streams
        assert len(stream.tagged_ns) == 2 * flows
        assert all(stream.tagged_ns)  # each frame tells its latency; how long it was is the machine's affair
        assert place.node.call(flow_table.standing, matched=True)["flows"] == 64_000
        tester.detach()
    assert standing(place) == 0


@pytest.mark.quiet
@pytest.mark.parametrize(
    "codes",
    [
        ("macs", "dec_ttl_half", "set_vlan", "push_vlan", "pop_vlan", "all"),
        pytest.param(tuple(match_action.KNOWN), marks=pytest.mark.slow),
    ],
)
def test_flows_count_the_frames_that_match_them(switch, tmp_path, codes):
    """Known truth: every frame of a trial without loss, or every other one, by the flows' own counts."""
    place, deployment = switch
    with four_port_tester(tmp_path) as tester, ActingTraffic(tester, place) as acting:
        tester.attach(deployment.ports)
        for one in map(match_action.KNOWN.__getitem__, codes):
            spec = Matched(one=one).changed(
                TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.256, flows=256)
            )
            acting.learn(spec)
            result = whole(acting, spec, lossless)
            told = dict(result.auxiliary)
            assert result.lost_frames == 0, one.code
            assert told[match_action.FRAMES] == result.sent_frames * one.share, one.code
            matched = Matched(one=one).matched(JudgedTrial(seq=1, result=result, validity=Validity.VALID))
            assert matched, one.code
            if one.code in CACHED:
                done = place.node.call(ovs_tools.asked, words=["dpctl/dump-flows"])
                assert re.search(CACHED[one.code], done), done
        settle(acting)
        (flow,) = place.node.call(ovs_flows.standing, bridge="bmwg-swo0")
        assert "NORMAL" in flow
        tester.detach()
