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


def test_frames_of_all_threads_are_summed_and_none_is_no_zero():
    one = "pmd thread numa_id 0 core_id 1:\n  packets received: 16000\n  packet recirculations: 0\n"
    assert ovs_words.received(one + "main thread:\n  packets received: 3\n") == 16003
    assert ovs_words.received("") is None


def test_hits_of_each_cache_are_summed_over_threads_and_a_silent_switch_has_none():
    one = "pmd thread numa_id 0 core_id 1:\n  emc hits: 7\n  smc hits: 0\n  megaflow hits: 2\n"
    assert ovs_words.hits(one + one) == {"emc_hits": 14, "smc_hits": 0, "megaflow_hits": 4}
    assert ovs_words.hits("") == {}
