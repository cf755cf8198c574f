"""Paths to many destination networks: a route for each at every router, frames to several, nothing stays."""

import ipaddress
from dataclasses import replace

import pytest
from tests.contract.deploying import all_seen, bed_in, cell_on, embedded
from tests.contract.paths_support import PacketTester
from tests.needs import able, needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.addresses import BEHIND, consecutive
from bmwg.methodology.records import VM, Cell

pytestmark = [pytest.mark.root, needs_cni]


@pytest.fixture(scope="module")
def wide_bed(tmp_path_factory):
    """A bed whose paths lead to 256 networks behind each port."""
    folder = tmp_path_factory.mktemp("wide")
    with bed_in(folder, embedded(io="af_xdp"), destination_networks=256) as opened:
        yield opened


@pytest.mark.parametrize(
    ("cell", "places"),
    [
        (cell_on("node"), {"dut1": 2}),
        (cell_on("pvp", "bridge"), {"pod": 2}),
        (cell_on("pvp", "ptp"), {"dut1": 4, "pod": 2}),
        (cell_on("pvp", "macvlan"), {"pod": 2}),
        pytest.param(  # a translated guest boots for half a minute, and its switch polls a CPU
            replace(cell_on("pvp-vm-vhost-user", "ovs-dpdk"), hosting=VM),
            {"machine": 2},
            marks=[pytest.mark.slow, pytest.mark.quiet],
        ),
    ],
    ids=lambda value: value.cell_id if isinstance(value, Cell) else "",
)
def test_every_router_of_a_path_has_a_route_for_each_network_and_none_stays(wide_bed, cell, places):
    bed = wide_bed
    driver = able(path_driver(replace(cell, destination_networks=256), bed))
    before = all_seen(bed)
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        evidence = deployment.evidence["destination_networks"]
        for place, ways in places.items():
            mine = [one for one in evidence if one["at"] == place]
            assert len(mine) == 2 * ways  # of both IP versions
            assert all(one["standing"] == 256 for one in mine)
        assert {one["at"] for one in evidence} == set(places)
        for source in (0, 1):
            for version, ipv6 in ((0, False), (1, True)):
                networks = consecutive(BEHIND[1 - source][version], 256)
                for network in (networks[0], networks[100], networks[255]):
                    address = str(ipaddress.ip_network(network)[2])
                    marker = f"from {source} to {address}".encode()
                    came = tester.carry(source, marker, ipv6=ipv6, frame_octets=128, to=address)
                    assert came is not None, f"{marker!r} did not come through"
    assert all_seen(bed) == before


@pytest.mark.parametrize(
    "cell",
    [cell_on("pvp", "bridge", "testpmd"), cell_on("p2p", "bridge"), cell_on("p2p-underlay", "bridge")],
    ids=lambda cell: cell.cell_id,
)
def test_paths_that_look_at_no_address_are_not_assessed_for_many_networks(wide_bed, cell):
    found = path_driver(replace(cell, destination_networks=256), wide_bed).probe()
    assert "256 destination networks" in found.what
    one = path_driver(cell, wide_bed).probe()
    assert one is None or "networks" not in one.what
