import pytest

from bmwg.drivers.network.conflist import negotiate, parse, plugin_config
from bmwg.methodology.errors import ConfigError, TestbedError

GOOD = {
    "cniVersion": "1.0.0",
    "name": "net",
    "plugins": [
        {"type": "bridge", "ipam": {"type": "static"}},
        {"type": "bandwidth", "capabilities": {"bandwidth": True, "other": False}},
    ],
}


def test_binaries_hold_ipam_plugins_once():
    document = {**GOOD, "plugins": [*GOOD["plugins"], {"type": "bridge", "ipam": {"type": "static"}}]}
    assert parse(document).binaries == ("bridge", "static", "bandwidth")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"plugin": []}, "near 'plugins'"),
        ({"name": "../x"}, "conflist.name"),
        ({"cniVersion": "7.0"}, "conflist.cniVersion"),
        ({"plugins": []}, "conflist.plugins"),
        ({"plugins": [{"type": "../bridge"}]}, "plugins[0].type"),
        ({"plugins": [{"type": "a", "ipam": {"x": 1}}]}, "plugins[0].ipam.type"),
        ({"plugins": [{"type": "a", "prevResult": {}}]}, "plugins[0].prevResult"),
        ({"plugins": [{"type": "a", "capabilities": {"mac": "yes"}}]}, "plugins[0].capabilities"),
        ({"disableCheck": "yes"}, "conflist.disableCheck"),
    ],
)
def test_each_fault_is_named_by_place(change, said):
    with pytest.raises(ConfigError, match=r"^NET-02 ") as caught:
        parse({**GOOD, **change})
    assert said in caught.value.found


def test_several_faults_come_at_once():
    with pytest.raises(ConfigError) as caught:
        parse({"cniVersion": "9.9.9", "name": "", "plugins": [{}]})
    assert all(part in caught.value.found for part in ("cniVersion", "name", "plugins[0].type"))


def test_the_highest_common_version_is_used():
    network = parse({**GOOD, "cniVersion": "0.4.0", "cniVersions": ["1.1.0", "1.0.0", "9.0.0"]})
    assert negotiate(network, {"a": ["0.4.0", "1.0.0"], "b": ["0.3.1", "0.4.0", "1.0.0"]}) == "1.0.0"
    assert negotiate(network, {"a": ["0.4.0"]}) == "0.4.0"


def test_no_common_version_names_each_plugin():
    with pytest.raises(TestbedError, match=r"^CNI-02 ") as caught:
        negotiate(parse({**GOOD, "cniVersion": "1.1.0"}), {"bridge": ["0.4.0", "1.0.0"]})
    assert "bridge speaks 0.4.0, 1.0.0" in caught.value.found


def test_a_plugin_gets_only_the_capabilities_that_it_declares():
    network = parse(GOOD)
    arguments = {"bandwidth": {"ingressRate": 1}, "other": 1, "mac": "x"}
    config = plugin_config(network, network.plugins[1], "1.0.0", capability_arguments=arguments)
    assert config == {
        "type": "bandwidth",
        "cniVersion": "1.0.0",
        "name": "net",
        "runtimeConfig": {"bandwidth": {"ingressRate": 1}},
    }


def test_the_previous_result_is_converted_to_the_version_used():
    network = parse(GOOD)
    previous = {"cniVersion": "1.0.0", "ips": [{"address": "198.18.0.1/24"}]}
    config = plugin_config(network, network.plugins[0], "0.4.0", previous=previous)
    assert config["prevResult"]["ips"] == [{"version": "4", "address": "198.18.0.1/24"}]
    assert config["prevResult"]["cniVersion"] == "0.4.0"
