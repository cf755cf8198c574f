"""What every provider of machines promises: one list for QEMU, libvirt and OpenStack."""

from __future__ import annotations

import ipaddress
import json
import time
from pathlib import Path

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.api.machines import Machine, MachineIntent
from bmwg.drivers.nodes import programs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces
from bmwg.drivers.undo.ledger import Ledger

NETWORK = "198.18.19.0/24"


def intent(number: int, token: str) -> MachineIntent:
    return MachineIntent(
        number=number,
        name=f"vmp{number}-{token}",
        cpus=1,
        memory_octets=512 << 20,
        nic_model="virtio-net-pci",
        network=NETWORK,
    )


def keeps_its_promises(name: str, node: NamespaceNode, folder: Path, owner: str) -> None:
    """Make two machines, one after the other is gone, and hold them against the protocol."""
    token = owner[-6:]
    place = Place(
        client_address="198.18.1.1",
        client_interface="nic0",
        server_address="198.18.2.1",
        server_interface="nic1",
        token=token,
        owner=owner,
        run_dir=str(folder),
        vms=VmDriver(driver=name),
    )
    ledger = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
    provider = registry.provider(name, node=node, place=place, ledger=ledger, token=f"{token}p")
    assert provider.probe() is None
    assert ledger.pending == ()  # a probe makes nothing
    with provider:
        shared = ledger.pending
        machine = provider.made(intent(0, token))
        assert isinstance(machine, Machine)
        _stands(machine)
        machine.stop()
        machine.stop()
        assert machine.fault() is not None
        assert ledger.pending == shared
        second = provider.made(intent(1, token))  # what the first was called and had is free again
        _stands(second)
        json.dumps(dict(provider.describe()))
        assert provider.root in ("host", "image")
        second.stop()
    assert ledger.pending == ()


def _stands(machine: Machine) -> None:
    (endpoint,) = machine.endpoints
    assert ipaddress.IPv4Address(endpoint.address) in ipaddress.IPv4Network(NETWORK)
    assert machine.fault() is None
    inside = machine.call_within(60.0, interfaces.listing)
    assert endpoint.mac in {one["mac"] for one in inside}
    before = machine.sample()
    machine.call_within(60.0, programs.available, programs={"true": "coreutils"})
    after = machine.sample()
    assert after.cpu_ns > before.cpu_ns
    assert after.at_ns > before.at_ns
    assert 32 << 20 < after.memory_octets < 4 << 30
    told = machine.describe()
    assert told["kind"]
    assert told["accelerator"] in ("kvm", "tcg")
    assert told["cpus"] == 1
    assert 256 << 20 <= told["memory_octets"] <= 512 << 20
    json.dumps(dict(told))
    assert time.monotonic_ns() > after.at_ns
