"""What an Open vSwitch says of its ports, and how its flows match destinations."""

from bmwg.drivers.network import ovs_words

SAID = """netdev@ovs-netdev:
  lookups: hit:11 missed:1 lost:0
  flows: 2
  port 0: ovs-netdev (tap)
    RX packets:3 errors:0 dropped:0 overruns:0 frame:0
    TX packets:0 errors:0 dropped:5 aborted:0 carrier:0
    collisions:0
    RX bytes:0  TX bytes:0
  port 2: net0-59155cc9 (dpdkvhostuser: configured_rx_queues=1, requested_tx_queues=2)
    RX packets:100 errors:? dropped:0 overruns:? frame:?
    TX packets:70 errors:? dropped:1 aborted:? carrier:?
  port 3: net1-59155cc9 (dpdkvhostuser: configured_rx_queues=1, requested_tx_queues=1)
, could not retrieve stats (Protocol error)  port 4: nic1 (dpdk: mtu=1500)
    RX packets:8 errors:0 dropped:0 overruns:? frame:?
    TX packets:9 errors:0 dropped:0 aborted:? carrier:?
"""


def test_frames_of_a_port_are_those_of_both_directions():
    assert ovs_words.port_frames(SAID) == {"ovs-netdev": 3, "net0-59155cc9": 170, "nic1": 17}


def test_a_flow_matches_each_prefix_by_its_version_or_whatever_comes():
    assert ovs_words.matches([]) == ("",)
    assert ovs_words.matches(["198.19.240.0/28", "2001:2:0:f100::/64"]) == (
        ",ip,nw_dst=198.19.240.0/28",
        ",ipv6,ipv6_dst=2001:2:0:f100::/64",
    )
