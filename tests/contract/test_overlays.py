"""Pods on two nodes joined by tunnels of Open vSwitch: frames cross, larger by what the technique adds."""

from pathlib import Path

import pytest
from tests.contract.deploying import bed_in
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_vswitch

from bmwg.drivers.network import ovs_system
from bmwg.drivers.paths import path_driver
from bmwg.methodology.records import NOTHING, POD, Cell

pytestmark = [pytest.mark.root, needs_vswitch]
FRAMES, OCTETS, FCS, TRIES = 100, 512, 4, 20
OTHERS_OCTETS = 4000  # at most, of neighbour discovery and ARP beside them


def carried(node):
    text = node.call(ovs_system.ovs_tools.run, command=["cat", "/sys/class/net/under0/statistics/tx_bytes"])
    return int(text)


SLOW = ("vxlan", "geneve")


@pytest.mark.parametrize(
    "technique",
    [
        pytest.param(one, marks=[pytest.mark.slow] if one in SLOW else [])
        for one in ovs_system.OVERHEAD_OCTETS
    ],
)
def test_frames_cross_in_the_tunnel_and_are_larger_by_what_it_adds(tmp_path, technique):
    """Known truth: octets on the underlay are those of the frames and of the outer headers."""
    cell = Cell(
        path="p2p-cluster", hosting=POD, function=NOTHING, network=f"ovs-{technique}", frame_octets=OCTETS
    )
    with bed_in(tmp_path) as bed:
        driver = able(path_driver(cell, bed))
        with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
            for number in (0, 1):  # the first ones go while the switch asks where the tunnel ends
                assert any(tester.carry(number, b"a frame", frame_octets=OCTETS) for _ in range(TRIES))
            before = carried(bed.node("dut1"))
            for number in range(FRAMES):
                assert tester.carry(0, f"frame {number}".encode(), frame_octets=OCTETS) is not None
            octets = carried(bed.node("dut1")) - before
        least = FRAMES * (OCTETS - FCS + ovs_system.OVERHEAD_OCTETS[technique])
        assert least <= octets <= least + OTHERS_OCTETS
    assert not Path("/run/bmwg-vswitch").exists()
