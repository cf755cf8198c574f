"""Cilium as a network option: what it may say, what pods get, what the agent is told; nothing is run."""

import re
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import Attached, Attachment
from bmwg.drivers.kubernetes import cilium, first, joined, settings
from bmwg.drivers.kubernetes.joined import joining_of
from bmwg.drivers.network.cilium import CiliumNetwork
from bmwg.drivers.network.flannel import FlannelNetwork
from bmwg.drivers.paths import endpoints
from bmwg.drivers.testbed.file import network_spec
from bmwg.methodology.errors import ConfigError, DriverError

SETUP = Path(__file__).parents[3] / "setup"


def made(name="cilium", driver=CiliumNetwork, **given):
    spec = network_spec(name, {"driver": name, **given}, (1,))
    return driver(spec, run_dir=Path("/run/x"), undo=None)


def attachment(side=0):
    both = (f"198.1{8 + side}.128.2/24", f"2001:2:0:800{side}::2/64")
    return Attachment(network="cilium", interface="net0", side=side, addresses=both)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"options": {"interface": 3}}, "interface"),
        ({"options": {"routing": "vxlan"}}, "options"),
        ({"plugin_dir": "/usr/lib/cni"}, "networks.cilium"),
    ],
)
def test_what_it_does_not_know_is_named_by_its_place(given, where):
    with pytest.raises(ConfigError, match=r"^NET-04 ") as refused:
        made(**given)
    assert where in refused.value.what


def test_a_pod_gets_ciliums_own_plugin_with_its_one_address_of_ipv4():
    (plugin,) = made().conflist(attachment(), bridge="b")["plugins"]
    assert plugin["type"] == "cilium-cni"
    assert plugin["ipam"] == {"type": "static", "addresses": [{"address": "198.18.128.2/32"}]}


def test_it_carries_frames_of_one_node_where_flannel_is_refused():
    assert endpoints.own_way(made()) is None
    assert endpoints.own_way(made("flannel", FlannelNetwork)) is not None
    assert made().own_router
    assert not made("flannel", FlannelNetwork).own_router
    assert "another source address" in made().transit().reason


def test_one_cluster_has_one_network_that_joins_its_nodes():
    node = SimpleNamespace(call=lambda *_, **__: None)
    one = made()
    assert joining_of([one], node) is one
    with pytest.raises(ConfigError, match=r"^KUBE-12 "):
        joining_of([one, made("flannel", FlannelNetwork)], node)


def layouts():
    common = {
        "folder": "/f", "shared": "/s", "programs": "/p", "api_address": "192.0.2.1", "cgroup": "/c",
        "function_cpus": "1", "other_cpus": "0", "program_cpus": "0",
    }  # fmt: skip
    return {
        f"dut{number + 1}": settings.Layout(
            name=f"dut{number + 1}",
            number=number,
            address=f"192.0.2.{number + 1}",
            cilium=joined.cilium_of(made(), number, "192.0.2.1"),
            **common,
        )
        for number in (0, 1)
    }


def test_each_agent_is_told_its_node_its_nic_and_the_store():
    told = layouts()["dut2"]
    programs = {one["name"]: one["argv"] for one in settings.node_programs(told)}
    argv = programs["cilium-agent"]
    for word in (
        "K8S_NODE_NAME=dut2", "--devices=under0", "--ipv4-node=198.18.194.2",
        "--local-router-ipv4=198.19.128.1", "--ipv4-range=198.19.128.0/24", "--kvstore-opt=etcd.address=http://192.0.2.1:2479",
        "--bpf-lb-sock=false", f"--bpf-root={cilium.BPF_ROOT}",
    ):  # fmt: skip
        assert word in argv
    store = next(one for one in settings.control_plane(told) if one["name"] == "cilium-store")
    assert "--data-dir=/s/cilium-store" in store["argv"]
    assert settings.layout_of(asdict(told)) == told


def test_a_node_has_a_route_to_the_pods_of_each_other_node_and_to_none_of_its_own():
    routes = joined.routes(layouts(), "dut1")
    assert routes == [{"destination": "198.19.128.0/24", "via": "198.18.194.2"}]
    assert joined.underlay(layouts()["dut1"]) == {"interface": "under0", "address": "198.18.194.1/24"}


def test_the_machines_own_settings_are_read_only_for_the_agent():
    assert {"/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs"} == set(first._OF_THE_MACHINE)


@pytest.fixture
def agent(monkeypatch):
    """The answers of an agent, by path."""
    answers = {}
    monkeypatch.setattr(cilium, "_asked", lambda path: answers[path])
    return answers


def test_pods_are_awaited_on_the_nodes_where_they_are(agent):
    pods = {"198.18.128.2": "198.18.194.1", "198.19.128.2": "198.18.194.2"}
    agent["/v1/ip"] = [
        {"cidr": f"{address}/32", "hostIP": node, "identity": 5} for address, node in pods.items()
    ]
    assert cilium.knows(pods=pods) == {"198.18.128.2": 5, "198.19.128.2": 5}
    agent["/v1/ip"][1]["hostIP"] = "198.18.194.1"  # where that address was in the deployment before
    with pytest.raises(DriverError, match=r"^KUBE-43 "):
        cilium.knows(pods=pods, within_s=0.1)


def test_an_agent_that_is_not_well_is_no_option_of_a_node(agent):
    agent["/v1/healthz"] = {"cilium": {"state": "Failure"}}
    assert "Failure" in cilium.ready()
    node = SimpleNamespace(call=lambda _: None, call_within=lambda _, __: "an agent")
    assert "no agent of Cilium" in made().probe(node).reason


def test_addresses_are_taken_from_a_pod_as_the_plugin_has_set_them():
    made_by_plugin = ("198.18.128.2/32", "fe80::1/64")
    given = Attached(
        attachment=attachment(), link_kind="veth", mac="02:00:00:00:00:01", mtu_octets=1500,
        addresses=made_by_plugin, host_interface=None, host_mac=None, took_nic=False, evidence={},
    )  # fmt: skip
    assert endpoints._given(given) == ("198.18.128.2/32",)


def test_what_setup_builds_is_pinned_by_version_and_hash():
    lines = [line.split() for line in (SETUP / "cilium" / "versions").read_text().splitlines()]
    pinned = {words[0]: words[1:] for words in lines if words[0] != "#"}
    assert set(pinned) == {"cilium", "gobgp"}
    for _, version, sum_of_module in pinned.values():
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version)
        assert re.fullmatch(r"h1:[A-Za-z0-9+/]{43}=", sum_of_module)
