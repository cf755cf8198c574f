"""How the flows of an Open vSwitch match destinations."""

from bmwg.drivers.network import ovs_words


def test_a_flow_matches_each_prefix_by_its_version_or_whatever_comes():
    assert ovs_words.matches([]) == ("",)
    assert ovs_words.matches(["198.19.240.0/28", "2001:2:0:f100::/64"]) == (
        ",ip,nw_dst=198.19.240.0/28",
        ",ipv6,ipv6_dst=2001:2:0:f100::/64",
    )


def test_upcalls_of_all_threads_are_summed_and_a_silent_switch_has_none():
    one = "pmd thread numa_id 0 core_id 1:\n  miss with success upcall: 2\n  miss with failed upcall: 20\n"
    main = "main thread:\n  miss with success upcall: 1\n  miss with failed upcall: 0\n"
    assert ovs_words.upcalls(one + main) == (3, 20)
    assert ovs_words.upcalls("") is None
    assert ovs_words.upcalls("  miss with success upcall: 2\n") is None  # of another version


SHOWN = """netdev@ovs-netdev:
  lookups: hit:39 missed:2 lost:0
  flows: 2
  port 0: ovs-netdev (tap)
    RX packets:7 errors:0 dropped:0 overruns:0 frame:0
    TX packets:? errors:? dropped:? aborted:? carrier:?
    collisions:0
    RX bytes:0  TX bytes:0
  port 1: vhost0 (dpdkvhostuser: configured_rx_queues=1, configured_tx_queues=1, mtu=1500)
    RX packets:21 errors:0 dropped:0 overruns:? frame:?
    TX packets:20 errors:0 dropped:1 aborted:? carrier:?
    RX bytes:1260  TX bytes:1200 (1.2 KiB)
"""


def test_frames_of_a_port_are_those_that_it_took_and_gave():
    assert ovs_words.frames(SHOWN) == {"ovs-netdev": 7, "vhost0": 41}
    assert ovs_words.frames("no datapath") == {}
