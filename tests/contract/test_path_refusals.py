"""Cells that cannot be deployed here, or at all: each is refused by name, and nothing is made."""

from dataclasses import replace

import pytest
from tests.contract.deploying import all_seen, cell_on
from tests.needs import needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.testbed.port_kind import PortKind
from bmwg.methodology.errors import ConfigError, TestbedError

pytestmark = [pytest.mark.root, needs_cni]


def test_a_plugin_that_is_absent_is_missing_and_no_exception(bed):
    spec = replace(bed.testbed.network("bridge"), name="absent", plugin_dir="/nonexistent")
    original, bed.testbed = bed.testbed, replace(bed.testbed, networks=(*bed.testbed.networks, spec))
    try:
        missing = path_driver(cell_on("pvp", "absent"), bed).probe()
    finally:
        bed.testbed = original
    assert missing.what == "CNI plugin bridge"
    assert "/nonexistent" in missing.reason
    assert missing.mend


def test_a_kernel_without_the_kind_is_missing_with_reason_and_mend(bed):
    for path, network, kind in (("p2p", "ipvlan", "ipvlan"), ("pvp", "vlan", "8021q")):
        missing = path_driver(cell_on(path, network), bed).probe()
        if missing is not None:
            assert "the kernel refused a scratch" in missing.reason
            assert kind in missing.mend


@pytest.mark.parametrize("used", ["xdp", "af_xdp"])
def test_pods_whose_interfaces_run_no_program_are_missing_for_ports_inside_the_kernel(bed, monkeypatch, used):
    monkeypatch.setitem(vars(bed), "port_kind", PortKind(asked=used, used=used))
    assert path_driver(cell_on("p2p", "bridge"), bed).probe() is None
    missing = path_driver(cell_on("p2p", "macvlan"), bed).probe()
    assert (missing is None) is (used == "af_xdp")
    if missing is not None:
        assert "io: af_xdp" in missing.mend


def test_what_a_network_hands_over_and_nobody_drives_is_refused_by_name(bed):
    for cell, said in (
        (cell_on("pvp", "ovs-dpdk"), "function kernel-l3 on network ovs-dpdk"),
        (cell_on("pvp", "af-xdp"), "function kernel-l3 on network af-xdp"),
        (cell_on("p2p", "ovs-dpdk"), "an end of a path in a pod on network ovs-dpdk"),
    ):
        assert path_driver(cell, bed).probe().what == said


def test_an_option_that_stands_on_the_nic_joins_no_two_pods_and_is_refused_by_name(bed):
    for network, function in (("macvlan", "kernel-l3"), ("af-xdp", "testpmd")):
        missing = path_driver(cell_on("chain", network, function, chain="a>b"), bed).probe()
        assert missing.what == f"a chain of 2 on network {network}"


def test_a_chain_that_loops_is_refused_before_anything_is_made(bed):
    before = all_seen(bed)
    with pytest.raises(ConfigError) as caught:
        path_driver(cell_on("chain", "bridge", chain="a>b>a"), bed)
    assert caught.value.error_id == "PATH-04"
    assert "'a' comes twice" in caught.value.found
    assert all_seen(bed) == before


def test_a_forwarding_pod_on_ipvlan_is_refused_whatever_the_kernel_has(bed):
    missing = path_driver(cell_on("pvp", "ipvlan"), bed).probe()
    assert "the kernel refused a scratch" in missing.reason or "addressed to one of its own" in missing.reason


def test_frames_that_do_not_fit_are_refused_by_name_before_anything_is_built(bed):
    driver = path_driver(cell_on("p2p-vxlan", "bridge", frame_octets=1518), bed)
    assert "1468 octets" in driver.probe().reason
    with pytest.raises(TestbedError) as caught, driver.deploy():
        pass
    assert caught.value.error_id == "PATH-02"


def test_over_two_nodes_only_a_bridging_option_is_taken(bed):
    assert "uplink is routed" in path_driver(cell_on("p2p-underlay", "ptp"), bed).probe().reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hosting": "vm"}, "hosting 'vm'"),
        ({"function": "vpp"}, "function 'vpp'"),
        ({"network": "none"}, "networks 'none'"),
    ],
)
def test_cells_that_cannot_be_are_refused(bed, change, said):
    with pytest.raises(ConfigError) as caught:
        path_driver(replace(cell_on("pvp", "bridge"), **change), bed)
    assert caught.value.error_id == "PATH-04"
    assert said in caught.value.found


def test_an_unknown_path_is_named_with_a_near_one(bed):
    with pytest.raises(ConfigError, match="did you mean 'pvp'") as caught:
        path_driver(cell_on("pvpp", "bridge"), bed)
    assert caught.value.error_id == "DRIVER-01"


def test_an_unknown_network_is_named_with_a_near_one(bed):
    with pytest.raises(ConfigError, match="did you mean 'bridge'"):
        path_driver(cell_on("pvp", "brigde"), bed)
