"""The CNI plugin of programs at the tc hook, by the CNI exec protocol on a real node: joined, told, gone."""

import json
import os
import subprocess
import sys

import pytest
from tests.needs import skip_for

from bmwg.drivers.network import ebpf_build, ebpf_cni, ebpf_node
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not os.path.exists("/usr/lib/cni/static"), reason="needs apt-get install containernetworking-plugins"
    ),
]
MODULE = "bmwg.drivers.network.ebpf_cni"


def call(node, command, pod, number, **changed):
    """Run the plugin as a kubelet's runtime does; return its exit status and what it printed."""
    config = {
        "cniVersion": "1.0.0",
        "name": "bmwg-tc-0",
        "type": "bmwg-tc",
        "segment": "test",
        "nic": "",
        "mtu_octets": 1400,
        "ipam": {"type": "static", "addresses": [{"address": f"198.18.0.{number + 2}/24"}]},
        **changed,
    }
    variables = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": f"c{number}",
        "CNI_IFNAME": "net0",
        "CNI_NETNS": f"/proc/{pod.pid}/ns/net",
        "CNI_PATH": "/usr/lib/cni",
    }
    done = subprocess.run(
        ["nsenter", "-t", str(node.pid), "-n", "-m", sys.executable, "-m", MODULE],
        input=json.dumps(config),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}


def links(node):
    return {one["name"]: one for one in node.call(interfaces.listing)}


def test_two_pods_are_joined_by_the_plugin_and_nothing_stays():
    skip_for(ebpf_build.missing())
    with NamespaceNode("dut1") as node, NamespaceNode("pod0") as one, NamespaceNode("pod1") as other:
        assert node.call_within(60.0, ebpf_node.probe) is None
        before = links(node)
        for number, pod in enumerate((one, other)):
            status, told = call(node, "ADD", pod, number)
            assert status == 0, told
            inside = links(pod)["net0"]
            assert told["interfaces"][1]["mac"] == inside["mac"]
            assert (inside["mtu_octets"], inside["up"]) == (1400, True)
            assert f"198.18.0.{number + 2}/24" in inside["addresses"]
        members = node.call(ebpf_cni.seen, segment="test")["members"]
        assert {member["by"] for member in members} == {"bpf_redirect_peer"}
        assert {(member["interface"], member["target"]) for member in members} == {
            (a["interface"], b["interface"]) for a, b in (members, members[::-1])
        }
        for number, pod in enumerate((one, other)):
            for _ in range(2):  # DEL twice is DEL once
                assert call(node, "DEL", pod, number)[0] == 0
        assert links(node).keys() == before.keys()


def promiscuity(node, interface):
    """How many hold the interface promiscuous."""
    words = ["nsenter", "-t", str(node.pid), "-n", "ip", "-d", "-j", "link", "show", "dev", interface]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)[0]["promiscuity"]


@pytest.fixture
def uplinked():
    """A node with an interface nic0 that stands for its NIC, and a pod."""
    skip_for(ebpf_build.missing())
    with NamespaceNode("dut1") as node, NamespaceNode("pod0") as pod:
        assert node.call_within(60.0, ebpf_node.probe) is None
        node.call(interfaces.make_tap, interface="nic0")
        yield node, pod


def test_the_nic_takes_frames_for_the_pods_mac_while_the_driver_joins_them(uplinked):
    node, pod = uplinked
    ends = {"host": "bmwg0", "pid": pod.pid, "interface": "net0"}
    node.call(ebpf_node.add_pair, **ends, addresses=["198.18.0.2/24"], mtu_octets=1500)
    node.call(ebpf_node.join, **ends, segment="test", nic="nic0")
    assert promiscuity(node, "nic0") == 1
    node.call(ebpf_node.leave, segment="test", host="bmwg0")
    assert promiscuity(node, "nic0") == 0


def test_the_nic_takes_frames_for_the_pods_mac_while_the_plugin_joins_them(uplinked):
    node, pod = uplinked
    assert call(node, "ADD", pod, 0, nic="nic0")[0] == 0
    assert promiscuity(node, "nic0") == 1
    assert call(node, "DEL", pod, 0, nic="nic0")[0] == 0
    assert promiscuity(node, "nic0") == 0


def test_a_pod_is_taken_out_where_its_nic_has_gone(uplinked):
    node, pod = uplinked
    before = links(node).keys() - {"nic0"}
    assert call(node, "ADD", pod, 0, nic="nic0")[0] == 0
    node.call(interfaces.delete, interface="nic0")
    assert call(node, "DEL", pod, 0, nic="nic0") == (0, {})
    assert links(node).keys() == before


def test_a_refusal_says_why_and_leaves_no_interface():
    skip_for(ebpf_build.missing())
    with NamespaceNode("dut1") as node, NamespaceNode("pod0") as pod:
        before = links(node)
        status, told = call(node, "ADD", pod, 0, nic="nowhere")
        assert (status, told["code"]) == (1, 100)
        assert links(node).keys() == before.keys()


def test_its_start_imports_no_library_of_netlink_or_of_coroutines():
    """A pod waits for the plugin's start: 0.195 s of CPU with these, 0.058 s without (docs/adr/0390)."""
    code = (
        f"import sys, {MODULE}; print(sorted({{'pyroute2', 'asyncio', 'ssl', 'psutil'}} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
