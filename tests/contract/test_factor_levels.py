"""Levels of factors on real pods: what a cell's axes ask for is what stands, or is refused by name."""

from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_cni

from bmwg.drivers.nodes import cgroups
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.numa import node_of_cpus
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import Cell
from bmwg.reports.checker.clauses.models import by_sockets

pytestmark = [pytest.mark.quiet, pytest.mark.root, pytest.mark.slow, needs_cni]
SWITCH = "networks.ovs-dpdk.options"
FREE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")


def with_axes(network, function="testpmd", **axes):
    told = tuple(sorted(axes.items()))
    return Cell(path="pvp", hosting="pod", function=function, network=network, frame_octets=64, axes=told)


def carried(bed, one):
    """Deploy a cell, send a frame each way through it, return the evidence."""
    driver = able(path_driver(one, bed))
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            assert tester.carry(source, f"from {source}".encode(), frame_octets=128) is not None
    return deployment.evidence


@pytest.mark.parametrize("queues", [1, 2])
def test_as_many_receive_queues_are_polled_as_were_asked_for(bed, queues):
    one = with_axes("ovs-dpdk", **{f"{SWITCH}.rx_queues": queues})
    (first, _) = carried(bed, one)["attachments"]
    polled = [queue["port"] for poller in first["vswitch"]["pollers"] for queue in poller["queues"]]
    assert polled.count("nic0") == queues
    assert first["vswitch"]["settings"]["pmd-maxsleep"] == "0"  # not that of the set-up


def test_more_receive_queues_than_the_nic_has_are_refused_by_name(bed):
    axes = {f"{SWITCH}.rx_queues": 2, f"{SWITCH}.nic_port": "af_xdp"}
    driver = able(path_driver(with_axes("ovs-dpdk", **axes), bed))
    with pytest.raises(TestbedError) as caught, driver.deploy():
        pass
    assert caught.value.error_id == "VSW-03"


def test_the_vswitch_takes_its_nics_by_af_xdp_and_says_so(bed):
    found = carried(bed, with_axes("ovs-dpdk", **{f"{SWITCH}.nic_port": "af_xdp"}))["attachments"]
    assert {one["vswitch"]["nic_driver"] for one in found} == {"net_af_xdp"}
    assert all(by_sockets(one) for one in found)


def test_a_core_outside_the_duts_cpus_is_refused_before_anything_is_made(bed):
    with pytest.raises(ConfigError) as caught:
        path_driver(with_axes("ovs-dpdk", **{f"{SWITCH}.pmd_cpus": "[63]"}), bed)
    assert "CPU 63, which is none of the DUT's" in caught.value.found


@pytest.mark.parametrize("polling", ["true", "false"])
def test_af_xdp_polls_as_asked(bed, polling):
    found = carried(bed, with_axes("af-xdp", **{"networks.af-xdp.options.busy_poll": polling}))
    assert {one["af_xdp"]["busy_polling"] for one in found["attachments"]} == {polling == "true"}


def test_hugepages_that_are_not_there_are_refused_by_name(bed):
    many = int(FREE.read_text()) + 300 if FREE.exists() else 300
    for axes in ({f"{SWITCH}.hugepages_2mi": many}, {"pods.hugepages_2Mi": many}):
        missing = path_driver(with_axes("ovs-dpdk", **axes), bed).probe()
        assert f"{many} hugepages of 2 MiB" in missing.what
        assert "are free" in missing.reason or "no hugetlb controller" in missing.reason


@pytest.mark.skipif(not cgroups.has_controller("hugetlb"), reason="needs a hugetlb controller for cgroups")
@pytest.mark.parametrize(
    ("axis", "many", "size"), [("pods.hugepages_2Mi", 64, "2 MiB"), ("pods.hugepages_1Gi", 1, "1 GiB")]
)
def test_testpmd_lies_in_the_hugepages_of_its_pod(bed, axis, many, size):
    found = carried(bed, with_axes("bridge", **{axis: many}))["function"]
    print(axis, found["pages"])
    assert found["memory"] == f"{many} hugepages of {size}"
    assert found["pages"]["hugepages"].keys() == {size}


@pytest.mark.parametrize(
    ("axis", "many", "size"), [("hugepages_2mi", 256, "2 MiB"), ("hugepages_1gi", 1, "1 GiB")]
)
def test_the_vswitch_lies_in_its_hugepages(bed, axis, many, size):
    found = carried(bed, with_axes("ovs-dpdk", **{f"{SWITCH}.{axis}": many}))
    memory = found["attachments"][0]["vswitch"]["memory"]
    print(axis, memory)
    assert memory["hugepages"].keys() == {size}


@pytest.mark.skipif(len(set(node_of_cpus().values())) < 2, reason="this machine has no two NUMA nodes")
@pytest.mark.parametrize(("level", "node"), [("same", "0"), ("cross", "1")])
def test_a_pod_lies_on_the_node_that_the_level_names(bed, level, node):
    """With CPUs 0 and 1 on node 0, and 2 and 3 on node 1, as in testbeds/guest-factors.yaml."""
    wide = bed.varied({("pods", "cpus"): "1,3"}, "CPUs of both nodes")
    found = carried(wide, with_axes("bridge", numa=level))
    octets = found["function"]["pages"]["octets_by_node"]
    print(level, found["pod"]["cpuset_cpus"], octets)
    assert found["pod"]["cpuset_cpus"] == {"0": "1", "1": "3"}[node]
    assert max(octets, key=octets.get) == node


def test_without_hugepages_no_memory_lies_in_any(bed):
    assert carried(bed, with_axes("bridge"))["function"]["pages"]["hugepages"] == {}


@pytest.mark.skipif(len(set(node_of_cpus().values())) > 1, reason="this machine has several NUMA nodes")
def test_numa_placement_is_refused_by_name_on_a_machine_of_one_node(bed):
    missing = path_driver(with_axes("ebpf-tc", "kernel-l3", numa="cross"), bed).probe()
    assert missing.what == "numa cross"
    assert "NUMA node" in missing.reason
