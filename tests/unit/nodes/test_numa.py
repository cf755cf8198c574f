"""Pods placed against the DUT on made machines of one and two NUMA nodes, and hugepages refused by name."""

import pytest

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.function.testpmd import arguments, lacking_pages
from bmwg.drivers.paths.numa import node_of_cpus, placed

TWO = {0: 0, 1: 0, 2: 1, 3: 1}


@pytest.mark.parametrize(("wanted", "cpus"), [("same", (1,)), ("cross", (2, 3))])
def test_pods_get_those_of_their_cpus_that_lie_as_wanted(wanted, cpus):
    assert placed(wanted, pod_cpus=(1, 2, 3), dut_cpus=(0, 1), nodes=TWO) == cpus


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"nodes": {0: 0, 1: 0}}, "this machine has 1 NUMA node"),
        ({"nodes": {}}, "this machine has 0 NUMA nodes"),
        ({"dut_cpus": (1, 2)}, "the DUT's CPUs [1, 2] lie on 2 nodes"),
        ({"pod_cpus": (0, 1)}, "none of the pods' CPUs [0, 1] lies so"),
    ],
)
def test_what_cannot_be_placed_is_refused_by_name(how, reason):
    found = placed("cross", **{"pod_cpus": (1, 2), "dut_cpus": (0,), "nodes": TWO, **how})
    assert isinstance(found, Missing)
    assert reason in found.reason


def test_nodes_are_read_as_the_kernel_lists_them(tmp_path):
    for name, cpus in (("node0", "0-1"), ("node1", "2,3")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(f"{cpus}\n")
    (tmp_path / "possible").write_text("0-1\n")
    assert node_of_cpus(tmp_path) == TWO


def test_hugepages_of_a_pod_are_testpmds_memory_or_refused_by_name(tmp_path):
    (tmp_path / "free_hugepages").write_text("64\n")
    assert lacking_pages(0) is None
    assert lacking_pages(64, tmp_path) is None
    assert lacking_pages(65, tmp_path).reason == "64 are free"
    assert lacking_pages(10, tmp_path).reason == "it needs 48"
    assert lacking_pages(64, tmp_path / "none").reason == "0 are free"
    ends = {"devices": ("a", "b"), "neighbours": ("c", "d"), "cpu": 1}
    assert "--no-huge" in arguments(**ends)
    assert "--no-huge" not in arguments(**ends, hugepages=True)
