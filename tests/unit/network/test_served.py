"""The ends of a path between a client and a server: what they had no address before, they have none after."""

from __future__ import annotations

import pytest

from bmwg.drivers.paths import served
from bmwg.drivers.paths.addresses import ENDPOINTS
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import TestbedError


class Node:
    """A node whose interface takes addresses until one is refused."""

    def __init__(self, refused=(), kept=()):
        self.addresses, self.refused, self.kept = set(), refused, kept

    def call(self, function, *, interface, address):
        adds = function is interfaces.add_address
        if address in (self.refused if adds else self.kept):
            raise TestbedError("LINK-02", f"{address} of {interface}", found="EPERM")
        (self.addresses.add if adds else self.addresses.discard)(address)


def test_an_interface_has_the_addresses_of_its_end_meanwhile():
    node = Node()
    with served.addressed(node, "nic0", 1):
        assert node.addresses == set(ENDPOINTS[1])
    assert node.addresses == set()


@pytest.mark.parametrize("bad", [0, 1])
@pytest.mark.parametrize("which", ["refused", "kept"])
def test_one_address_that_is_refused_leaves_no_other_on_the_interface(which, bad):
    """Else a later path of the run, which has this interface in a bridge, would be answered by the node."""
    node = Node(**{which: (ENDPOINTS[1][bad],)})
    with pytest.raises(TestbedError, match="LINK-02"), served.addressed(node, "nic0", 1):
        pass
    assert ENDPOINTS[1][1 - bad] not in node.addresses
