"""Runs that rules once passed, or failed, wrongly: one cell of many, an order, a node that nobody names."""

from __future__ import annotations

import pytest
from cases_chains import design
from cases_others import CABLED, ISOLATED
from cases_rfc2544 import MEDIUM, RECOVERY, THREE
from cases_rfc8219 import LATENCY as RFC8219
from cases_rfc9971 import GOOD as RFC9971
from cases_rfc9971 import TWO, goal, goals
from cases_tst009 import GOOD as QUALIFIED
from cases_tst009 import TIMED
from foreign import header, outcomes, put, said
from runs import LATENCY_8219, TPUT, TST009, paths, run
from wrongly import renumbered, told

from bmwg.methodology.mlrsearch.outcome import METRIC
from bmwg.reports.checker.clauses.rfc8219 import SIZES

TWO_SIZES = {"paths": paths(64, 128)}


def less(**axes):
    """Leave out what was found at 128 octets of cells that have these."""

    def changed(data, trials, platform):
        data["outcomes"] = [
            one
            for one in data["outcomes"]
            if one["cell"]["frame_octets"] != 128
            or any(one["cell"].get(name) != value for name, value in axes.items())
        ]

    return changed


def wire_last(data, trials, platform):
    """Have the tester qualified after everything else."""
    trials.sort(key=lambda one: one["cell"].startswith("wire/"))
    renumbered(data, trials)


@pytest.mark.parametrize(
    ("row", "traffic", "axes"),
    [
        ("RFC2544-14-01", {"directions": ["forward", "both"]}, {"direction": "both"}),
        ("RFC2544-12-01", {"flows": [1, 256]}, {"flows": 1}),
        ("RFC2544-12-02", {"destination_networks": [1, 256]}, {"destination_networks": 256}),
        ("RFC2544-26.1-03", {"directions": ["forward", "both"]}, {"direction": "both"}),
    ],
)
def test_one_condition_of_two_is_not_each(row, traffic, axes) -> None:
    whole = run(TPUT, profile={"traffic": traffic, **TWO_SIZES})
    assert told(whole, row, "throughput") == "met"
    assert told(said(whole, less(**axes)), row, "throughput") == "not_met"


def test_several_pairs_of_addresses_come_after_one() -> None:
    backwards = run(TPUT, profile={"traffic": {"flows": [256, 1]}})
    assert told(backwards, "RFC2544-12-01", "throughput") == "not_met"


@pytest.mark.parametrize("row", ISOLATED)
@pytest.mark.parametrize("make", CABLED, ids=["cabled to a host", "on no node"])
def test_ports_are_where_their_cables_end(row, make) -> None:
    assert told(make, row) == "not_met"


@pytest.mark.parametrize("io", ["auto", "xdp", "vhost_user"])
def test_ports_of_a_virtual_link_need_no_rate(io) -> None:
    other = header(lambda data: data["testbed"]["tester"].update(io=io))
    assert told(said(RFC8219, other), "RFC8219-5.1-02") == "met"
    card = header(lambda data: data["testbed"]["tester"].update(io="pci"))
    assert told(said(RFC8219, card), "RFC8219-5.1-02") == "not_met"


def test_a_tester_that_is_qualified_last_was_not_before_use() -> None:
    """The row's text was not read, so that it fails nobody."""
    assert told(QUALIFIED, "TST009-12.1") == "met"
    assert told(said(QUALIFIED, wire_last), "TST009-12.1") == "not_assessed"
    assert told(RFC9971, "RFC9971-4.9.1-02") == "met"
    assert told(said(RFC9971, wire_last), "RFC9971-4.9.1-02") == "not_met"


def test_the_sizes_of_one_condition_are_not_those_of_the_other() -> None:
    sizes = {"paths": paths(*SIZES), "traffic": {"directions": ["forward", "both"]}}
    whole = run(LATENCY_8219, profile=sizes)
    assert told(whole, "RFC8219-5.1.1-01") == "met"
    assert told(said(whole, less(direction="both")), "RFC8219-5.1.1-01") == "not_met"


def test_no_exceeding_trial_is_for_the_goal_without_loss() -> None:
    assert told(goals(goal(goal_loss_ratio=0.005)), "RFC9971-4.6.4-02") == "not_met"


def test_one_result_of_a_goal_does_not_stand_for_one_of_none() -> None:
    def other(data, trials, platform):
        found = [one for one in data["outcomes"] if one["metric"].startswith(METRIC)]
        found[-1]["metric"] = f"{METRIC}.ndr"

    assert told(TWO, "RFC9971-4.6.8-01") == "met"
    assert told(said(TWO, other), "RFC9971-4.6.8-01") == "not_met"


def test_an_unstable_throughput_is_no_load_for_a_latency() -> None:
    """The row's text was not read, so that it fails nobody."""
    assert told(TIMED, "TST009-9-01") == "met"
    unstable = outcomes("throughput", put(type="unstable", values=[], statement="as made", reason="as made"))
    assert told(said(TIMED, unstable), "TST009-9-01") == "not_assessed"


def test_five_sizes_of_several_conditions_are_not_five_of_each() -> None:
    """The row's text was not read, so that it fails nobody."""
    traffic = {"directions": ["both"], "frame_formats": ["ipv4-udp", "ipv6-udp"]}
    sizes = {"traffic": traffic, "paths": paths(128, 256, 512, 1024, 1518)}
    whole = run(TST009, base="tst009", profile=sizes)
    assert told(whole, "TST009-all-02") == "met"
    assert told(said(whole, less(frame_format="ipv6-udp")), "TST009-all-02") == "not_assessed"


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (run(RECOVERY, profile=THREE), "RFC2544-26.5-01"),
        (RFC8219, "RFC8219-7.2-01"),
    ],
)
def test_what_stands_on_an_unstable_throughput_stands_on_none(make, row) -> None:
    unstable = outcomes("throughput", put(type="unstable", values=[], statement="as made", reason="as made"))
    assert told(make, row) == "met"
    assert told(said(make, unstable), row) == "not_met"


def test_a_load_that_the_tester_could_not_send_was_not_tried() -> None:
    def short(data, trials, platform):
        for one in trials:
            for stream in one["result"]["streams"] if one["spec"]["load_fps"] > 1_400_000 else ():
                stream["sent_frames"] //= 2
                stream["received_frames"] = min(stream["received_frames"], stream["sent_frames"])

    whole = run(TPUT, testbed=MEDIUM)
    assert told(whole, "RFC2544-20-01", "throughput") == "met"
    assert told(said(whole, short), "RFC2544-20-01", "throughput") == "not_met"


def test_levels_that_were_planned_and_not_tried_are_none() -> None:
    def untried(data, trials, platform):
        gone = [one for one in data["outcomes"] if "pods.cpus=2" in one["cell"]["cell_id"]]
        assert gone
        data["outcomes"] = [one for one in data["outcomes"] if one not in gone]
        names = {one["cell"]["cell_id"] for one in gone}
        trials[:] = [one for one in trials if one["cell"] not in names]
        for place, one in enumerate(trials, start=1):
            one["seq"] = place

    whole = design(cpus=["1", "2"], memory=["128MiB", "256MiB"])
    assert told(whole, "CINF08-5.2.4-03") == "met"
    assert told(said(whole, untried), "CINF08-5.2.4-03") == "not_met"
