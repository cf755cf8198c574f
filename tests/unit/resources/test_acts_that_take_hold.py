"""An act is done where what it takes hold of carries the frames; elsewhere its cell says why it is not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bmwg.drivers.actuators import resets
from bmwg.drivers.actuators.place import Place
from bmwg.drivers.network.ovs_dpdk import OvsDpdkNetwork
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.methodology.errors import DriverError
from bmwg.methodology.measurements.measurement import WithAct
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.records import BAREMETAL, POD, Cell
from bmwg.resources.run import needs


def bed(uplink: str):
    networks = SimpleNamespace(spec=SimpleNamespace(uplink=uplink))
    node = SimpleNamespace(node="dut1", nic="nic1", number=1)
    return SimpleNamespace(
        network=lambda name: networks, pods={}, nodes=("dut1",), sides=lambda: (node, node)
    )


def cell(function: str = "kernel-l3", hosting: str = POD) -> Cell:
    return Cell(path="pvp", hosting=hosting, function=function, network="net", frame_octets=64)


@pytest.fixture
def lacking(monkeypatch):
    monkeypatch.setattr(needs, "path_driver", lambda cell, bed: SimpleNamespace(probe=lambda: None))

    def told(name: str, uplink: str, function: str = "testpmd"):
        planned = SimpleNamespace(measurement=name, cell=cell(function))
        return needs.lacking(planned, bed(uplink))

    return told


@pytest.mark.parametrize(
    ("uplink", "taken"), [("bridge_port", True), ("routed", False), ("master", False), ("none", False)]
)
def test_a_switch_is_reset_where_the_kernel_s_bridge_is_one(lacking, uplink, taken) -> None:
    """On Open vSwitch an interface of the bridge's name is a tap that no test frame passes."""
    found = lacking("reset_vswitch", uplink)
    assert (found is None) == taken
    if found is not None:
        assert found.what == "act vswitch on path pvp, network net"
        assert "carries the frames" in found.reason


def test_a_switch_at_sockets_has_no_such_bridge_though_a_nic_is_its_port(monkeypatch) -> None:
    """As `testbeds/vhost-user-nic.yaml` has it."""
    here = bed("bridge_port")
    place = Place(cell=cell(), bed=here)
    assert resets.vswitch(place) is not None
    spec = NetworkSpec(name="net", driver="ovs-dpdk", model="user-space", uplink="bridge_port")
    here.network = lambda name: OvsDpdkNetwork(spec, run_dir=Path("/nowhere"), undo=None)
    assert resets.vswitch(place) is None


def test_links_and_containers_are_there_on_every_network(lacking) -> None:
    assert lacking("reset_link", "none") is None
    assert lacking("reset_container", "none") is None
    assert lacking("reset_container", "none", function="kernel-l3") is not None


def test_an_actuator_that_needs_the_deployed_pod_is_tried(lacking, monkeypatch) -> None:
    """As one of another distribution may: before anything stands it finds nothing."""
    monkeypatch.setattr(needs.registry, "load", lambda *_, **__: lambda place: place.pod)
    assert lacking("reset_link", "none") is None


def test_what_does_nothing_to_the_dut_needs_no_act(lacking) -> None:
    assert lacking("throughput", "none") is None
    assert not isinstance(measurement("throughput"), WithAct)
    assert measurement("reset_link").act == "link"


def test_there_is_nothing_to_reset_where_nothing_forwards() -> None:
    for function, hosting in (("none", POD), ("kernel-l3", BAREMETAL)):
        place = Place(cell=cell(function, hosting), bed=bed("bridge_port"))
        assert resets.vswitch(place) is None
    assert resets.link(Place(cell=cell("none"), bed=bed("bridge_port"))) is None


def test_a_container_that_does_not_stand_is_an_error_and_no_outage() -> None:
    act = resets.container(Place(cell=cell("testpmd"), bed=bed("bridge_port")))
    assert act is not None
    with pytest.raises(DriverError, match="ACT-04"):
        act()
