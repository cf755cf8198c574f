"""What a run changes of an interface that it borrowed is put back as it was, whatever it was."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.paths import queues
from bmwg.drivers.ports import device_queue
from bmwg.drivers.traffic.trex import server
from bmwg.methodology.errors import TestbedError

TSO = list(device_queue._TSO)
TAGS = "tx-vlan-hw-insert"


class Nic:
    """An interface by its switches, of which `fixed` ones stay as they are."""

    def __init__(self, *, on=(), fixed=(), kind="veth"):
        self.features = {name: SimpleNamespace(enable=False) for name in ("rx-gro", TAGS, *TSO)}
        for name in on:
            self.features[name].enable = True
        self.fixed, self.kind, self.there = fixed, kind, True

    def on(self):
        return [name for name, one in self.features.items() if one.enable]

    def get_features(self, interface):
        copies = {name: SimpleNamespace(enable=one.enable) for name, one in self.features.items()}
        return SimpleNamespace(features=copies)

    def set_features(self, interface, wanted):
        for name in self.features.keys() - set(self.fixed):
            self.features[name].enable = wanted.features[name].enable

    def link_lookup(self, ifname):
        return [7] if self.there else []

    def get_links(self, number):
        return [SimpleNamespace(get_nested=lambda *path: self.kind)]


@pytest.fixture
def plugged(monkeypatch, tmp_path):
    """Have device_queue see this NIC, whose file of threaded NAPI is returned."""
    file = tmp_path / "threaded"

    def plug(nic: Nic, threaded="0"):
        file.write_text(f"{threaded}\n")
        monkeypatch.setattr(device_queue, "Ethtool", lambda: nullcontext(nic))
        monkeypatch.setattr(device_queue, "rtnetlink", lambda act: nullcontext(nic))
        monkeypatch.setattr(device_queue, "index", lambda kernel, interface: 7)
        monkeypatch.setattr(device_queue, "_threaded", lambda interface: file)
        return file

    return plug


def bed(queue="threaded") -> Any:
    return SimpleNamespace(testbed=SimpleNamespace(dut=SimpleNamespace(device_queue=queue)))


NODE: Any = SimpleNamespace(call=lambda function, **arguments: function(**arguments))


@pytest.mark.parametrize("threaded", ["0", "1"])
@pytest.mark.parametrize("on", [[], ["rx-gro"]])
def test_a_borrowed_nic_has_its_gro_and_its_threads_as_before(plugged, on, threaded):
    nic = Nic(on=on)
    file = plugged(nic, threaded)
    with queues.released(bed(), NODE, ["nic0"]):
        file.write_text("1")
        nic.features["rx-gro"].enable = True
    assert (nic.on(), file.read_text().strip()) == (on, threaded)


def test_an_interface_that_went_is_let_be(plugged):
    nic = Nic(on=["rx-gro"])
    file = plugged(nic)
    with queues.released(bed(), NODE, ["nic0"]):
        nic.features["rx-gro"].enable = False
        file.unlink()
    assert nic.on() == []


@pytest.mark.parametrize(("on", "fixed"), [([TAGS], []), ([], []), ([], [TAGS])])
def test_a_nic_inserts_tags_after_a_deployment_where_it_did_before(plugged, on, fixed):
    nic = Nic(on=on, fixed=fixed)
    plugged(nic)
    with queues.tags_in_frames(NODE, ("nic0",)):
        assert nic.on() == []
    assert nic.on() == on


def test_one_that_inserts_tags_and_can_do_no_other_is_refused_as_it_stands(plugged):
    nic = Nic(on=[TAGS], fixed=[TAGS])
    plugged(nic)
    with pytest.raises(TestbedError, match="QUEUE-01"), queues.tags_in_frames(NODE, ("nic0",)):
        pass


@pytest.mark.parametrize(
    ("kind", "queue", "meanwhile"),
    [("veth", "threaded", []), ("veth", "inline", TSO), (None, "threaded", TSO)],
)
def test_what_leaves_an_underlay_goes_through_the_queue_at_its_far_end(plugged, kind, queue, meanwhile):
    nic = Nic(on=TSO, kind=kind)
    plugged(nic)
    with queues.towards_queue(bed(queue), NODE, "under0"):
        assert nic.on() == meanwhile
    assert nic.on() == TSO


def test_trex_s_frames_go_through_the_queue_at_the_far_end_of_its_interface(plugged):
    nic = Nic(on=TSO)
    plugged(nic)
    ports = [
        TesterPort(name="p0", io="af_packet", device="p0"),
        TesterPort(name="p1", io="pci", device="0000:00:01.0"),
    ]
    assert server._prepared(ports) == [(None, "p0", TSO)]
    assert nic.on() == []
    nic.there = False  # it went with its namespace
    device_queue.let_sender(interface="p0", offloads=TSO)
    assert nic.on() == []
