"""Two compute hosts, a node each: a server boots on each, and one on the second forwards frames both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.paths_support import PacketTester
from tests.openstack.support import needs_cloud, strays

from bmwg.drivers.api.machines import MachineIntent
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import VM, Cell

pytestmark = needs_cloud
ROOT = Path(__file__).resolve().parents[2]
CELL = Cell(path="pvp-vm", hosting=VM, function="kernel-l3", network="none", frame_octets=64)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("run")
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    testbed = load_testbed(ROOT / "testbeds" / "openstack-two-hosts.yaml")
    testbed = replace(testbed, tester=replace(testbed.tester, io="af_packet"))
    with open_bed(testbed, ledger, folder, machines=True) as opened:
        assert [entry.kind for entry in ledger.pending] == ["cloud", "cloud"]
        yield opened
    assert ledger.pending == ()
    assert strays(str(folder)) == []


def commanded(number: int, host: str) -> MachineIntent:
    """A server that is commanded over the management network and has no other."""
    return MachineIntent(
        number=number,
        name=f"on-{host}",
        cpus=1,
        memory_octets=512 << 20,
        nic_model="virtio-net-pci",
        network="",
        host=host,
    )


def test_frames_go_through_a_server_on_the_second_host(bed: Bed) -> None:
    with path_driver(CELL, bed).deploy() as deployment, PacketTester(deployment.ports) as tester:
        for source in (0, 1):
            for ipv6 in (False, True):
                for frame_octets in (96, 1468):
                    marker = f"from {source} v{ipv6}".encode()
                    came = tester.carry(source, marker, ipv6=ipv6, frame_octets=frame_octets)
                    assert came is not None, (source, ipv6, frame_octets)
        evidence = json.loads(json.dumps(deployment.evidence))
    assert evidence["host"] == "dut2"
    assert evidence["machine"]["compute_host"] == "cloud2"
    assert evidence["provider"]["cloud"]["hosts"] == {"dut1": "cloud", "dut2": "cloud2"}
    platform = evidence["provider"]["cloud"]["platform"]
    assert [one["state"] for one in platform["hypervisors"]] == ["up", "up"]
    assert [one["alive"] for one in platform["network_agents"]] == [True, True]
    print(
        json.dumps(evidence["machine"]["boot_phases_s"]),
        json.dumps(evidence["provider"]["cloud"]["start_steps"]),
    )


@pytest.mark.parametrize(("number", "host", "name"), [(1, "dut1", "cloud"), (2, "dut2", "cloud2")])
def test_a_server_boots_on_each_host(bed: Bed, number: int, host: str, name: str) -> None:
    machine = bed.machines.made(commanded(number, host))
    try:
        assert machine.describe()["compute_host"] == name
        assert machine.fault() is None
        assert machine.sample().memory_octets > 0
        print(host, json.dumps(machine.phases_s))  # type: ignore[attr-defined]
    finally:
        machine.stop()


def test_a_node_that_is_no_compute_host_is_named_and_nothing_is_made(bed: Bed) -> None:
    with pytest.raises(TestbedError) as refused:
        bed.machines.made(commanded(3, "dut3"))
    assert refused.value.error_id == "CLOUD-15"
    workshop = bed.machines.workshop  # type: ignore[attr-defined]
    assert workshop.client.call("servers", lambda sdk: [one.name for one in sdk.compute.servers()]) == []
