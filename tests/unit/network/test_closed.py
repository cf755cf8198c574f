"""What leads out of a run: a device of the machine that no lab port names, but not a lab port's functions."""

from types import SimpleNamespace

import pytest

from bmwg.drivers.paths.bed_guests import Guests
from bmwg.drivers.watch.isolation import require_closed, survey
from bmwg.methodology.errors import TestbedError


def seen(name, *, bus_address="", nic_address="", up=True, elsewhere=False):
    return {
        "name": name,
        "kind": "veth" if elsewhere else "",
        "up": up,
        "device": bool(bus_address),
        "bus_address": bus_address,
        "nic_address": nic_address,
        "elsewhere": elsewhere,
    }


class Place:
    """A node or a pod that says which interfaces it has."""

    def __init__(self, name, interfaces, node=None):
        self.name = self.pod_id = name
        self.pid = 1
        self.node = node
        self._interfaces = interfaces
        self.machine = self
        self.attached = ()

    def call(self, function, **_):
        assert function is survey
        return self._interfaces

    inside = call


def bed(lab_ports, in_node, in_pod):
    node = Place("dut1", in_node)
    return SimpleNamespace(
        nodes=["dut1"],
        guests=Guests(),
        node=lambda _: node,
        host=lambda _: node,
        pods={"p": Place("p", in_pod, node)},
        testbed=SimpleNamespace(lab_ports=lab_ports, links=()),
        hosts={},
    )


NIC = seen("eth4", bus_address="0000:01:00.0")
FUNCTION = seen("net0", bus_address="0000:01:10.0", nic_address="0000:01:00.0")


def test_a_virtual_function_of_a_lab_port_stays_within_the_run():
    require_closed(bed(["eth4"], [NIC, seen("lo")], [FUNCTION]))
    require_closed(bed(["0000:01:00.0"], [NIC], [FUNCTION]))


@pytest.mark.parametrize(
    ("lab_ports", "pod"),
    [
        (["eth4"], seen("net0", bus_address="0000:02:10.0", nic_address="0000:02:00.0")),
        (["eth4"], seen("net0", bus_address="0000:02:00.0")),
        (["eth5"], FUNCTION),
    ],
)
def test_a_function_of_another_nic_leads_out(lab_ports, pod):
    with pytest.raises(TestbedError, match="ISO-02") as caught:
        require_closed(bed(lab_ports, [NIC] if "eth4" in lab_ports else [], [pod]))
    assert caught.value.found == "a device of the machine"


def test_a_pods_interface_of_its_cluster_leads_out_unless_it_is_down():
    require_closed(bed([], [], [seen("eth0", up=False, elsewhere=True)]))
    with pytest.raises(TestbedError, match="ISO-02") as caught:
        require_closed(bed([], [], [seen("eth0", elsewhere=True)]))
    assert caught.value.found == "a veth whose other end is in a namespace outside the run"
    with pytest.raises(TestbedError, match="ISO-02"):
        require_closed(bed([], [seen("eth0", up=False, elsewhere=True)], []))
