"""The CNI runner with the distribution's real plugins and with plugins that a vendor could have written."""

import json
import textwrap
from pathlib import Path

import pytest

from bmwg.drivers.network import cni, datapath
from bmwg.drivers.network import plugins as network_plugins
from bmwg.drivers.network.template import render
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError, TestbedError

PLUGIN_DIR = "/usr/lib/cni"
ADDRESSES = [
    {"address": "198.18.128.2/24", "gateway": "198.18.128.1"},
    {"address": "2001:2:0:8000::2/64", "gateway": "2001:2:0:8000::1"},
]

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not Path(PLUGIN_DIR, "bridge").exists(), reason="needs apt-get install containernetworking-plugins"
    ),
]


@pytest.fixture(scope="module")
def nodes():
    with NamespaceNode("cni-node") as node, NamespaceNode("cni-pod") as pod:
        yield node, pod


class Runner:
    """Calls the runner on the node and knows what an attachment is called."""

    def __init__(self, node, pod, folder):
        self.node = node
        self.pod = pod
        self.cache = folder / "cache"

    def add(self, conflist, *, plugin_dir=PLUGIN_DIR, interface="net0", **more):
        return self.node.call(
            cni.add,
            plugin_dir=str(plugin_dir),
            conflist=conflist,
            container_id="pod-1",
            netns=self.pod.netns_path,
            interface=interface,
            cache_dir=str(self.cache),
            **more,
        )

    def act(self, verb, network="t", interface="net0", **more):
        return self.node.call(
            getattr(cni, verb),
            container_id="pod-1",
            network=network,
            interface=interface,
            cache_dir=str(self.cache),
            **more,
        )

    def seen(self, node):
        return node.call(datapath.observe)

    def names(self, node):
        return sorted(entry["name"] for entry in self.seen(node)["interfaces"])


@pytest.fixture
def runner(nodes, tmp_path):
    runner = Runner(*nodes, tmp_path)
    before = runner.names(nodes[0]), runner.names(nodes[1])
    yield runner
    if "br-t" in runner.names(nodes[0]):
        nodes[0].call(interfaces.delete, interface="br-t")
    assert (runner.names(nodes[0]), runner.names(nodes[1])) == before, "interfaces were left behind"
    assert not runner.cache.exists(), "cached attachments were left behind"


def _list(*plugins, version="1.0.0", **more):
    return {"cniVersion": version, "name": "t", "plugins": list(plugins), **more}


BRIDGE = {"type": "bridge", "bridge": "br-t", "ipam": {"type": "static", "addresses": ADDRESSES}}
PTP = {"type": "ptp", "ipam": {"type": "static", "addresses": ADDRESSES}}


@pytest.mark.parametrize("version", ["0.3.1", "0.4.0", "1.0.0"])
@pytest.mark.parametrize("plugin", [BRIDGE, PTP], ids=["bridge", "ptp"])
def test_add_check_delete_of_shipped_plugins(runner, plugin, version):
    answer = runner.add(_list(plugin, version=version))
    assert answer["version"] == version
    assert [item["address"] for item in answer["result"]["ips"]] == [item["address"] for item in ADDRESSES]
    (interface,) = [item for item in runner.seen(runner.pod)["interfaces"] if item["name"] == "net0"]
    assert interface["kind"] == "veth"
    assert {"198.18.128.2/24", "2001:2:0:8000::2/64"} <= set(interface["addresses"])
    checked = runner.act("check")
    assert bool(checked["executions"]) == (version != "0.3.1")
    assert runner.act("delete") == []
    assert runner.act("delete") == [], "a second DEL must be as good"


def test_the_bridge_ports_seen_are_the_results_own(runner):
    answer = runner.add(_list(BRIDGE))
    host_side = answer["result"]["interfaces"][1]["name"]
    (bridge,) = [item for item in runner.seen(runner.node)["interfaces"] if item["name"] == "br-t"]
    assert bridge["kind"] == "bridge"
    assert bridge["ports"] == [host_side]
    assert runner.act("delete") == []


def test_a_chain_of_shipped_plugins(runner):
    chain = [
        BRIDGE,
        {"type": "tuning", "mtu": 1400, "sysctl": {"net.ipv4.conf.net0.rp_filter": "2"}},
        {"type": "bandwidth", "capabilities": {"bandwidth": True}},
    ]
    shaping = {"bandwidth": {"egressRate": 8_000_000, "egressBurst": 80_000}}
    answer = runner.add(_list(*chain), capability_arguments=shaping)
    assert [item["plugin"] for item in answer["executions"]] == ["bridge", "tuning", "bandwidth"]
    (interface,) = [item for item in runner.seen(runner.pod)["interfaces"] if item["name"] == "net0"]
    assert interface["mtu_octets"] == 1400
    # the bandwidth plugin shapes through an interface of its own, which only comes when it got its argument
    assert any(name.startswith("bwp") for name in runner.names(runner.node))
    assert len(runner.act("check")["executions"]) == 3
    assert runner.act("delete") == []


def test_the_option_that_the_documents_give_as_an_example_holds(runner):
    file = Path(__file__).parents[2] / "docs" / "examples" / "own-option.yaml"
    option = next(one for one in load_testbed(file).networks if one.name == "own")
    values = {"bridge": "br-t", "addresses": ADDRESSES, "side": "0"}
    conflist = render(option.conflist, values, where="networks.own")
    answer = runner.add({**conflist, "name": "t"}, plugin_dir=option.plugin_dir)
    assert [one["plugin"] for one in answer["executions"]] == ["bridge", "tuning"]
    assert len(runner.act("check")["executions"]) == 2
    assert runner.act("delete") == []


def test_check_finds_what_somebody_took_away(runner):
    runner.add(_list(BRIDGE))
    runner.pod.call(interfaces.delete, interface="net0")
    with pytest.raises(TestbedError) as caught:
        runner.act("check")
    assert caught.value.error_id == "CNI-10"
    assert "plugin bridge failed, CHECK of net0" in caught.value.what
    assert runner.act("delete") == []


def test_a_second_attachment_of_the_same_name_is_refused_and_the_first_stays(runner):
    runner.add(_list(BRIDGE))
    with pytest.raises(TestbedError) as caught:
        runner.add(_list(BRIDGE))
    assert caught.value.error_id == "CNI-12"
    assert "net0" in runner.names(runner.pod)
    assert runner.act("delete") == []


def test_delete_works_without_the_cache_and_without_the_namespace(runner):
    runner.add(_list(BRIDGE))
    for path in runner.cache.iterdir():
        path.unlink()
    runner.cache.rmdir()
    arguments = {"plugin_dir": PLUGIN_DIR, "conflist": _list(BRIDGE)}
    assert runner.act("delete", netns=runner.pod.netns_path, **arguments) == []
    assert runner.names(runner.pod) == ["lo"]
    assert runner.act("delete", netns="/proc/999999999/ns/net", **arguments) == []


def test_delete_leaves_the_namespace_of_a_process_that_has_the_id_again(runner):
    runner.add(_list(BRIDGE))
    for path in runner.cache.iterdir():
        path.unlink()
    runner.cache.rmdir()
    arguments = {"plugin_dir": PLUGIN_DIR, "conflist": _list(BRIDGE), "netns": runner.pod.netns_path}
    assert runner.act("delete", netns_start_ticks=runner.pod.start_ticks - 1, **arguments) == []
    assert "net0" in runner.names(runner.pod)  # another process, another namespace: not ours to touch
    assert runner.act("delete", netns_start_ticks=runner.pod.start_ticks, **arguments) == []
    assert "net0" not in runner.names(runner.pod)


def test_disable_check(runner):
    runner.add(_list(BRIDGE, disableCheck=True))
    assert runner.act("check")["executions"] == []
    assert runner.act("delete") == []


def test_the_shipped_plugins_own_error_comes_through(runner):
    with pytest.raises(TestbedError) as caught:
        runner.add(_list({"type": "macvlan", "master": "no-such-nic", "ipam": {}}))
    assert caught.value.error_id == "CNI-10"
    assert "plugin macvlan failed, ADD of net0" in caught.value.what
    assert "Link not found" in caught.value.found


def test_a_plugin_that_is_not_there_is_named_with_a_near_name(runner):
    with pytest.raises(TestbedError) as caught:
        runner.add(_list({"type": "brigde"}))
    assert caught.value.error_id == "CNI-01"
    assert "near name bridge" in caught.value.found
    assert "apt-get install containernetworking-plugins" in caught.value.hint


def test_too_new_a_list_is_refused_before_any_plugin_runs_add(runner):
    with pytest.raises(TestbedError) as caught:
        runner.add(_list(BRIDGE, version="1.1.0"))
    assert caught.value.error_id == "CNI-02"


def test_a_name_that_no_plugin_can_take_is_refused(runner):
    with pytest.raises(ConfigError) as caught:
        runner.add(_list(BRIDGE), interface="a-name-of-sixteen")
    assert caught.value.error_id == "NET-03"


VENDOR = """\
#!/usr/bin/env python3
import json, os, subprocess, sys, time
config = json.load(sys.stdin)
command = os.environ["CNI_COMMAND"]
log = os.path.join(os.path.dirname(os.path.abspath(__file__)), "log")
with open(log, "a") as out:
    out.write(json.dumps([command, os.path.basename(__file__), config, os.environ["CNI_ARGS"]
                          if command != "VERSION" else ""]) + "\\n")
if command == "VERSION":
    print(json.dumps({{"cniVersion": "1.0.0", "supportedVersions": {versions}}}))
    sys.exit(0)
{body}
"""
MAKES_A_VETH = """\
pid = os.environ["CNI_NETNS"].split("/")[2] if os.environ["CNI_NETNS"] else ""
if command == "ADD":
    subprocess.run(["ip", "link", "add", "vendor0", "type", "veth", "peer", "name",
                    os.environ["CNI_IFNAME"], "netns", pid], check=True)
    print(json.dumps({"cniVersion": config["cniVersion"], "interfaces": [
        {"name": "vendor0"}, {"name": os.environ["CNI_IFNAME"], "sandbox": os.environ["CNI_NETNS"]}]}))
elif command == "DEL":
    subprocess.run(["ip", "link", "del", "vendor0"], stderr=subprocess.DEVNULL)
"""
PASSES_ON = 'print(json.dumps(config["prevResult"])) if command == "ADD" else None'


@pytest.fixture
def vendor(tmp_path):
    folder = tmp_path / "vendor"
    folder.mkdir()

    def write(name, body, versions=("0.4.0", "1.0.0")):
        path = folder / name
        path.write_text(VENDOR.format(body=textwrap.dedent(body), versions=json.dumps(list(versions))))
        path.chmod(0o755)
        return path

    write.folder = folder
    write.log = lambda: [
        entry for entry in map(json.loads, (folder / "log").read_text().splitlines()) if entry[0] != "VERSION"
    ]
    return write


def test_a_vendors_own_plugins_need_no_code_here(runner, vendor):
    vendor("vendor", MAKES_A_VETH)
    vendor("meta", PASSES_ON)
    answer = runner.add(
        _list({"type": "vendor", "site": "x"}, {"type": "meta"}),
        plugin_dir=vendor.folder,
        cni_args={"K8S_POD_NAME": "p"},
    )
    assert answer["result"]["interfaces"][0]["name"] == "vendor0"
    assert "vendor0" in runner.names(runner.node)
    runner.act("check")
    assert runner.act("delete") == []
    log = vendor.log()
    assert [entry[:2] for entry in log] == [
        ["ADD", "vendor"],
        ["ADD", "meta"],
        ["CHECK", "vendor"],
        ["CHECK", "meta"],
        ["DEL", "meta"],
        ["DEL", "vendor"],
    ]
    assert log[0][2] == {"cniVersion": "1.0.0", "name": "t", "site": "x", "type": "vendor"}
    assert all(entry[2]["prevResult"] == answer["result"] for entry in log[1:])
    assert {entry[3] for entry in log} == {"K8S_POD_NAME=p"}


def test_a_failing_link_of_the_chain_undoes_the_others(runner, vendor):
    vendor("vendor", MAKES_A_VETH)
    fails = """\
    if command == "ADD":
        print(json.dumps({"cniVersion": "1.0.0", "code": 111, "msg": "no licence", "details": "seat 7"}))
        print("words on stderr", file=sys.stderr)
        sys.exit(1)
    """
    vendor("broken", fails)
    with pytest.raises(TestbedError) as caught:
        runner.add(_list({"type": "vendor"}, {"type": "broken"}), plugin_dir=vendor.folder)
    assert caught.value.error_id == "CNI-10"
    assert "plugin broken failed, ADD of net0, CNI code 111" in caught.value.what
    assert "no licence; seat 7; stderr: words on stderr" in caught.value.found
    assert [entry[:2] for entry in vendor.log()][-2:] == [["DEL", "broken"], ["DEL", "vendor"]]


@pytest.mark.parametrize(
    ("body", "error_id"),
    [
        ("pass", "CNI-11"),
        ("print('hello') if command == 'ADD' else None", "CNI-11"),
        ("print('{}') if command == 'ADD' else None", "CNI-11"),
        ("sys.exit(command == 'ADD')", "CNI-10"),
        ("time.sleep(30 if command == 'ADD' else 0)", "CNI-04"),
        ("while command == 'ADD': print('x' * 65536)", "CNI-05"),
    ],
    ids=["says nothing", "garbage", "empty object", "status only", "hangs", "no end"],
)
def test_a_misbehaving_plugin_is_a_named_error(runner, vendor, body, error_id):
    vendor("odd", body)
    with pytest.raises(TestbedError) as caught:
        runner.add(_list({"type": "odd"}), plugin_dir=vendor.folder, plugin_deadline_s=1.5)
    assert caught.value.error_id == error_id
    assert "odd" in caught.value.what


def test_all_failing_deletes_are_told_and_the_cache_stays_for_another_try(runner, vendor):
    vendor(
        "one",
        "print(json.dumps({'cniVersion': '1.0.0'})) if command == 'ADD' else sys.exit(command == 'DEL')",
    )
    vendor("two", PASSES_ON.replace("None", "sys.exit(command == 'DEL')"))
    runner.add(_list({"type": "one"}, {"type": "two"}), plugin_dir=vendor.folder)
    failures = runner.act("delete")
    assert ["plugin two" in failures[0], "plugin one" in failures[1]] == [True, True]
    vendor("one", "pass")
    vendor("two", "pass")
    assert runner.act("delete") == []


def test_an_older_plugins_result_is_converted(runner, vendor):
    body = """\
    if command == "ADD":
        print(json.dumps({"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "198.18.0.1/24"}]}))
    """
    vendor("old", body)
    answer = runner.add(_list({"type": "old"}), plugin_dir=vendor.folder)
    assert answer["result"] == {"cniVersion": "1.0.0", "ips": [{"address": "198.18.0.1/24"}]}
    assert runner.act("delete") == []


def test_a_plugin_without_versions_is_named(runner, vendor):
    (vendor.folder / "mute").write_text("#!/bin/sh\nexit 0\n")
    (vendor.folder / "mute").chmod(0o755)
    with pytest.raises(TestbedError) as caught:
        runner.add(_list({"type": "mute"}), plugin_dir=vendor.folder)
    assert caught.value.error_id == "CNI-06"


def test_a_foreign_file_in_the_cache_is_no_attachment(runner):
    runner.cache.mkdir()
    path = runner.cache / "t-pod-1-net0.json"
    path.write_text("{}")
    with pytest.raises(TestbedError) as caught:
        runner.act("check")
    assert caught.value.error_id == "CNI-14"
    path.unlink()
    runner.cache.rmdir()


def test_evidence_names_binary_hash_version_and_package(runner):
    (found,) = runner.node.call(network_plugins.evidence, plugin_dir=PLUGIN_DIR, binaries=["bridge"])
    assert len(found["sha256"]) == 64
    assert "1.0.0" in found["supported_versions"]
    assert json.loads(found["version_reply"])["supportedVersions"] == found["supported_versions"]
    if found["package"] is None:
        assert found["package_unknown_because"]
    else:
        assert found["package"].startswith("containernetworking-plugins ")
