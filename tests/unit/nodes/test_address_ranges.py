"""No two parts of the toolkit use the same part of the benchmark ranges."""

from ipaddress import ip_interface, ip_network
from itertools import combinations

import pytest

from bmwg.drivers.api import instance
from bmwg.drivers.kubernetes import cilium, flannel, settings
from bmwg.drivers.openstack.embedded import MANAGEMENT_NETWORK
from bmwg.drivers.paths import addresses
from bmwg.drivers.traffic.embedded import extras
from bmwg.drivers.workload import client_links, nat64, trex_astf
from bmwg.drivers.workload.row_addresses import CLIENTS_SIDE, SERVERS_SIDE

NETWORKS = 256  # RFC2544-12-03
SEGMENTS = {
    **{f"tester port {number}": one for number, one in enumerate(addresses.OUTER)},
    **{f"pod {number}": one for number, one in enumerate(addresses.INNER)},
    **{f"chain {number}": addresses.transit(number) for number in range(64)},
    "underlay": addresses.UNDERLAY,
}


def used(version):
    """All ranges, by name; a name that comes more than once is one user's."""
    for name, segment in SEGMENTS.items():
        yield name, ip_network(segment.subnets[version])
    for side, first in enumerate(addresses.BEHIND):
        for one in addresses.consecutive(first[version], NETWORKS):
            yield f"behind port {side}", ip_network(one)
    yield "management of pods", ip_interface(addresses.management(0)[version]).network
    for name, sides in (("clients", CLIENTS_SIDE), ("origin", SERVERS_SIDE)):
        yield name, ip_network(sides[(4, 6)[version]].network)
    yield "through a NAT64", ip_network((nat64.POOL, nat64.PREFIX)[version])
    if version == 0:
        yield "services", ip_network(settings.SERVICE_NETWORK)
        own = flannel.of_node(0, backend="vxlan", interface="eth0", subnet="")
        yield "flannel's underlay", ip_interface(own.address).network
        agents = cilium.of_node(0, interface="eth0", pods="", router="", store="")
        yield "Cilium's underlay", ip_interface(agents.address).network
        yield "management", ip_network(MANAGEMENT_NETWORK)
        for name, subnet in instance.FORM_NETWORKS.items():
            yield name, ip_network(subnet)
        yield "pods of clients", client_links.NETWORK
        yield "clients that are TRex's", ip_network(trex_astf._CLIENT_NETWORK)


@pytest.mark.parametrize("version", [0, 1], ids=["ipv4", "ipv6"])
def test_no_two_ranges_overlap(version):
    met = [
        (one, other)
        for (one, first), (other, second) in combinations(used(version), 2)
        if one != other and first.overlaps(second)
    ]
    assert met == []


@pytest.mark.parametrize("version", [0, 1], ids=["ipv4", "ipv6"])
def test_all_lie_within_the_benchmark_range(version):
    within = ip_network(("198.18.0.0/15", "2001:2::/48")[version])
    assert [name for name, one in used(version) if not one.subnet_of(within)] == []


def test_routes_that_a_modifier_announces_are_of_no_path():
    announced = extras.rip_update(1)[4:]
    networks = [ip_network((announced[place + 4 : place + 8], 24)) for place in range(0, len(announced), 20)]
    assert len(networks) == extras.UPDATED_NETWORKS
    paths = [ip_network(segment.subnets[0]) for segment in SEGMENTS.values()]
    assert not [one for one in networks for other in paths if one.overlaps(other)]
