"""What a record keeps of a node's packet filter: what is in force, without what is drawn anew each time."""

import json

import pytest

from bmwg.drivers.function.tables import TABLE as TABLE_OF_ONE
from bmwg.drivers.platform_record.collect import assemble
from bmwg.drivers.platform_record.collectors.datapath import _counted, _in_force
from bmwg.methodology.record.facts import facts

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


TABLE = {"family": "ip", "table": "kube-proxy"}
HOOKED = {"chain": {**TABLE, "name": "nat-output", "type": "nat", "hook": "output", "policy": "accept"}}
LEFT = {"chain": {**TABLE, "name": "service-A-run/one/udp/test"}}
RULE = {"rule": {**TABLE, "chain": "service-A-run/one/udp/test", "expr": [{"drop": None}]}}


def test_a_chain_that_a_removed_service_left_empty_is_not_in_force():
    assert _in_force([HOOKED, LEFT, FIXED]) == [HOOKED, FIXED]


def test_an_empty_chain_of_a_hook_is_for_its_policy():
    assert _in_force([HOOKED]) == [HOOKED]


def test_a_chain_with_a_rule_is_and_one_of_its_name_in_another_table_is_not():
    other = {"chain": {**LEFT["chain"], "table": "mine"}}
    assert _in_force([LEFT, other, RULE]) == [LEFT, RULE]


@pytest.mark.parametrize(("further", "alike"), [(LEFT, True), (RULE, False)])
def test_a_record_holds_the_rules_in_force_alone(sample_source, further, alike):
    def recorded(*rules):
        source = sample_source("bare-metal-two-sockets")
        told = json.dumps({"nftables": [{"metainfo": {}}, HOOKED, *rules]})
        source.data["commands"]["nft --json list ruleset"] = {"stdout": told}
        return dict(facts(assemble(source, "machine")["fields"]))["datapath/firewall"]["value"]

    assert (recorded() == recorded(further)) is alike


def test_the_rules_of_a_function_that_is_measured_are_not_listed(sample_source):
    source = sample_source("bare-metal-two-sockets")
    source.data["netlink"]["tables"] = [{"family": "ip", "name": name} for name in ("nat", TABLE_OF_ONE)]
    told = json.dumps({"nftables": [{"metainfo": {}}, HOOKED]})
    source.data["commands"]["nft --json list table ip nat"] = {"stdout": told}
    source.data["commands"].pop("nft --json list ruleset", None)
    assert dict(facts(assemble(source, "machine")["fields"]))["datapath/firewall"]["value"]["rules"] == 1
