"""The tester's ports at vhost-user sockets: on their wire, and through Open vSwitch with DPDK. Real parts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.deploying import all_seen, bed_in
from tests.needs import able

from bmwg.drivers.api.protocols import Deployment, Missing
from bmwg.drivers.network import ovs_parts, ovs_switch
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell, Direction, TrialResult, TrialSpec

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.quiet, pytest.mark.root]
WIRE = Cell(path="wire", hosting="none", function="none", network="none", frame_octets=64)
VSWITCH = Cell(path="vswitch-only", hosting="baremetal", function="none", network="ovs-dpdk", frame_octets=64)
NODE = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
SPEC = TrialSpec(frame_octets=64, load_fps=20_000, duration_s=0.2, direction=Direction.BOTH)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """A bed whose first port is on an interface, beside one at a socket."""
    with bed_in(tmp_path_factory.mktemp("beside"), load_testbed("testbeds/vhost-user-nic.yaml")) as opened:
        yield opened


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed_in(tmp_path_factory.mktemp("run"), load_testbed("testbeds/vhost-user.yaml")) as opened:
        yield opened


def lossless(tester: EmbeddedTraffic, attempts: int = 10) -> TrialResult:
    """Return the first trial that lost nothing and sent all, else the last."""
    for _ in range(attempts):
        result = tester.run(SPEC)
        if all(one.received_frames == SPEC.intended_frames for one in result.streams):
            break
    return result


def carried(bed: Bed, deployment: Deployment) -> None:
    """Send both ways over a deployment; every frame comes, and both ports count what was sent."""
    with EmbeddedTraffic.for_testbed(bed.testbed, bed.run_dir, 0.1) as tester:
        tester.attach(deployment.ports)
        time.sleep(0.5)
        tester.learn(SPEC)
        result = lossless(tester)
        tester.detach()
        assert tester.pid is not None
    for stream in result.streams:
        assert stream.sent_frames == stream.received_frames == SPEC.intended_frames
        assert stream.corrupt_frames == stream.foreign_frames == stream.duplicate_frames == 0
    counted = dict(result.auxiliary)
    for name in ("p0", "p1"):
        assert counted[f"{name}.tx_packets"] == counted[f"{name}.rx_packets"] == SPEC.intended_frames


@pytest.mark.parametrize("cell", [WIRE, VSWITCH], ids=lambda cell: cell.path)
def test_frames_cross_and_every_side_counts_the_same(bed: Bed, cell: Cell) -> None:
    driver = able(path_driver(cell, bed))
    node = bed.node("dut1")
    with driver.deploy() as deployment:
        plane = DataPlane(bed, cell, deployment)
        carried(bed, deployment)
        if cell is VSWITCH:
            assert "vswitch" in plane.parts  # its CPU time stands beside each trial
    kinds = {port.io for port in deployment.ports}
    assert kinds == ({"vhost", "virtio_user"} if cell is WIRE else {"virtio_user"})
    hops = [str(hop["what"]) for hop in deployment.evidence["hops"]]
    assert all("vhost-user" in hop and "veth" not in hop for hop in hops)
    assert node.call(ovs_switch.recorded) == {}  # no switch is left


@pytest.mark.parametrize("cell", [WIRE, VSWITCH], ids=lambda cell: cell.path)
def test_frames_cross_between_a_nic_and_a_socket(beside: Bed, cell: Cell) -> None:
    """A port of each kind in one testbed: on their wire, and through the switch that has both."""
    driver = able(path_driver(cell, beside))
    node = beside.node("dut1")
    with driver.deploy() as deployment:
        carried(beside, deployment)
    assert [port.io for port in deployment.ports] == ["af_packet", "virtio_user"]
    hops = [str(hop["what"]) for hop in deployment.evidence["hops"]]
    assert "veth" in hops[0]
    assert "vhost-user" in hops[-1]
    assert any("testpmd repeats" in hop for hop in hops) == (cell is WIRE)
    if cell is VSWITCH:
        assert deployment.evidence["vswitch"]["served"]["nic_driver"] == "net_af_packet"
    assert node.call(ovs_switch.recorded) == {}  # no switch is left
    left = beside.tester.call(interfaces.listing)
    assert not [one["name"] for one in left if str(one["name"]).startswith("wire")]


def test_a_wire_whose_repeater_ends_is_no_tester_s_limit(beside: Bed) -> None:
    driver = able(path_driver(WIRE, beside))
    with driver.deploy():
        liveness = Liveness(beside)
        assert liveness.fault() is None
        ((_, pid, _),) = beside.programs.values()
        os.kill(pid, signal.SIGKILL)
        due_s = time.monotonic() + 5.0
        while liveness.fault() is None and time.monotonic() < due_s:
            time.sleep(0.02)
        assert "testpmd" in str(liveness.fault())
    assert beside.programs == {}


def test_a_switch_that_is_killed_is_a_fault_and_nothing_of_it_stays(beside: Bed) -> None:
    """Without it every frame is lost, as in a switch that carries none."""
    driver, before = able(path_driver(VSWITCH, beside)), all_seen(beside)
    with driver.deploy():
        liveness = Liveness(beside)
        assert liveness.fault() is None
        ((name, (_, pid, _)),) = beside.programs.items()
        os.kill(pid, signal.SIGKILL)
        due_s = time.monotonic() + 5.0
        while liveness.fault() is None and time.monotonic() < due_s:
            time.sleep(0.02)
        assert name.startswith("vswitch of network ovs-dpdk")
        assert liveness.fault() == f"{name} on node dut1 has ended"
    assert beside.programs == {}
    assert all_seen(beside) == before


def test_the_switch_counts_what_the_tester_sent(bed: Bed) -> None:
    """The other end of each virtqueue, by the switch's own words."""
    driver = able(path_driver(VSWITCH, bed))
    with (
        driver.deploy() as deployment,
        EmbeddedTraffic.for_testbed(bed.testbed, bed.run_dir, 0.1) as tester,
    ):
        tester.attach(deployment.ports)
        time.sleep(0.5)
        tester.learn(SPEC)
        plane = DataPlane(bed, VSWITCH, deployment)
        before = plane.read()
        result = tester.run(SPEC)
        counts = dict(plane.used(before))
    sent = sum(one.sent_frames for one in result.streams)
    received = sum(one.received_frames for one in result.streams)
    assert counts["host.dut.vswitch.frames"] == sent == received  # it counts none by port


def test_other_paths_are_refused_by_name(bed: Bed) -> None:
    driver = path_driver(NODE, bed)
    missing = driver.probe()
    assert isinstance(missing, Missing)
    assert "vhost-user" in missing.what
    with pytest.raises(TestbedError, match="PATH-02"), driver.deploy():
        pass


def test_the_path_needs_ports_at_sockets(tmp_path: Path) -> None:
    with bed_in(tmp_path) as opened:
        for network in ("ovs-dpdk", "bridge"):
            missing = path_driver(replace(VSWITCH, network=network), opened).probe()
            assert missing is not None
            assert "kind vhost-user" in missing.reason


def test_frames_beyond_the_switch_s_mtu_are_refused(bed: Bed) -> None:
    if isinstance(ovs_parts.find(), Missing):
        pytest.skip("lacks Open vSwitch with DPDK: sh setup/install.sh vswitch")
    missing = path_driver(replace(VSWITCH, frame_octets=9018), bed).probe()
    assert missing is not None
    assert "9018" in missing.what
