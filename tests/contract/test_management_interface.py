"""Accelerated pods with an interface for management: the counters of both show what carried the data."""

from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in
from tests.needs import able, needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.drivers.watch.data_plane import DataPlane
from bmwg.methodology.answers.data_plane import frames_of
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.traffic import Traffic

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_cni]


def names_on(bed):
    return sorted(one["name"] for one in bed.node("dut1").call(interfaces.listing))


@pytest.mark.parametrize(
    ("path", "network", "function", "axes"),
    [
        ("pvp", "ebpf-tc", "kernel-l3", ()),
        pytest.param("pvp", "af-xdp", "testpmd", (), marks=pytest.mark.slow),
        pytest.param("chain", "ovs-dpdk", "testpmd", (("chain", "a>b"),), marks=pytest.mark.slow),
    ],
)
def test_frames_are_counted_at_data_and_management_interfaces_alike(tmp_path, path, network, function, axes):
    cell = Cell(path=path, hosting="pod", function=function, network=network, frame_octets=64, axes=axes)
    testbed = load_testbed()
    testbed = replace(testbed, pods=replace(testbed.pods, management="bridge"))
    with bed_in(tmp_path, testbed) as bed:
        driver = able(path_driver(cell, bed))
        before = names_on(bed)
        with driver.deploy() as deployment, EmbeddedTraffic.for_testbed(testbed, tmp_path, 0.02) as tester:
            assert deployment.evidence["pod"]["management"]["option"] == "bridge"
            tester.attach(deployment.ports)
            spec = Traffic.of(cell).spec(10_000, 0.5)
            tester.learn(spec)
            plane = DataPlane(bed, cell, deployment)
            read = plane.read()
            result = tester.run(spec)
            counted = frames_of(replace(result, auxiliary=tuple(plane.used(read))))
        pods = 2 if axes else 1
        managed = [frames for (_, name), frames in counted.items() if name == "mgmt0"]
        carried = [frames for (_, name), frames in counted.items() if name.startswith("net")]
        assert len(managed) == pods
        assert result.received_frames > 0
        assert sum(managed) < 0.01 * result.received_frames
        if network == "ovs-dpdk":
            assert not carried  # sockets, which no kernel counts
        else:
            assert sum(carried) >= result.received_frames
        assert names_on(bed) == before  # the bridge for management is gone as well
