"""Frames beside the stream: what a router must be able to read, octet by octet."""

import ipaddress
import struct

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded import extras
from bmwg.methodology.errors import ConfigError

PORT = TesterPort(
    name="p0",
    io="af_xdp",
    device="p0",
    mac="02:00:00:00:00:01",
    ipv4="198.18.0.2/24",
    gateway_ipv4="198.18.0.1",
)
GATEWAY = "02:00:00:00:00:02"


def ipv4_sum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_a_query_is_snmp_for_the_gateway_once_a_second():
    (entry,) = extras.extras("management", PORT, GATEWAY, 1)
    frame = bytes.fromhex(entry["octets"])
    assert (entry["interval_s"], entry["answers_from"]) == (1.0, 161)
    assert frame[:12].hex() == "020000000002020000000001"
    assert ipv4_sum(frame[14:34]) == 0xFFFF
    assert ipaddress.ip_address(frame[30:34]) == ipaddress.ip_address("198.18.0.1")
    assert struct.unpack("!H", frame[36:38]) == (161,)
    payload = frame[42:]
    assert payload[0] == 0x30
    assert payload[1] == len(payload) - 2
    assert b"public" in payload


def test_updates_have_two_states_in_turn_and_no_network_of_the_test():
    first, second = extras.extras("route-updates", PORT, GATEWAY, 0)
    assert first["octets"] != second["octets"]
    assert (first["after_s"], second["after_s"], first["interval_s"]) == (0.0, 30.0, 60.0)
    swapped = extras.extras("route-updates", PORT, GATEWAY, 1)  # after one update
    assert [entry["octets"] for entry in swapped] == [second["octets"], first["octets"]]
    assert extras.states([1, 1], 0) == {
        "modifier.first_state": 1,
        "modifier.updates_1_frames": 1,
        "modifier.updates_2_frames": 1,
    }
    assert extras.states([2, 1], 3)["modifier.updates_1_frames"] == 1
    assert extras.states([], 0) == {}
    message = bytes.fromhex(first["octets"])[42:]
    assert message[:2] == b"\x02\x02"
    networks = {ipaddress.ip_address(message[at + 4 : at + 8]) for at in range(4, len(message), 20)}
    assert len(networks) == 25
    assert not networks & {ipaddress.ip_address("198.18.0.0"), ipaddress.ip_address("198.19.0.0")}


def test_no_modifier_sends_nothing_and_a_port_without_address_is_refused():
    assert extras.extras(None, PORT, GATEWAY, 1) == []
    assert extras.extras("filters-1", PORT, GATEWAY, 1) == []
    bare = TesterPort(name="p0", io="af_xdp", device="p0", mac=PORT.mac)
    with pytest.raises(ConfigError, match="TST-24"):
        extras.extras("management", bare, GATEWAY, 1)
