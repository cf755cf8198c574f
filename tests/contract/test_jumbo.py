"""Frames beyond 1518 octets over whole paths: what the links are made for passes, other sizes are refused."""

import dataclasses

import pytest
from tests.contract.deploying import bed_in, cell_on, embedded
from tests.contract.paths_support import PacketTester

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.frames import link_mtu
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Direction, TrialSpec

LARGEST = 9216
WIRE, NODE = (cell_on(path, frame_octets=LARGEST) for path in ("wire", "node"))
POD, TWO_PODS = (cell_on(path, "bridge", frame_octets=LARGEST) for path in ("pvp", "p2p"))

pytestmark = [pytest.mark.quiet, pytest.mark.root]


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jumbo")
    with bed_in(folder, embedded(io="af_packet"), frame_octets=LARGEST) as opened:
        yield opened


@pytest.mark.parametrize("cell", [NODE, POD], ids=["node", "pod"])
def test_the_largest_frames_pass_both_ways(bed, cell):
    with path_driver(cell, bed).deploy() as deployment, PacketTester(deployment.ports) as packets:
        for source in (0, 1):
            frame = packets.carry(source, b"jumbo", frame_octets=LARGEST)
            assert frame is not None
            assert len(frame) == LARGEST - 4


def test_a_bidirectional_trial_of_the_largest_frames_counts_each(bed, tmp_path):
    spec = TrialSpec(frame_octets=LARGEST, load_fps=500, duration_s=0.2, direction=Direction.BOTH)
    with (
        path_driver(WIRE, bed).deploy() as deployment,
        EmbeddedTraffic.for_testbed(bed.testbed, tmp_path, 0.1) as tester,
    ):
        tester.attach(deployment.ports)
        for _ in range(10):
            result = tester.run(spec)
            if all(stream.unsent_frames == 0 for stream in result.streams):
                break
        tester.detach()
    assert [stream.received_frames for stream in result.streams] == [100, 100]


def test_a_path_of_ordinary_links_refuses_them_by_name(bed):
    assert path_driver(TWO_PODS, bed).probe().what == f"frames of {LARGEST} octets on path p2p"
    with pytest.raises(TestbedError, match="PATH-02"), path_driver(TWO_PODS, bed).deploy():
        pass


def test_links_are_no_wider_than_their_ports_allow():
    testbed = load_testbed()
    assert link_mtu(testbed, 1518) == 1500
    assert link_mtu(testbed, 64) == 1500
    assert link_mtu(testbed, 2018) == 2000
    # An XDP program needs the frame within one page, and the kernel some of it for a live frame.
    most = {"auto": 3394, "xdp": 3394, "af_xdp": 3498, "af_packet": LARGEST - 18}
    for io, octets in most.items():
        of_kind = dataclasses.replace(testbed, tester=dataclasses.replace(testbed.tester, io=io))
        assert link_mtu(of_kind, LARGEST) == octets
