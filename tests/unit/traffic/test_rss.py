"""The Toeplitz hash against the vectors that Microsoft publishes, and what follows from it."""

import ipaddress

import pytest

from bmwg.drivers.traffic.embedded.rss import Rss, read_rss, source_ports, steered, toeplitz, tuple_octets
from bmwg.methodology.errors import DriverError

# "Verifying the RSS hash calculation", Windows hardware developer documentation: key and test suites.
KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
VECTORS = [  # destination and its port, source and its port, hash of the addresses, hash with the ports
    ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323E8FC2, 0x51CCC178),
    ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xD718262A, 0xC626B0EA),
    ("12.22.207.184", 38024, "24.19.198.95", 12898, 0xD2D0A5DE, 0x5C2B394A),
    ("209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xAFC7327F),
    ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2CC18CD5, 0x40207D3D),
    ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0F0C461C, 0xDDE51BBF),
    (
        "fe80::200:f8ff:fe21:67cf",
        38024,
        "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
        44251,
        0x4B61E985,
        0x02D1FEEF,
    ),
]
NIC = Rss(key=KEY, table=tuple(n % 4 for n in range(128)), ipv4=True, ipv6=True)
V4 = ("198.18.0.2/24", "198.18.1.2/24")
V6 = ("2001:2::2/64", "2001:2:0:1::2/64")


@pytest.mark.parametrize("vector", VECTORS)
def test_the_hash_is_that_of_the_published_vectors(vector):
    to, to_port, source, source_port, of_addresses, with_ports = vector
    octets = tuple_octets(source, to, source_port, to_port)
    assert toeplitz(KEY, octets) == with_ports
    assert toeplitz(KEY, octets[:-4]) == of_addresses


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize(("lanes", "flows"), [(4, 4), (4, 256), (2, 2), (1, 7), (4, 8_000)])
def test_each_lanes_frames_come_to_its_own_queue(ends, lanes, flows):
    nic = Rss(key=KEY, table=tuple(n % lanes for n in range(128)), ipv4=True, ipv6=True)
    found = source_ports(nic, *ends, lanes=lanes, flows=flows)
    assert found is not None
    every = [port for ports in found for port in ports]
    assert len(set(every)) == len(every) == flows
    assert all(0xC020 <= port <= 65535 for port in every)
    for lane, ports in enumerate(found):
        assert len(ports) == flows // lanes
        for port in ports[:64]:
            octets = tuple_octets(*ends, port, 7)
            assert nic.table[toeplitz(KEY, octets) % 128] == lane


@pytest.mark.parametrize(
    "impossible",
    [
        {"flows": 3},  # a flow would be in two lanes
        {"flows": 1},
        {"nic": Rss(key=KEY, table=(0, 1, 2), ipv4=True, ipv6=False)},  # nothing comes to queue 3
        {"nic": Rss(key=KEY, table=NIC.table, ipv4=False, ipv6=True)},
        {"nic": Rss(key=KEY[:12], table=NIC.table, ipv4=True, ipv6=True)},
    ],
)
def test_what_cannot_be_steered_is_left_to_the_device(impossible):
    asked = {"nic": NIC, "flows": 64} | impossible
    assert source_ports(asked["nic"], *V4, lanes=4, flows=asked["flows"]) is None


def test_both_directions_are_steered_or_none():
    lists = steered([(V4[0], NIC), (V4[1], NIC)], lanes=4, flows=8)
    assert lists is not None
    assert [len(stream) for stream in lists] == [4, 4]
    assert lists[0] == source_ports(NIC, V4[0], V4[1], lanes=4, flows=8)
    assert lists[1] == source_ports(NIC, V4[1], V4[0], lanes=4, flows=8)
    assert steered([(V4[0], NIC), (V4[1], None)], lanes=4, flows=8) is None


def test_what_the_tester_tells_is_read_and_nonsense_is_named():
    told = {"key": KEY.hex(), "table": [0, 1], "ipv4": True, "ipv6": False}
    assert read_rss(told) == Rss(key=KEY, table=(0, 1), ipv4=True, ipv6=False)
    assert read_rss(None) is None
    for wrong in ({}, told | {"key": "zz"}, told | {"key": ""}, told | {"table": [-1]}, told | {"table": []}):
        with pytest.raises(DriverError, match="TST-14"):
            read_rss(wrong)


def test_addresses_are_hashed_as_they_stand_in_the_frame():
    octets = tuple_octets(*V4, 0xC020, 7)
    assert octets == bytes((198, 18, 0, 2, 198, 18, 1, 2, 0xC0, 0x20, 0, 7))
    assert len(tuple_octets(*V6, 1, 2)) == 36
    assert ipaddress.ip_address(octets[:4]) == ipaddress.ip_interface(V4[0]).ip
