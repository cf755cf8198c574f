"""Runs whose deployments clause rules judged wrongly: what one tells is not told of another."""

from __future__ import annotations

import copy
from typing import Any

import cases_chains
import cases_models
import pytest
from cases_clusters import CLUSTER
from cases_models import COMBINED, SWITCH
from cases_others import GOOD, ISOLATED
from cases_rfc9004 import SEVEN
from cases_rights import granted, made
from foreign import Change, header, said
from runs import BURSTS, TPUT, run
from wrongly import plan_of, renumbered, told

TWO = plan_of({}, {"function": "kernel-l3"})


def first_alone(evidence: dict[str, Any]) -> Change:
    """Let the first deployment of pods have told this, and the others nothing."""

    def change(data: dict[str, Any], journal: list[dict[str, Any]], platform: dict[str, Any]) -> None:
        names = dict.fromkeys(one["deployment"] for one in journal if one["cell"].startswith("pvp/"))
        assert len(names) == 2
        platform["deployments"][next(iter(names))].update(copy.deepcopy(evidence))

    return change


@pytest.mark.parametrize(
    ("row", "evidence"),
    [
        ("CINF08-5.1-02", CLUSTER),
        ("CINF08-5.2.1-03", CLUSTER),
        ("CINF08-5.1.2.1-02", SWITCH),
        ("CINF08-5.1.2.1-03", SWITCH),
        ("CINF08-5.1.2.1-05", SWITCH),
        ("CINF08-5.1.2.1-06", SWITCH),
        ("CINF08-5.2.2-03", SWITCH),
        ("CINF08-5.2.4-05", SWITCH),
        ("CINF08-5.2.4-06", SWITCH),
        ("CINF08-5.1.2.4-01", COMBINED),
    ],
)
def test_what_one_deployment_tells_is_not_told_of_the_other(row, evidence) -> None:
    assert told(said(TWO, cases_models.deployed(evidence)), row) == "met"
    assert told(said(TWO, first_alone(evidence)), row) == "not_met"


def test_a_word_is_no_version() -> None:
    words = ["ovs-vswitchd-dpdk (Open vSwitch) 3.1.0", "DPDK not built in"]
    changed = cases_models.deployed(SWITCH, "network", "vswitch", "supported_versions", value=words)
    assert told(said(cases_models.POD, changed), "CINF08-5.1.2.1-03") == "not_met"


def test_a_port_without_a_name_is_none_of_the_switchs() -> None:
    evidence = copy.deepcopy(SWITCH)
    evidence["attachments"][1]["mapping"]["vswitch_port"] = None
    evidence["attachments"][1]["vswitch"]["pollers"][0]["queues"][0]["port"] = None
    changed = cases_models.deployed(evidence)
    assert told(said(cases_models.POD, changed), "CINF08-5.1.2.1-05") == "not_met"


def test_each_receive_queue_of_a_nic_has_a_core() -> None:
    queues = [*SWITCH["attachments"][1]["vswitch"]["pollers"][0]["queues"]]
    lost = {"cpu": None, "numa_node": 0, "queues": [{"port": "nic1", "queue": 1, "enabled": True}]}
    pollers = [lost, {"cpu": 1, "numa_node": 0, "queues": queues}]
    changed = cases_models.deployed(SWITCH, "attachments", 1, "vswitch", "pollers", value=pollers)
    assert told(said(cases_models.POD, changed), "CINF08-5.2.4-06") == "not_met"


def test_a_deployment_without_interfaces_combines_nothing() -> None:
    def first_bare(data, journal, platform):
        names = dict.fromkeys(one["deployment"] for one in journal if one["cell"].startswith("pvp/"))
        platform["deployments"][next(iter(names))]["attachments"] = []

    changed = said(TWO, cases_models.deployed(COMBINED), first_bare)
    assert told(changed, "CINF08-5.1.2.4-01") == "not_met"


def without_cell(cell: str) -> Change:
    """Leave out what a cell was asked and answered."""

    def change(data, journal, platform):
        data["outcomes"] = [one for one in data["outcomes"] if one["cell"]["cell_id"] != cell]
        journal[:] = [one for one in journal if one["cell"] != cell]
        renumbered(data, journal)

    return change


def test_the_directions_of_other_networks_are_not_those_of_a_combination() -> None:
    ways = plan_of({"networks": ["bridge", "ptp"]}, traffic={"directions": ["forward", "both"]})

    def combined(data, journal, platform):
        for name, told_of in platform["deployments"].items():
            told_of.update(
                copy.deepcopy(COMBINED if "-bridge-" in name else {"network": {"networking_model": "kernel"}})
            )

    one_way = without_cell("pvp/pod/testpmd/bridge/64/both")
    assert told(said(ways, one_way, combined), "CINF08-5.1.2.4-03") == "met"
    assert told(said(ways, combined), "CINF08-5.1.2.4-03") == "not_met"


def test_a_chain_is_attached_by_the_option_of_its_cell() -> None:
    other = cases_chains.deployed()

    def change(data, journal, platform):
        other(data, journal, platform)
        for one in platform["deployments"].values():
            one["network"] = {"network": "ptp", "driver": "cni"}
            one["attachments"] = [{**each, "network": "ptp"} for each in one["attachments"]]

    assert told(said(cases_chains.CHAIN, change), "CINF08-5.2.6-04") == "not_met"


@pytest.mark.parametrize("row", [*ISOLATED])
def test_a_node_that_the_run_made_leads_on_by_its_other_cables(row) -> None:
    def further(data):
        data["testbed"]["nodes"]["host"] = {"kind": "ssh"}
        data["testbed"]["links"].append({"a": "dut1/out0", "b": "host/in0"})

    assert told(said(GOOD, header(further)), row) == "not_met"


def test_the_throughput_of_one_chain_is_not_known_of_another() -> None:
    line = {"path": "chain", "hosting": "pod", "function": "kernel-l3", "networks": ["bridge"]}
    few = {"back_to_back": {"repetitions": 1, "max_burst_s": 0.1, "step_frames": 50, "frame_octets": [64]}}
    lines = [
        {**line, "frame_octets": list(SEVEN), "axes": {"chain": ["a"]}},
        {**line, "frame_octets": [64], "axes": {"chain": ["a>b"]}},
    ]

    def bursts(*paths):
        return run(TPUT, BURSTS, profile={"suites": {"rfc2544": {"paths": list(paths)}}, "benchmarks": few})

    each = {**line, "frame_octets": list(SEVEN), "axes": {"chain": ["a", "a>b"]}}
    assert told(bursts(each), "RFC9004-5-04") == "met"  # that of one chain came after the other's bursts
    assert told(bursts(*lines), "RFC9004-5-04") == "not_met"


def test_a_pod_without_a_data_interface_has_no_second_network() -> None:
    bare = copy.deepcopy(CLUSTER)
    bare["pod"] = {"management": {"option": "bridge"}}
    assert told(said(cases_models.POD, cases_models.deployed(bare)), "CINF08-5.1.2-01") == "met"
    bare["attachments"] = []
    assert told(said(cases_models.POD, cases_models.deployed(bare)), "CINF08-5.1.2-01") == "not_met"


def test_the_rights_of_one_deployment_are_not_those_of_another() -> None:
    rights = granted()
    assert told(said(TWO, made, cases_models.deployed(rights)), "CINF08-7-03") == "met"
    assert told(said(TWO, made, first_alone(rights)), "CINF08-7-03") == "not_met"
