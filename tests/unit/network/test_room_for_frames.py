"""Which frames fit the ports of a pod that forwards: what its network would drop is refused, not measured."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.network.ovs_dpdk import OvsDpdkNetwork
from bmwg.drivers.network.sriov_vfio import SriovVfioNetwork
from bmwg.drivers.paths.pvp import PvpPath
from bmwg.drivers.testbed.file import load_testbed, network_spec
from bmwg.methodology.records import POD, Cell

CLASSES = {"ovs-dpdk": OvsDpdkNetwork, "sriov-vfio": SriovVfioNetwork}


@pytest.mark.parametrize("driver", CLASSES)
def test_ports_that_dpdk_sets_up_take_ordinary_frames_though_links_carry_larger_ones(driver):
    """Its ports have 1500 octets: of larger frames none would come through, and that was the answer."""
    spec = network_spec("one", {"driver": driver}, (1,))
    network = CLASSES[driver](spec, run_dir=Path("/run/x"), undo=None)
    bed = SimpleNamespace(testbed=load_testbed(), mtu_octets=9000, network=lambda name: network)
    cell = Cell(path="pvp", hosting=POD, function="testpmd", network="one", frame_octets=9018)
    missing = PvpPath(cell, bed).probe()
    assert missing is not None
    assert missing.what == "frames of 9018 octets on path pvp"
    assert "1500 octets of ports by" in missing.reason
