"""Runs that clause rules judged wrongly, found by reading eighty rules drawn with the seed 20261126."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import breaches
import cases_chains
import cases_models
import pytest
import runs
from cases_clusters import CLUSTER
from cases_models import COMBINED, SWITCH
from cases_others import GOOD, ISOLATED
from cases_rfc2544_rows import counting
from foreign import Change, header, said, spec, trials
from runs import BROADCAST, FILTER_1, FILTERS_25, LATENCY, MANAGEMENT, ROUTES, TPUT, run
from testers import counted

from bmwg.methodology.search import bisection


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


MANAGED = run(TPUT, MANAGEMENT)


def test_a_modifier_is_the_one_that_its_answer_names() -> None:
    assert told(MANAGED, "RFC2544-11-02", "throughput") == "met"
    other = trials("throughput_modified.rfc2544_11.management", spec(modifier="route-updates"))
    assert told(said(MANAGED, other), "RFC2544-11-02", "throughput") == "not_met"


def test_trials_of_few_frames_show_no_share() -> None:
    def few(one):
        one["spec"]["duration_s"] = 500 / one["spec"]["load_fps"]
        for stream in one["result"]["streams"]:
            stream.update(intended_frames=500, sent_frames=500, received_frames=500)
            stream["effective_duration_ns"] = int(one["spec"]["duration_s"] * 1e9)
            stream["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}
        one["result"]["auxiliary"]["forward.broadcast_sent_frames"] = 0

    made = said(run(TPUT, BROADCAST), trials("throughput_modified.rfc2544_11.broadcast", few))
    assert told(made, "RFC2544-11.1-01", "throughput") == "not_applicable"


def test_a_trial_without_any_update_does_not_begin_with_one() -> None:
    silent = run(TPUT, ROUTES, tester=counting("modifier.sent_frames", 0))
    assert told(silent, "RFC2544-11.3-01", "throughput") == "not_met"


class Blocks(breaches._Changes):
    """Stands at a device whose filters let nothing through."""

    def run(self, spec, /):
        result = super().run(spec)
        counts = {**dict(result.auxiliary)}
        counts |= {"modifier.matched_frames": 0} if "modifier.matched_frames" in counts else {}
        return replace(result, auxiliary=tuple(sorted(counts.items())))

    def changed(self, spec, stream):
        return counted(stream, sent=stream.sent_frames, received=0) if spec.modifier else stream


@pytest.mark.parametrize(("row", "test"), [("RFC2544-11.4-02", FILTER_1), ("RFC2544-11.4-07", FILTERS_25)])
def test_filters_that_let_nothing_through_permit_nothing(row, test) -> None:
    assert told(run(TPUT, test), row, "throughput") == "met"
    assert told(run(TPUT, test, tester=Blocks), row, "throughput") == "not_met"


class StallsAt(breaches._Changes):
    """Stalls at one load, of all."""

    def changed(self, spec, stream):
        stalled = replace(stream, largest_gap_ns=breaches.GONE_NS, largest_lateness_ns=breaches.GONE_NS)
        return stalled if spec.load_fps == LOW else stream


LOW = 12_345


def climbs_past_a_stall():
    """Break the search: after a lossy trial, and one that was not valid, it tries a higher load."""
    real = bisection.search

    def search(measure, goal):
        for load in (int(0.8 * goal.max_load_fps), LOW, int(0.9 * goal.max_load_fps), LOW):
            measure(goal.spec(load))
        return real(measure, goal)

    return patch.object(breaches.throughput_search.bisection, "search", search)


def test_a_trial_that_was_not_valid_does_not_excuse_a_higher_load() -> None:
    made = run(TPUT, tester=StallsAt, broken=climbs_past_a_stall)
    assert told(made, "RFC2544-26.1-02", "throughput") == "not_met"


def test_a_throughput_that_was_found_later_is_no_load_to_begin_with() -> None:
    def last(data, journal, platform):
        journal.sort(key=lambda one: one["metric"].startswith("throughput."))
        renumbered(data, journal)

    whole = run(TPUT, LATENCY)
    assert told(whole, "RFC2544-26.2-01", "latency") == "met"
    assert told(said(whole, last), "RFC2544-26.2-01", "latency") == "not_met"
