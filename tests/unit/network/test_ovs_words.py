"""How the flows of an Open vSwitch match destinations."""

from bmwg.drivers.network import ovs_words


def test_a_flow_matches_each_prefix_by_its_version_or_whatever_comes():
    assert ovs_words.matches([]) == ("",)
    assert ovs_words.matches(["198.19.240.0/28", "2001:2:0:f100::/64"]) == (
        ",ip,nw_dst=198.19.240.0/28",
        ",ipv6,ipv6_dst=2001:2:0:f100::/64",
    )
