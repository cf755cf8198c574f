"""Open vSwitch without DPDK as a network of pods: its options, and what it says before it is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.network import ovs_switch, ovs_system
from bmwg.drivers.network.flannel import FlannelNetwork
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.network.ovs import OvsNetwork
from bmwg.drivers.paths import addresses, endpoints
from bmwg.drivers.testbed.file import network_spec
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import NOTHING, POD, Cell


def made(options, uplink="none"):
    spec = replace(network_spec("one", {"driver": "ovs", "options": options}, (1,)), uplink=uplink)
    return OvsNetwork(spec, run_dir=Path("/run/x"), undo=None)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"join": "nvgre"}, "join"),
        ({"vlan": 4095}, "vlan"),
        ({"join": "vxlan", "vni": 1 << 24}, "vni"),
        ({"join": "vxlan", "vlan": 5}, "options"),
        ({"vni": 5}, "options"),
    ],
)
def test_each_wrong_option_is_named_by_its_place(options, where):
    with pytest.raises(ConfigError, match=r"^NET-04 ") as caught:
        made(options)
    assert where in caught.value.what


def test_the_switch_itself_joins_pods_and_takes_no_uplink():
    with pytest.raises(ConfigError, match="NET-04"):
        made({}, uplink="bridge_port")


def test_it_joins_pods_of_one_node_and_of_two_and_says_how():
    vlan, vxlan = made({}), made({"join": "vxlan"})
    assert (vlan.join, vxlan.join) == ("vlan", "vxlan")
    assert vlan.hands_over == NETDEV
    assert endpoints.own_way(vlan) is None
    assert "vxlan" in vxlan.between_nodes
    assert (vlan.mtu_octets(None), vxlan.mtu_octets(None)) == (1500, 1450)
    missing = vlan.transit()
    assert missing is not None
    assert "ovs-dpdk" in missing.mend


def test_a_network_that_only_joins_nodes_has_no_pods_of_one_node():
    spec = network_spec("flannel", {"driver": "flannel"}, (1,))
    missing = endpoints.own_way(FlannelNetwork(spec, run_dir=Path("/run/x"), undo=None))
    assert missing is not None
    assert "p2p-cluster" in missing.mend


def test_a_switch_without_dpdk_is_told_so_and_polls_nowhere():
    config = ovs_system.config([1])
    assert config["pmd_cpus"] == []
    assert ovs_switch._settings(config) == ["other_config:dpdk-init=false"]


def test_more_pods_than_two_need_one_segment():
    cell = Cell(path="p2p", hosting=POD, function=NOTHING, network="one", axes=(("pods", 4),), name="x")
    routed = SimpleNamespace(spec=SimpleNamespace(name="ptp", uplink="routed"))
    assert endpoints.wanted(cell) == 4
    assert endpoints.too_many(cell, made({})) is None
    missing = endpoints.too_many(cell, routed)
    assert missing is not None
    assert "subnet" in missing.reason
    assert addresses.endpoint(1) == addresses.ENDPOINTS[1] == ("198.18.0.3/24", "2001:2:0:0::3/64")
    assert addresses.endpoint(3)[0] == "198.18.0.5/24"
    with pytest.raises(ValueError, match="64"):
        addresses.endpoint(64)
