import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmwg.drivers.network.results import KNOWN_VERSIONS, convert, problems

MODERN = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "net0", "sandbox": "/proc/1/ns/net"}],
    "ips": [
        {"address": "198.18.0.1/24", "gateway": "198.18.0.254", "interface": 0},
        {"address": "2001:2::1/64", "interface": 0},
    ],
    "routes": [{"dst": "0.0.0.0/0", "gw": "198.18.0.254"}],
    "dns": {},
}


def test_every_version_passes_its_own_check():
    for version in KNOWN_VERSIONS:
        assert problems(convert(MODERN, version), version) == []


@given(st.sampled_from(KNOWN_VERSIONS[2:]), st.sampled_from(KNOWN_VERSIONS[2:]))
def test_versions_with_interfaces_lose_nothing_on_the_way(first, second):
    there = convert(convert(MODERN, first), second)
    assert convert(there, "1.0.0") == MODERN


def test_flat_versions_keep_one_address_of_each_kind_and_its_routes():
    flat = convert(MODERN, "0.2.0")
    assert flat["ip4"] == {
        "ip": "198.18.0.1/24",
        "gateway": "198.18.0.254",
        "routes": [{"dst": "0.0.0.0/0", "gw": "198.18.0.254"}],
    }
    assert flat["ip6"] == {"ip": "2001:2::1/64"}
    back = convert(flat, "1.0.0")
    assert [item["address"] for item in back["ips"]] == ["198.18.0.1/24", "2001:2::1/64"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ([], "expected an object"),
        ({}, "cniVersion"),
        ({"cniVersion": "3.0"}, "cniVersion"),
        ({"cniVersion": "1.0.0", "ips": [{"address": "198.18.0.1"}]}, "ips[0].address"),
        ({"cniVersion": "1.0.0", "ips": [{"address": "198.18.0.1/24", "interface": 3}]}, "ips[0].interface"),
        ({"cniVersion": "1.0.0", "interfaces": [{}]}, "interfaces[0].name"),
        ({"cniVersion": "1.0.0", "interfaces": "x"}, "interfaces"),
        ({"cniVersion": "1.0.0", "routes": [{"dst": 7}]}, "routes[0].dst"),
        ({"cniVersion": "0.2.0", "ip4": {}}, "ip4.ip"),
    ],
)
def test_unsound_results_are_named_by_place(result, said):
    assert any(said in line for line in problems(result, "1.0.0"))
