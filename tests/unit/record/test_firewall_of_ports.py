"""Rules that Neutron makes for a port differ at each deployment, and hide no change of the others."""

from bmwg.drivers.record.collectors.datapath import _counted

FIXED = {"rule": {"chain": "FORWARD", "expr": ["accept"]}}


def port(number):
    return {"rule": {"chain": f"neutron-linuxbri-i{number:08x}-f", "expr": [f"198.18.24.{number}"]}}


def test_two_ports_of_one_kind_are_recorded_alike():
    assert _counted([FIXED, port(1)]) == _counted([FIXED, port(2)])
    assert _counted([FIXED, {"chain": {"name": "neutronARP-tap0a0b0c0d-ee"}}])["of_ports"] == 1


def test_another_rule_or_another_number_of_ports_is_a_change():
    assert _counted([FIXED, port(1)]) != _counted([{"rule": {"chain": "FORWARD", "expr": ["drop"]}}, port(1)])
    assert _counted([FIXED, port(1)]) != _counted([FIXED, port(1), port(2)])


def test_rules_without_ports_are_recorded_as_before():
    assert set(_counted([FIXED])) == {"rules", "sha256"}
    assert _counted([]) == {"rules": 0}
