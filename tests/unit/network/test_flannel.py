"""flannel as a network option: what it may say, what pods get, what flanneld is told; nothing is run."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import Attachment
from bmwg.drivers.kubernetes import flannel, node, settings
from bmwg.drivers.kubernetes.joined import joining_of
from bmwg.drivers.kubernetes.of_run import _plugin_dirs
from bmwg.drivers.network.cni_network import CniNetwork
from bmwg.drivers.network.ebpf_tc import TcRedirectNetwork
from bmwg.drivers.network.flannel import FlannelNetwork
from bmwg.drivers.paths.endpoints import own_way
from bmwg.drivers.testbed.file import network_spec
from bmwg.methodology.errors import ConfigError, DriverError


def made(name="flannel", **given):
    spec = network_spec(name, {"driver": "flannel", **given}, (1,))
    return FlannelNetwork(spec, run_dir=Path("/run/x"), undo=None)


def attachment():
    both = ("198.18.128.2/24", "2001:2:0:8000::2/64")
    routes = (("198.19.128.0/24", "198.18.128.1"),)
    return Attachment(network="flannel", interface="net0", side=0, addresses=both, routes=routes)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"options": {"backend": "udp"}}, "backend"),
        ({"options": {"interface": 3}}, "interface"),
        ({"options": {"backends": "vxlan"}}, "options"),
        ({"plugin_dir": "/usr/lib/cni"}, "networks.flannel"),
    ],
)
def test_what_it_does_not_know_is_named_by_its_place(given, where):
    with pytest.raises(ConfigError, match=r"^NET-04 ") as refused:
        made(**given)
    assert where in refused.value.what


def test_a_pod_gets_flannels_own_plugin_with_the_address_of_its_side():
    (plugin,) = made().conflist(attachment(), bridge="bmwg-br0")["plugins"]
    assert plugin["type"] == "flannel"
    assert plugin["delegate"]["bridge"] == "bmwg-br0"
    assert plugin["ipam"]["addresses"] == [{"address": "198.18.128.2/24", "gateway": "198.18.128.1"}]


def test_it_is_no_option_of_paths_on_one_node():
    assert "p2p-cluster" in made().transit().mend
    assert "p2p-cluster" in own_way(made()).mend
    assert (
        own_way(TcRedirectNetwork(network_spec("tc", {"driver": "ebpf-tc"}, ()), run_dir=Path(), undo=None))
        is None
    )


def test_two_of_them_are_refused():
    node = SimpleNamespace(call=lambda *_, **__: None)
    one, other = made(), made("flannel-gw", options={"backend": "host-gw"})
    assert joining_of([one], node) is one
    assert joining_of([], node) is None
    with pytest.raises(ConfigError, match=r"^KUBE-12 ") as refused:
        joining_of([one, other], node)
    assert refused.value.found == "flannel, flannel-gw"


def test_without_its_programs_no_daemon_is_started():
    node = SimpleNamespace(call=lambda *_, **__: {"what": "flannel", "reason": "none", "mend": "x"})
    assert joining_of([made()], node) is None


def layout(**changed):
    told = flannel.of_node(1, backend="host-gw", interface="under0", subnet="198.19.128.0/24")
    given = {
        "name": "dut2", "number": 1, "folder": "/f", "shared": "/s", "programs": "/p", "address": "192.0.2.2",
        "api_address": "192.0.2.1", "cgroup": "/c", "function_cpus": "1", "other_cpus": "0",
        "program_cpus": "0", "flannel": told,
    }  # fmt: skip
    return settings.Layout(**{**given, **changed})


def test_flanneld_is_told_its_node_its_nic_and_its_backend():
    programs = {one["name"]: one["argv"] for one in settings.node_programs(layout())}
    assert "NODE_NAME=dut2" in programs["flanneld"]
    assert "--iface=under0" in programs["flanneld"]
    assert "flanneld" not in {one["name"] for one in settings.node_programs(layout(flannel=None))}
    told = json.loads(flannel.configuration(layout().flannel))
    assert told["Backend"] == {"Type": "host-gw"}
    assert layout().flannel.address == "198.18.193.2/24"


def test_the_plugins_of_all_options_are_one_folder_unless_two_differ(tmp_path):
    theirs, ours, shown = tmp_path / "theirs", tmp_path / "ours", tmp_path / "shown"
    for folder in (theirs, ours, shown):
        folder.mkdir()
    (theirs / "bridge").write_text("a")
    (ours / "bridge").symlink_to(theirs / "bridge")
    (ours / "vendor").write_text("b")
    node._link_plugins(shown, [str(theirs), str(ours)])
    assert sorted(one.name for one in shown.iterdir()) == ["bridge", "vendor"]
    (ours / "bridge").unlink()
    (ours / "bridge").write_text("another")
    with pytest.raises(DriverError, match=r"^KUBE-31 "):
        node._link_plugins(shown, [str(theirs), str(ours)])


def test_folders_of_plugins_are_those_that_are_there(tmp_path):
    def plugged(folder):
        given = {"driver": "cni", "plugin_dir": str(folder), "conflist": {}}
        return CniNetwork(network_spec("one", given, (1,)), run_dir=tmp_path, undo=None)

    of_no_plugin = TcRedirectNetwork(
        network_spec("tc", {"driver": "ebpf-tc"}, (1,)), run_dir=tmp_path, undo=None
    )
    networks = [plugged(tmp_path), plugged(tmp_path / "none"), of_no_plugin]
    assert _plugin_dirs(networks)[-1] == str(tmp_path)
