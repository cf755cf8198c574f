"""Open vSwitch without DPDK as a network of pods: its options, and what it says before it is made."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.actuators import acting, resets
from bmwg.drivers.network import ovs, ovs_dpdk, ovs_switch, ovs_system, ovs_tools
from bmwg.drivers.network.flannel import FlannelNetwork
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.network.ovs import OvsNetwork
from bmwg.drivers.nodes import process, programs
from bmwg.drivers.paths import addresses, endpoints
from bmwg.drivers.ports import interfaces
from bmwg.drivers.switch import ovs_netdev
from bmwg.drivers.testbed.file import network_spec
from bmwg.drivers.workload import modifiers
from bmwg.methodology.errors import ConfigError, DriverError
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


class Switch:
    """A switch of two ports whose tools and processes do as a test says."""

    def __init__(self, monkeypatch, folder):
        self.told, self.ended, self.fails = [], [], set()
        monkeypatch.setattr(ovs_switch, "FOLDER", folder)
        self.program = {"pid": os.getpid(), "start_ticks": process.start_ticks(os.getpid())}
        ports = {name: {"bridge": f"br{name}", "nic": ""} for name in ("a", "b")}
        state = {"owner": "one", "ports": ports, "switch": self.program, "database": self.program}
        ovs_switch.record(state | {"mtu_octets": {"nic0": 1500}})
        monkeypatch.setattr(ovs_tools, "configure", self._configure)
        monkeypatch.setattr(ovs_tools, "ask", lambda *words: self._ended("asked"))
        monkeypatch.setattr(ovs_switch, "ended", lambda **which: None)
        monkeypatch.setattr(process, "reap", lambda pid, **within: None)
        monkeypatch.setattr(process, "terminate_owned", lambda **which: self._ended("labelled"))
        monkeypatch.setattr(interfaces, "release", lambda **which: self._ended("NIC"))
        monkeypatch.setattr(programs, "stop", lambda folder, **which: self._ended(Path(folder).name))

    def _configure(self, *words):
        self.told.append(words)
        if "tools" in self.fails:
            raise DriverError("VSW-03", "ovs-vsctl", found="no end")

    def _ended(self, what):
        self.ended.append(what)
        if what in self.fails:
            raise DriverError("NODE-12", what, found="still there")


def remove(port):
    ovs_switch.remove(owner="one", bridge=f"br{port}", nic="", port=port)


def test_a_switch_that_takes_no_change_in_time_goes_with_its_last_port(tmp_path, monkeypatch):
    """A port's removal that fails would stay in the ledger, when the switch itself has long gone."""
    switch = Switch(monkeypatch, tmp_path)
    switch.fails = {"tools"}
    remove("b")
    assert ("--", "--if-exists", "del-port", "brb", "b", "--", "--if-exists", "del-br", "brb") in switch.told
    assert switch.ended == []
    remove("a")
    assert switch.ended == ["asked", "switch", "database", "labelled", "NIC"]
    assert not tmp_path.exists()


def test_a_part_of_a_switch_that_does_not_end_keeps_no_other_from_it(tmp_path, monkeypatch):
    switch = Switch(monkeypatch, tmp_path)
    switch.fails = {"switch"}
    with pytest.raises(DriverError, match="NODE-12"):
        ovs_switch.stop(owner="one")
    assert switch.ended == ["asked", "switch", "database", "labelled", "NIC"]
    assert not tmp_path.exists()


def test_whoever_waits_for_a_switch_waits_longer_than_its_start_does():
    started = 2 * (ovs_switch._START_DEADLINE_S + ovs_tools.COMMAND_DEADLINE_S)
    assert started < ovs_tools.CALL_DEADLINE_S


def test_an_act_is_waited_for_longer_than_any_call_of_a_switch():
    assert acting.ACT_DEADLINE_S > ovs_tools.CALL_DEADLINE_S


def test_a_restart_amid_traffic_may_take_as_long_as_a_switch_may():
    """It asks the switch a dozen times, and waits for its end and its start; 55 s were not one start."""
    allowed = []
    node = SimpleNamespace(call_within=lambda within_s, *_, **__: allowed.append(within_s) or {})
    cell = Cell(path="switch", hosting="baremetal", function="ovs-netdev", network="none", frame_octets=64)
    for act in (resets.vswitch_graceful, resets.vswitch_kill):
        act(SimpleNamespace(cell=cell, node=node))()
    assert allowed == [ovs_tools.CALL_DEADLINE_S] * 2


@pytest.mark.parametrize(
    "module",
    [ovs_dpdk, ovs, ovs_netdev, modifiers],
    ids=["network ovs-dpdk", "network ovs", "switch ovs-netdev", "modifiers of a table"],
)
def test_no_call_that_asks_the_switch_is_one_that_says_nothing_of_its_deadline(module):
    """Such a call has 30 s, as long as one question to the switch: the node would be given up with it."""
    asks = r"\bcall\(\s*(?:ovs_switch|ovs_system|ovs_flows|ovs_calls|match_flows|flow_table\.(?!read))\b"
    assert re.findall(asks, Path(module.__file__).read_text()) == []
