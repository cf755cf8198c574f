"""Rule sets of functions as text: how many rules there are, and which of them a test frame meets last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.drivers.api.protocols import KernelFunction
from bmwg.drivers.function import rules, testpmd
from bmwg.drivers.function.firewall import Firewall
from bmwg.drivers.function.kernel_l3 import KernelL3
from bmwg.drivers.function.nat44 import FIRST_PORT, LAST_PORT, Nat44, no_room
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.p2p_service import ServicePath
from bmwg.drivers.paths.pvp_service import RelayedPath
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.trial_limits import FLOWS_OF_ONE_PORT

INTERFACES = ("net0", "net1")


def bed(tmp_path, **functions):
    return Bed(replace(load_testbed(), functions=functions), None, tmp_path)


def chain(text, name):
    lines = "\n".join(text).split(f" chain {name} {{\n", 1)[1].split("\n }", 1)[0].splitlines()
    return [line.strip() for line in lines[1:]]  # the first is its hook


@pytest.mark.parametrize("number", [1, 2, 10, 1000])
def test_a_list_has_so_many_rules_and_the_last_lets_test_frames_through(number):
    found = chain(rules.firewall(number, "list", INTERFACES), "rules")
    *blocking, passing, rest = found
    assert len(blocking) + 1 == number
    assert len(set(blocking)) == number - 1
    assert all(one.endswith("drop") and "dport 7 " not in one for one in blocking)
    assert passing.startswith("udp dport 7 ")
    assert passing.endswith("accept")
    assert rest.endswith("drop")


def test_no_rule_before_the_last_names_a_source_that_a_test_frame_has():
    blocking = chain(rules.firewall(50_000, "list", INTERFACES), "rules")[:-2]
    assert {one.split()[2].rsplit(".", 2)[0] for one in blocking} == {"198.18"}
    assert all(64 <= int(one.split()[2].split(".")[2]) < 128 for one in blocking)


def test_a_set_has_the_same_rules_as_elements_and_is_looked_up_once():
    text = list(rules.firewall(1000, "set", INTERFACES))
    assert sum(" . 198.19.64.9 . " in line for line in text) == 999
    assert len(chain(text, "rules")) == 3


def test_each_direction_has_counters_of_its_own():
    text = "\n".join(rules.firewall(2, "list", INTERFACES))
    for what in ("offered_frames", "passed_frames"):
        assert f'"net0" : "{what}.forward", "net1" : "{what}.reverse"' in text


def test_what_leaves_a_nat44_untranslated_is_dropped():
    text = list(rules.nat44("198.19.0.1", (50_000, 50_009), *INTERFACES))
    passing, rest = chain(text, "translated")
    assert "ip saddr 198.19.0.1 udp sport 50000-50009" in passing
    assert passing.endswith("accept")
    assert rest == "udp dport 7 counter name dropped_frames drop"


@pytest.mark.parametrize(
    ("function", "settings", "said"),
    [
        (Firewall, {}, "functions.firewall.rules"),
        (Firewall, {"rules": 0}, "1..1000000"),
        (Firewall, {"rules": "10"}, "'10'"),
        (Firewall, {"rules": True}, "True"),
        (Firewall, {"rules": 10, "lookup": "lst"}, "did you mean 'list'"),
        (Firewall, {"rules": 10, "rule": 3}, "did you mean 'rules'"),
        (Nat44, {"ports": "1024-65535"}, "49184-65535"),
        (Nat44, {"ports": "60000-50000"}, "a range"),
        (Nat44, {"ports": 50_000}, "a range"),
        (Nat44, {"port": "50000-50001"}, "did you mean 'ports'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_place(tmp_path, function, settings, said):
    with pytest.raises(ConfigError, match=said) as caught:
        function(bed(tmp_path, **{function.name: settings}))
    assert caught.value.error_id == "FUNC-01"


def test_functions_of_a_kernel_can_be_a_nodes_and_a_program_cannot(tmp_path):
    able = bed(tmp_path, firewall={"rules": 1})
    assert all(isinstance(one(able), KernelFunction) for one in (KernelL3, Firewall, Nat44))
    assert not isinstance(testpmd.Testpmd(able), KernelFunction)


@pytest.mark.parametrize(
    ("flows", "size", "said"),
    [
        (10, None, None),
        (10, 10, None),
        (11, None, "ports 50000-50009 are 10"),
        (10, 9, "the kernel keeps 9 connections"),
    ],
)
def test_too_few_ports_and_a_full_table_are_named(flows, size, said):
    missing = no_room(flows, (50_000, 50_009), size)
    assert missing is None if said is None else said in missing.reason


def test_by_default_a_nat44_has_every_port_that_a_tester_knows():
    assert no_room(LAST_PORT - FIRST_PORT + 1, (FIRST_PORT, LAST_PORT), None) is None


@pytest.mark.parametrize("kind", ["firewall", "relay", "service"])
def test_flows_to_other_destination_ports_are_refused_where_test_frames_are_known_by_one(tmp_path, kind):
    """A tester of more flows than one port has sends the rest to other ports, which would all be lost."""
    asked = Cell(path="node", hosting="baremetal", function="firewall", network="none", frame_octets=64)
    many = replace(asked, flows=FLOWS_OF_ONE_PORT + 1)
    if kind == "firewall":
        one = Firewall(bed(tmp_path, firewall={"rules": 1}))
        assert one.unfit(replace(asked, flows=FLOWS_OF_ONE_PORT)) is None
        missing = one.unfit(many)
    else:
        path = object.__new__(RelayedPath if kind == "relay" else ServicePath)
        path._cell, path._bed = many, bed(tmp_path)
        missing = path.probe()
    assert missing is not None
    assert "destination ports" in missing.reason
