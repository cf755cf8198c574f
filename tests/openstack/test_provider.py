"""OpenStack keeps the promises of every provider of machines."""

from pathlib import Path

from tests.contract.guest_support import fresh_owner
from tests.contract.provider_promises import keeps_its_promises
from tests.openstack.support import needs_cloud, strays

from bmwg.drivers.nodes.namespace import NamespaceNode

pytestmark = needs_cloud


def test_openstack_keeps_its_promises(tmp_path: Path) -> None:
    with fresh_owner() as owner, NamespaceNode("proxy", owner=owner) as node:
        keeps_its_promises("openstack", node, tmp_path, owner)
    assert strays(str(tmp_path)) == []
