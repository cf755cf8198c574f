"""Restarts of an Open vSwitch amid frames: the outage holds the time without it, flows are kept or not."""

from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in, four_port_tester
from tests.needs import able, needs_vswitch

from bmwg.drivers.actuators.acting import ActingTraffic
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.actuators.resets import vswitch_graceful, vswitch_kill
from bmwg.drivers.network import ovs_flows, ovs_parts, ovs_switch, ovs_tools
from bmwg.drivers.nodes import process
from bmwg.drivers.paths import path_driver
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.benchmarks.recovery import reset_outcome, reset_trial
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, OutcomeType, TrialSpec, Validity
from bmwg.methodology.trial.judging import JudgedTrial

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_vswitch]
CELL = Cell(path="switch", hosting=BAREMETAL, function="ovs-netdev", network=NOTHING, frame_octets=64)
BRIDGE = "bmwg-swo0"
FLOWS = 20
SECONDS = {"ovs-netdev": 5.0, "ovs-dpdk": 15.0}  # DPDK takes seconds to begin


@pytest.fixture(scope="module", params=["ovs-netdev", pytest.param("ovs-dpdk", marks=pytest.mark.slow)])
def switch(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    cell = replace(CELL, function=request.param)
    with bed_in(folder, load_testbed("testbeds/switch.yaml")) as bed:
        driver = able(path_driver(cell, bed))
        place = Place(cell=cell, bed=bed)
        with (
            driver.deploy() as deployment,
            four_port_tester(folder) as tester,
            ActingTraffic(tester, place) as acting,
        ):
            tester.attach(deployment.ports)
            yield acting, place
            tester.detach()
        assert not place.node.call(ovs_switch.recorded)


def add_flows(node):
    target = f"unix:{ovs_tools.FOLDER}/{BRIDGE}.mgmt"
    for number in range(FLOWS):
        flow = f"ip,nw_dst=10.0.0.{number},actions=drop"
        node.call(ovs_tools.run, command=[ovs_parts.require().flows, "add-flow", target, flow])


@pytest.mark.parametrize("graceful", [True, False])
def test_the_outage_holds_the_time_without_a_switch_and_flows_are_kept_or_not(switch, graceful):
    acting, place = switch
    acting.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
    add_flows(place.node)
    before = place.node.call(ovs_switch.recorded)["switch"]
    act = "vswitch_graceful" if graceful else "vswitch_kill"
    spec = TrialSpec(
        frame_octets=64,
        load_fps=2_000,
        duration_s=SECONDS[place.cell.function],
        act=act,
        act_at_s=0.3,
        loss_times=True,
    )
    result = acting.run(spec)
    told = dict(result.auxiliary)
    after = place.node.call(ovs_switch.recorded)["switch"]
    assert after["pid"] != before["pid"]
    assert not process.same(before["pid"], before["start_ticks"])
    assert process.same(after["pid"], after["start_ticks"])
    assert told["act.flows_before"] >= FLOWS
    assert (told["act.flows_after"] == told["act.flows_before"]) == graceful
    assert len(place.node.call(ovs_flows.standing, bridge=BRIDGE)) == told["act.flows_after"]
    longest = max(result.streams[0].losses.longest, key=lambda run: run.frames)
    assert longest.after_ns is not None
    assert longest.after_ns - longest.before_ns >= told["act.absent_ns"] > 0
    trial = JudgedTrial(seq=1, result=result, validity=Validity.VALID)
    outcome = reset_outcome([reset_trial(trial)], place.cell, kind=act, outcome_id="x")
    assert outcome.type is OutcomeType.MEASURED
    assert outcome.values[0].number >= 0.9 * told["act.absent_ns"] / 1e6


def test_a_bridge_of_the_kernel_has_no_program_to_restart(switch):
    _, place = switch
    other = Place(cell=replace(CELL, function="linux-bridge"), bed=place.bed)
    assert vswitch_graceful(other) is vswitch_kill(other) is None
    assert vswitch_kill(Place(cell=replace(CELL, path="pvp"), bed=place.bed)) is None
