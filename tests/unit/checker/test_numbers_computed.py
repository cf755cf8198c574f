"""Numbers that clause rules took as they stood, and what the trials behind them say."""

from __future__ import annotations

import breaches
import pytest
from cases_companions import NONE as PLAIN
from cases_companions import RESETS
from cases_rfc2544 import THREE
from cases_rfc2889 import CONG, CONGESTED, LOSS, unlike
from cases_rfc9004 import GOOD as GOOD_BURSTS
from foreign import outcomes, said
from runs import IPDV, LATENCY, MLR, PDV, RECOVERY, TPUT, run
from testers import Dying, Hasty, Timeless
from wrongly import told

from bmwg.methodology.benchmarks import back_to_back, recovery
from bmwg.methodology.benchmarks.delay_variation import PDV_METRIC, SAMPLE_METRIC

RECOVERED = run(RECOVERY, profile=THREE)
RESET = f"{recovery.RESET_METRIC}.link"
WAYS = {way: {"traffic": {"directions": [way]}} for way in ("forward", "both")}


def more(name: str):
    """Return a change of one number of an outcome, by the whole name of its metric."""

    def change(one):
        for number in one["values"]:
            number["number"] += 1234 * (number["metric"] == name)

    return change


def test_a_recovery_time_is_the_average_of_its_trials() -> None:
    row, benchmark = "RFC2544-26.5-04", "system recovery"
    other = outcomes(recovery.RECOVERY_METRIC, more(recovery.RECOVERY_METRIC))
    assert told(RECOVERED, row, benchmark) == "met"
    assert told(said(RECOVERED, other), row, benchmark) == "not_met"


def test_a_throughput_that_a_goal_found_says_what_an_overload_is() -> None:
    made = run(RECOVERY, base="rfc9971", profile=THREE)
    assert told(made, "RFC2544-26.5-01", "system recovery") == "met"


@pytest.mark.parametrize("way", WAYS)
def test_delay_variation_is_the_median_of_its_streams(way) -> None:
    made = run(PDV, profile=WAYS[way])
    name = PDV_METRIC if way == "forward" else f"{PDV_METRIC}.reverse"
    for row, part in (("RFC8219-7.3.1-05", ""), ("RFC8219-7.3.1-06", ".p1"), ("RFC8219-7.3.1-06", ".p99")):
        assert told(made, row) == "met"
        assert told(said(made, outcomes(PDV_METRIC, more(name + part))), row) == "not_met"


def test_twenty_streams_without_a_number_have_no_median() -> None:
    none = outcomes(PDV_METRIC, lambda one: one.update(type="unstable", values=[], statement="x", reason="x"))
    assert told(said(run(PDV), none), "RFC8219-7.3.1-05") == "not_applicable"


@pytest.mark.parametrize("part", ["", ".min", ".max"])
def test_differences_of_neighbours_are_the_medians_of_the_streams(part) -> None:
    made = run(IPDV)
    assert told(made, "RFC8219-7.3.2-03") == "met"
    other = outcomes(SAMPLE_METRIC, more(SAMPLE_METRIC + part))
    assert told(said(made, other), "RFC8219-7.3.2-03") == "not_met"


@pytest.mark.parametrize("part", ["min", "max", "deviation"])
def test_the_spread_of_bursts_is_that_of_the_searches(part) -> None:
    assert told(GOOD_BURSTS, "RFC9004-7-03") == "met"
    other = outcomes(back_to_back.METRIC, more(f"{back_to_back.METRIC}.{part}"))
    assert told(said(GOOD_BURSTS, other), "RFC9004-7-03") == "not_met"


@pytest.mark.parametrize("part", ["", ".min", ".max", ".deviation"])
def test_a_reset_time_and_its_spread_are_those_of_its_trials(part) -> None:
    assert told(RESETS, "SUP-6201-1.4-04") == "met"
    assert told(said(RESETS, outcomes(RESET, more(RESET + part))), "SUP-6201-1.4-04") == "not_met"


def test_the_rate_of_an_uncongested_port_is_that_of_its_trials() -> None:
    name = f"{CONG}.uncongested.forwarded"
    assert told(CONGESTED, "RFC2889-5.5") == "met"
    assert told(said(CONGESTED, unlike(CONG, name)), "RFC2889-5.5") == "not_met"


def second_load_unsent(data, journal, platform) -> None:
    """Let the tester have sent half of the second load of each curve, so that it has no value there."""
    for one in data["outcomes"]:
        mine = [t for t in journal if (t["metric"], t["cell"]) == (LOSS, one["cell"]["cell_id"])]
        loads = sorted({t["spec"]["load_fps"] for t in mine}, reverse=True)
        if one["metric"] != LOSS or len(loads) < 2:
            continue
        one["values"] = [v for v in one["values"] if v["metric"] != f"{LOSS}.{loads[1]}fps"]
        for trial in (t for t in mine if t["spec"]["load_fps"] == loads[1]):
            for stream in trial["result"]["streams"]:
                half = stream["intended_frames"] // 2
                stream.update(sent_frames=half, received_frames=half)
                stream["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}


def test_a_load_without_a_valid_trial_is_no_step_of_a_curve() -> None:
    made = run("R2544-LOSS-1.1")
    row, benchmark = "RFC2544-26.3-04", "frame loss rate"
    assert told(made, row, benchmark) == "met"
    assert told(said(made, second_load_unsent), row, benchmark) == "not_met"
    assert told(run("R2544-LOSS-1.1", tester=breaches.Stalls), row, benchmark) == "not_applicable"


@pytest.mark.parametrize(
    ("test", "row", "benchmark"),
    [
        (TPUT, "RFC2544-24-01", "throughput"),
        (TPUT, "RFC2544-24-03", "throughput"),
        (TPUT, "RFC2544-23-03", "throughput"),
        (LATENCY, "RFC2544-26.2-02", "latency"),
        (PDV, "RFC8219-7.3.1-02", ""),
    ],
)
def test_a_trial_is_as_long_as_it_was_sent(test, row, benchmark) -> None:
    assert told(run(test), row, benchmark) == "met"
    assert told(run(test, tester=Hasty), row, benchmark) == "not_met"
    assert told(run(test, tester=Timeless), row, benchmark) == "not_assessed"


def test_a_device_that_dies_above_a_goals_throughput_has_failed() -> None:
    assert told(PLAIN, "LTD-3.2.2.1.3-02") == "met"
    assert told(run(MLR, base="rfc9971", tester=Dying), "LTD-3.2.2.1.3-02") == "not_met"
