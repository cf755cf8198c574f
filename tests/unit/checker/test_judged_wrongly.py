"""Runs that clause rules judged wrongly, found by reading eighty rules drawn with the seed 20261126."""

from __future__ import annotations

import copy
from typing import Any

import cases_chains
import cases_models
import pytest
import runs
from cases_clusters import CLUSTER
from cases_models import COMBINED, SWITCH
from cases_others import GOOD, ISOLATED
from foreign import Change, header, said
from runs import TPUT, run


def told(make, row: str, benchmark: str = "") -> str:
    verdict = runs.verdict_of(make(), row, benchmark)
    return "absent" if verdict is None else verdict.original.value


def _plan(*lines: dict[str, Any], **more: Any):
    """Return a run of these lines of pods, each with its own path, network and sizes."""
    common = {"path": "pvp", "hosting": "pod", "function": "testpmd", "networks": ["bridge"]}
    lines = tuple({**common, "frame_octets": [64], **one} for one in lines)
    return run(TPUT, profile={"suites": {"rfc2544": {"paths": list(lines)}}, **more})


TWO = _plan({}, {"function": "kernel-l3"})


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
        ("CINF08-5.2.4-05", SWITCH),
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


def renumbered(data: dict[str, Any], journal: list[dict[str, Any]]) -> None:
    """Number the lines of a journal by their places, and so the trials that outcomes name."""
    number = {one["seq"]: place for place, one in enumerate(journal, start=1)}
    for one in journal:
        one["seq"] = number[one["seq"]]
    for one in data["outcomes"]:
        one["trials"] = [number[seq] for seq in one["trials"]]
        for bound in one["bounds"].values():
            if bound:
                bound["trials"] = [number[seq] for seq in bound["trials"]]


def without_cell(cell: str) -> Change:
    """Leave out what a cell was asked and answered."""

    def change(data, journal, platform):
        data["outcomes"] = [one for one in data["outcomes"] if one["cell"]["cell_id"] != cell]
        journal[:] = [one for one in journal if one["cell"] != cell]
        renumbered(data, journal)

    return change


def test_the_directions_of_other_networks_are_not_those_of_a_combination() -> None:
    ways = _plan({"networks": ["bridge", "ptp"]}, traffic={"directions": ["forward", "both"]})

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
