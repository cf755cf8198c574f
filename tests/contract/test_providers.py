"""QEMU and libvirt as providers of machines (OpenStack: tests/openstack)."""

from pathlib import Path

import pytest
from tests.contract.guest_support import fresh_owner, needs_guest, qemus
from tests.contract.http_support import needs_libvirt
from tests.contract.provider_promises import keeps_its_promises

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.places.machine import VmHosting
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import ConfigError

PROVIDERS = [
    pytest.param("qemu", marks=needs_guest),
    pytest.param("libvirt", marks=[*needs_guest, needs_libvirt]),
]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_keeps_its_promises(name: str, tmp_path: Path) -> None:
    with fresh_owner() as owner, NamespaceNode("proxy", owner=owner) as node:
        keeps_its_promises(name, node, tmp_path, owner)
        assert qemus(owner) == []


def test_providers_are_found_by_name() -> None:
    assert {"qemu", "libvirt", "openstack"} <= set(registry.names(registry.PROVIDER))


def test_a_provider_that_nobody_offers_is_named_with_a_near_one(tmp_path: Path) -> None:
    place = Place(
        client_address="198.18.1.1",
        client_interface="nic0",
        server_address="198.18.2.1",
        server_interface="nic1",
        token="t",
        owner="",
        run_dir=str(tmp_path),
        vms=VmDriver(driver="openstak"),
    )
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    with pytest.raises(ConfigError) as refused:
        VmHosting(form="vm_para", node=NamespaceNode("n"), place=place, ledger=ledger)
    assert refused.value.error_id == "DRIVER-01"
    assert "did you mean 'openstack'?" in str(refused.value)
