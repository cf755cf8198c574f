"""What a path's record claims of hardware that nobody looked at."""

import dataclasses
from types import SimpleNamespace

import pytest

from bmwg.drivers.api.protocols import Deployment, NestedNode, TesterPort
from bmwg.drivers.platform_record.deployment import _taken, drawn_names, take
from bmwg.drivers.platform_record.of_tester import told_of
from bmwg.drivers.testbed.file import NodeKind, NodeSpec, load_testbed
from bmwg.methodology.records import Cell

CELL = Cell(path="p2p-underlay", hosting="pod", function="none", network="bridge", frame_octets=64)
PORTS = tuple(TesterPort(name=f"p{side}", io="none", device=f"p{side}") for side in (0, 1))


@pytest.mark.parametrize("lab_ports", [(), ("0000:31:00.0",)])
def test_on_lab_ports_nothing_is_claimed_of_cables_switches_and_the_tester_s_host(lab_ports):
    node = SimpleNamespace(call=lambda function, **told: told)
    bed = SimpleNamespace(
        nodes=("tester",),
        pods={},
        node=lambda name: node,
        host=lambda name: node,
        testbed=dataclasses.replace(load_testbed(), lab_ports=lab_ports),
    )
    told = take(bed, CELL, Deployment(ports=PORTS, evidence={}), {"driver": "embedded"})["tester"]
    claims = (
        told["topology"]["physical_interfaces"],
        told["topology"]["switches"],
        told["topology"]["underlay"],
        told["tester"]["kind"],
    )
    assert [claim is None for claim in claims] == [bool(lab_ports)] * 4


@pytest.mark.parametrize(
    ("places", "host", "kind"),
    [
        ({"dut1": "", "far": "root@far"}, "", "software on the host of the device under test"),
        ({"far": "root@far"}, "", "software on a host of its own"),
        ({"dut1": ""}, "root@gen", "software on a host of its own"),
    ],
)
def test_the_tester_has_a_host_of_its_own_where_it_is_not_that_of_what_it_loads(places, host, kind):
    testbed = load_testbed()
    nodes = [
        NodeSpec(name=name, kind=NodeKind.SSH if ssh else NodeKind.NAMESPACE, ssh=ssh or None)
        for name, ssh in places.items()
    ]
    own = NodeSpec(name="gen", kind=NodeKind.SSH, ssh=host) if host else None
    tester = dataclasses.replace(testbed.tester, host=own)
    bed = SimpleNamespace(testbed=dataclasses.replace(testbed, nodes=tuple(nodes), tester=tester))
    assert told_of(bed, Deployment(ports=PORTS, evidence={}), {"driver": "embedded"})["kind"] == kind


@pytest.mark.parametrize(
    ("vnics", "told"),
    [
        ({}, {"type": "virtio-net", "network": "the provider's"}),
        (
            {"vnics": [{"backend": "vhost-user"}, {"backend": "vhost-user"}]},
            {"type": "virtio-net by vhost-user", "network": "ovs-dpdk"},
        ),
    ],
)
def test_a_machine_s_nic_is_of_the_network_where_its_emulator_says_how_it_is_joined(vnics, told):
    node = SimpleNamespace(call=lambda function, **told: told)
    bed = SimpleNamespace(nodes=("dut1",), pods={}, host=lambda name: node)
    machine = {"interfaces": ["eth0", "eth1"], "cpus": 1, "memory_octets": 1, **vnics}
    cell = Cell(
        path="pvp-vm-vhost-user", hosting="vm", function="kernel-l3", network="ovs-dpdk", frame_octets=64
    )
    evidence = {"host": "dut1", "machine": machine}
    record = _taken(bed, cell, evidence, {"driver": "embedded"})["dut1"]
    assert record["workloads"]["machine"]["virtual_interfaces"] == {"0": told, "1": told}


class _Guest:
    """What a record asks of a guest that pods stand on."""

    name, pod_cpus, pid, start_ticks, place, machine, interface = "vm0", "1-2", 1, 1, {}, None, "eth0"

    def call(self, *asked, **told):
        return told

    call_named = call_within = describe = call


def test_a_pod_in_a_guest_asks_for_cpus_as_the_guest_counts_them():
    guest = _Guest()
    assert isinstance(guest, NestedNode)
    pods = SimpleNamespace(
        cpuset="6-7", cpus=(6, 7), memory_octets=1, hugepages_2mi=0, hugepages_1gi=0, runtime="crun"
    )
    bed = SimpleNamespace(
        nodes=("vm0",),
        pods={"one": SimpleNamespace(node=guest, pid=7, image="root")},
        host=lambda name: guest,
        port_kind=SimpleNamespace(each=()),
        testbed=SimpleNamespace(pods=pods),
    )
    record = _taken(bed, CELL, {}, {"driver": "embedded"})["vm0"]
    assert record["workloads"]["pod0"]["resource_request"]["cpus"] == "1-2"


def test_ends_that_attachments_name_leave_the_numbers_of_the_others_alone():
    """A pod of Kubernetes has a network of its own beside those that it is measured by, with drawn names."""
    for own in ("veth0000000a", "vethffffffff"):
        ends = sorted([own, "veth11111111", "veth22222222"])
        records = {"dut1": {"fields": {"nic": {"interfaces": {"value": ends}}}}}
        evidence = {
            "attachments": [
                {"network": "bridge", "interface": {"name": f"net{side}"}, "host_side": {"name": name}}
                for side, name in enumerate(("veth11111111", "veth22222222"))
            ]
        }
        assert drawn_names(evidence, records) == {
            "veth11111111": "(host end 0)",
            "veth22222222": "(host end 1)",
            own: "(container end 0 of dut1)",
        }
