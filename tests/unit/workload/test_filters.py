"""The rule sets of RFC 2544 section 11.4 as text."""

from bmwg.drivers.workload import filters

PAIR = ["198.18.0.2", "198.19.0.2"]


def test_the_last_of_25_rules_lets_the_test_frames_through():
    lines = [line.strip() for line in filters.rule_set([PAIR], 25).splitlines() if "counter" in line]
    assert len(lines) == 26
    assert all(line.endswith("counter drop") for line in lines[:24])
    assert not any(PAIR[0] in line.split() for line in lines[:24])
    assert len(set(lines[:24])) == 24
    assert lines[24] == 'ip saddr 198.18.0.2 ip daddr 198.19.0.2 counter accept comment "test frames"'
    assert lines[25] == 'counter drop comment "all else"'


def test_one_rule_stands_alone_and_takes_either_family():
    lines = filters.rule_set([["2001:2::2", "2001:2:0:1::2"]], 1).splitlines()
    assert sum("accept comment" in line for line in lines) == 1
    assert any(line.strip().startswith("ip6 saddr 2001:2::2") for line in lines)
