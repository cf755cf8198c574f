"""Interfaces that a host lends: which ones it does not, and what is said of one that is lost. Real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces, lab_port, routing
from bmwg.methodology.errors import TestbedError

pytestmark = pytest.mark.root


@pytest.fixture
def pair() -> Iterator[tuple[NamespaceNode, NamespaceNode]]:
    """Two hosts with a cable between `eth1` and `eth1`."""
    with NamespaceNode("near") as near, NamespaceNode("far") as far:
        links.connect(near, "eth1", far, "eth1")
        yield near, far


def test_a_bare_interface_is_told_as_it_is(pair: tuple[NamespaceNode, NamespaceNode]) -> None:
    near, _ = pair
    found = near.call(lab_port.require_bare, interface="eth1")
    assert (found["kind"], found["up"], found["mtu_octets"]) == ("veth", True, 1500)
    assert found["mac"] == links.mac_of("near", "eth1")


@pytest.mark.parametrize("use", ["address", "ipv6", "route", "host route", "controller", "loopback"])
def test_an_interface_in_use_is_refused_by_its_use(
    pair: tuple[NamespaceNode, NamespaceNode], use: str
) -> None:
    near, _ = pair
    name, said = "eth1", ""
    match use:
        case "address":
            near.call(interfaces.add_address, interface="eth1", address="192.0.2.1/24")
            said = "the address 192.0.2.1/24"
        case "ipv6":
            near.call(interfaces.add_address, interface="eth1", address="2001:db8::1/64")
            said = "the address 2001:db8::1/64"
        case "route":
            near.call(interfaces.add_address, interface="eth1", address="198.18.0.1/24")
            near.call(routing.add_route, destination="default", via="198.18.0.2")
            said = "a default route of IPv4"
        case "host route":
            with_route = {"destination": "203.0.113.0/24", "via": "", "interface": "eth1"}
            near.call(interfaces.up, interface="eth1")
            near.call(routing.add_route, **with_route)
            said = "a route to 203.0.113.0/24"
        case "controller":
            near.call(routing.add_bridge, bridge="br0")
            near.call(routing.set_controller, interface="eth1", controller="br0")
            said = "the controller br0"
        case _:
            name, said = "lo", "the host's loopback"
    with pytest.raises(TestbedError, match="PORT-01") as caught:
        near.call(lab_port.require_bare, interface=name)
    assert said in str(caught.value)


def test_an_interface_that_is_not_there_is_refused_with_the_near_names(
    pair: tuple[NamespaceNode, NamespaceNode],
) -> None:
    with pytest.raises(TestbedError, match="LINK-01") as caught:
        pair[0].call(lab_port.require_bare, interface="eth11")
    assert "eth1" in str(caught.value).partition("found")[2]


def test_a_port_comes_back_as_it_was_or_is_named(pair: tuple[NamespaceNode, NamespaceNode]) -> None:
    near, _ = pair

    def is_up() -> bool:
        return {one["name"]: one["up"] for one in near.call(interfaces.listing)}["eth1"]

    near.call(lab_port.require_returned, interface="eth1", up=False)
    assert not is_up()
    near.call(lab_port.require_returned, interface="eth1", up=True)
    assert is_up()
    near.call(interfaces.delete, interface="eth1")
    with pytest.raises(TestbedError, match="PORT-03"):
        near.call(lab_port.require_returned, interface="eth1", up=True, within_s=0.2)


def test_an_interface_that_ends_with_its_namespaces_is_waited_for_a_second_and_a_device_longer(
    pair: tuple[NamespaceNode, NamespaceNode],
) -> None:
    veth = pair[0].call(lab_port.require_bare, interface="eth1")
    assert lab_port.undo_of(veth) == {"interface": "eth1", "up": True, "within_s": 1.0}
    for kind in ("device", "virtual"):
        assert lab_port.undo_of({**veth, "kind": kind}) == {"interface": "eth1", "up": True}


def test_a_link_and_an_answer_are_waited_for_within_bounds(
    pair: tuple[NamespaceNode, NamespaceNode],
) -> None:
    near, far = pair
    near.call(interfaces.add_address, interface="eth1", address="198.18.0.1/24")
    with pytest.raises(TestbedError, match="PORT-04"):
        near.call(lab_port.require_answer, address="198.18.0.2", within_s=0.3)
    far.call(interfaces.add_address, interface="eth1", address="198.18.0.2/24")
    near.call(lab_port.require_answer, address="198.18.0.2", within_s=10.0)
    near.call(lab_port.wait_for_link, interface="eth1", within_s=10.0)
    far.call(interfaces.down, interface="eth1")
    with pytest.raises(TestbedError, match="PORT-02"):
        near.call(lab_port.wait_for_link, interface="eth1", within_s=0.2)
