"""Tester ports at vhost-user sockets in a testbed file, and what nothing can join."""

import pytest
import yaml

from bmwg.drivers.testbed.file import embedded_file, load_testbed
from bmwg.drivers.testbed.medium import Medium, medium_of, with_medium
from bmwg.drivers.testbed.port_kind import port_kind
from bmwg.methodology.errors import ConfigError


def changed(tmp_path, change):
    data = yaml.safe_load(embedded_file().read_text())
    change(data)
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def refusal(tmp_path, *changes):
    """Return what a testbed file with these changes is refused with."""

    def whole(data):
        for change in changes:
            change(data)

    with pytest.raises(ConfigError) as refused:
        load_testbed(changed(tmp_path, whole))
    return str(refused.value)


def _sockets(data):
    data["links"][0] = {"a": "tester/p0", "b": "dut1/vhost0", "kind": "vhost-user"}
    data["links"][1] = {"a": "dut1/vhost1", "b": "tester/p1", "kind": "vhost-user"}
    data["tester"]["io"] = "virtio_user"


def test_a_rate_of_sockets_is_refused_before_a_run(tmp_path):
    def rated(data):
        _sockets(data)
        data["medium"] = {"kind": "ethernet", "line_rate_bps": 10**10}

    with pytest.raises(ConfigError, match="PORT-05"):
        with_medium(load_testbed(changed(tmp_path, rated)))


def test_ports_at_vhost_user_sockets(tmp_path):
    testbed = load_testbed(changed(tmp_path, _sockets))
    assert {str(end) for end in testbed.socket_ports} == {"tester/p0", "tester/p1"}
    assert port_kind(testbed).each == ("virtio_user", "virtio_user")
    assert medium_of(testbed) == Medium(kind="vhost-user")
    assert not load_testbed().socket_ports
    assert medium_of(load_testbed()).kind == "veth"


def _beside(data):
    data["links"][1] = {"a": "dut1/vhost1", "b": "tester/p1", "kind": "vhost-user"}
    data["tester"]["io"] = ["af_xdp", "virtio_user"]


def test_a_port_at_a_socket_beside_one_on_an_interface(tmp_path):
    testbed = load_testbed(changed(tmp_path, _beside))
    assert [str(end) for end in testbed.socket_ports] == ["tester/p1"]
    assert port_kind(testbed).each == ("af_xdp", "virtio_user")
    assert medium_of(testbed) == Medium(kind="veth and vhost-user")


@pytest.mark.parametrize(
    ("place", "told", "change"),
    [
        ("tester.ports[0]", "one of kind veth", lambda data: data["tester"].update(io="virtio_user")),
        ("tester.io", "for tester/p1, which is at", lambda data: data["tester"].update(io="auto")),
        ("tester.io", "", lambda data: data["tester"].update(io=["auto", "virtio_user"])),
        (
            "tester.ports[0]",
            "no wire",
            lambda data: (data["links"][0].update(kind="cable"), data.update(lab_ports=["p0", "nic0"])),
        ),
    ],
)
def test_what_cannot_stand_beside_a_port_at_a_socket_is_refused(tmp_path, place, told, change):
    text = refusal(tmp_path, _beside, change)
    assert place in text
    assert told in text


@pytest.mark.parametrize(
    ("place", "told", "change"),
    [
        ("tester.io", "for tester/p0, which is at", lambda data: data["tester"].update(io="af_packet")),
        ("tester.io", "for tester/p0, which is at", lambda data: data["tester"].update(io="auto")),
        ("tester.io", "", lambda data: data["tester"].update(io=["virtio_user", "af_xdp"])),
        ("tester.ports[1]", "one of kind veth", lambda data: data["links"][1].pop("kind")),
        ("tester.ports[0]", "no link", lambda data: data["tester"].update(ports=["tester/x", "tester/p1"])),
        ("links[2].kind", "vhost-user only between", lambda data: data["links"][2].update(kind="vhost-user")),
        ("tester.driver", "embedded", lambda data: data["tester"].update(driver="trex")),
        ("links[0].kind", "vhost-usr", lambda data: data["links"][0].update(kind="vhost-usr")),
        (
            "links[0].b",
            "15 characters",
            lambda data: data["links"][0].update(b="dut1/a-name-beyond-fifteen"),
        ),
    ],
)
def test_sockets_that_nothing_can_join_are_refused(tmp_path, place, told, change):
    text = refusal(tmp_path, _sockets, change)
    assert place in text
    assert told in text or not told
