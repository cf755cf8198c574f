"""Frames that find no flow in a vSwitch's caches: counted beside a trial, from the switch's own words."""

import pytest
from tests.contract.deploying import bed_in
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_cni

from bmwg.drivers.network import ovs_tools, ovs_words
from bmwg.drivers.paths import path_driver
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import Cell

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_cni]
CELL = Cell(path="pvp", hosting="pod", function="testpmd", network="ovs-dpdk", frame_octets=64)
DONE, FAILED = "host.dut.vswitch.upcalls", "host.dut.vswitch.failed_upcalls"


def test_the_first_frame_of_a_flow_is_an_upcall_and_the_next_is_none(tmp_path):
    with bed_in(tmp_path) as bed:
        driver = able(path_driver(CELL, bed))
        node = bed.node("dut1")
        with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
            plane = DataPlane(bed, CELL, deployment)
            counted = []
            for purged in (True, False, True, False):
                if purged:
                    node.call(ovs_tools.asked, words=["revalidator/purge"])
                before = plane.read()
                assert tester.carry(0, b"a frame", frame_octets=128) is not None
                counted.append(dict(plane.used(before)))
            with pytest.raises(DriverError) as caught:
                node.call(ovs_tools.asked, words=["no/such-command"])
        assert [one[FAILED] for one in counted] == [0, 0, 0, 0]
        assert [one[DONE] for one in counted] == [2, 0, 2, 0]  # a bridge towards the pod, and one back
        knew = [sum(one[f"host.dut.vswitch.{name}"] for name in ovs_words.CACHES) for one in counted]
        assert knew == [0, 2, 0, 2]  # what no rule was asked for, a cache knew
        assert caught.value.error_id == "VSW-03"
        with pytest.raises(DriverError):  # no switch stands any more
            node.call(ovs_tools.asked, words=["version"])
