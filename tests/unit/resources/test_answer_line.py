"""The line of a cell on the console says what the report says."""

from dataclasses import replace

import pytest

from bmwg.methodology.answers.throughput import ENVELOPE_METRIC, unqualified
from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.resources.run.outcomes import answer_line

METRIC = "throughput.rfc2544_26_1"
NARROW = Outcome(
    outcome_id="x",
    metric=METRIC,
    cell=Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
    type=OutcomeType.MEASURED,
    values=(Quantity(metric=METRIC, number=400_000, unit="frames/s"),),
    lower=Bound(load_fps=400_000, trials=(1,)),
    upper=Bound(load_fps=410_000, trials=(2,)),
)


def test_the_number_of_a_search_stands_with_the_load_at_which_it_no_longer_holds():
    assert (
        answer_line(NARROW)
        == "pvp bridge 64: throughput (RFC 2544, no loss) 400,000\u00a0to\u00a0410,000 frames/s"
    )
    open_end = replace(NARROW, upper=None)
    assert answer_line(open_end).endswith(" 400,000 frames/s")


def test_a_conditional_throughput_is_its_relevant_lower_bound_and_says_what_may_be_lost():
    metric = "conditional_throughput.rfc9971.0.1f1.5d0.5l50e"
    rate = Quantity(metric=metric, number=398_123.4, unit="frames/s")
    said = answer_line(replace(NARROW, metric=metric, values=(rate,)))
    assert said.endswith("throughput (RFC 9971, loss up to 0.5\u00a0%) 400,000\u00a0to\u00a0410,000 frames/s")


def test_what_is_no_number_is_told_by_its_reason_without_another_number():
    one = replace(
        NARROW, type=OutcomeType.UNSTABLE, values=(), statement="no loss up to 1 frames/s", reason="made"
    )
    assert answer_line(one).endswith("unstable: made")


def test_why_the_tester_could_not_be_qualified_is_told_once():
    wire = NARROW.cell.qualification
    envelope = replace(NARROW, cell=wire, type=OutcomeType.UNSTABLE, values=(), reason="noisy")
    envelope = replace(envelope, metric=ENVELOPE_METRIC)
    one = unqualified(NARROW.cell, envelope, outcome_id="x", metric=METRIC)
    assert answer_line(envelope) == "wire 64: the tester alone unstable: noisy"
    assert answer_line(one).endswith("could not be qualified for this traffic (see wire 64)")
    untried = unqualified(NARROW.cell, None, outcome_id="x", metric=METRIC)
    assert answer_line(untried).endswith("for this traffic: it was not tried")


def test_a_frame_loss_ratio_is_told_with_its_load():
    """RFC 2544 26.3: the first of the ladder's loads."""
    metric = "frame_loss_ratio.rfc2544_26_3"
    rungs = {831_963: 0.434, 748_766: 0.365}
    values = tuple(
        Quantity(metric=f"{metric}.{load}fps", number=ratio, unit="1") for load, ratio in rungs.items()
    )
    one = replace(NARROW, metric=metric, values=values, lower=None, upper=None)
    said = answer_line(one).replace("\u00a0", " ")
    assert said == "pvp bridge 64: frame loss ratio (RFC 2544 26.3) 43.4 % at 831,963 frames/s"


def test_a_metric_of_a_document_is_told_in_words_with_its_section():
    metric = "burst_interval.rfc2544_21.16"
    value = Quantity(metric=metric, number=30_730, unit="ns")
    one = replace(NARROW, metric=metric, values=(value,), lower=None, upper=None)
    said = answer_line(one).replace("\u00a0", " ")
    assert said == "pvp bridge 64: burst interval 16 (RFC 2544 21) 30.73 µs"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("throughput_worst_of_n.ltd_3_2_2_1_13", "throughput worst of n (LTD 3.2.2.1.13)"),
        (
            "throughput_coupled.ltd_3_2_2_5_1.8_entries.100_changes",
            "throughput coupled 8 entries, 100 changes (LTD 3.2.2.5.1)",
        ),
    ],
)
def test_a_metric_of_vsperf_is_told_in_words_with_its_section(metric, words):
    value = Quantity(metric=metric, number=117_657, unit="frames/s")
    one = replace(NARROW, metric=metric, values=(value,), lower=None, upper=None)
    said = answer_line(one).replace("\u00a0", " ")
    assert said == f"pvp bridge 64: {words} 117,657 frames/s"


GOAL = "0.1f1.5d0l50e"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (f"throughput_flows.ltd_3_2_2_3_1.{GOAL}", "throughput flows (LTD 3.2.2.3.1; RFC 9971, no loss)"),
        (
            f"throughput_coupled.ltd_3_2_2_5_1.8_entries.100_changes.{GOAL}",
            "throughput coupled 8 entries, 100 changes (LTD 3.2.2.5.1; RFC 9971, no loss)",
        ),
        (
            f"throughput_match_action.ltd_3_2_2_1_15.dec_ttl.{GOAL}",
            "throughput match action dec ttl (LTD 3.2.2.1.15; RFC 9971, no loss)",
        ),
        (
            "throughput_beside.ltd_3_2_2_6_1.0.1f1.5d0.5l50e",
            "throughput beside (LTD 3.2.2.6.1; RFC 9971, loss up to 0.5 %)",
        ),
    ],
)
def test_a_throughput_beside_something_else_says_by_which_goal_it_was_found(metric, words):
    """The code of the goal (RFC 9971 appendix C.1) is told in words, and both ends stand as for any goal."""
    rate = Quantity(metric=metric, number=400_000, unit="frames/s")
    said = answer_line(replace(NARROW, metric=metric, values=(rate,))).replace("\u00a0", " ")
    assert said == f"pvp bridge 64: {words} 400,000 to 410,000 frames/s"


def test_a_wide_interval_beside_something_else_is_told_with_both_ends():
    """By a goal (RFC 9971) the lower end is what a long trial carried, by bisection (RFC 2544) the bound."""
    own = "throughput_flows.ltd_3_2_2_3_1"
    ends = {"": 400_000, ".relevant_upper_bound": 410_000, ".sustained_load": 350_000, ".upper_end": 500_000}
    values = tuple(
        Quantity(metric=f"{own}.{GOAL}{part}", number=load, unit="frames/s") for part, load in ends.items()
    )
    by_goal = answer_line(replace(NARROW, metric=f"{own}.{GOAL}", values=values)).replace("\u00a0", " ")
    assert by_goal.endswith("RFC 9971, no loss) 400,000 (350,000 to 500,000) frames/s")
    wide = replace(NARROW, metric=own, values=(replace(values[0], metric=own),))
    said = answer_line(wide).replace("\u00a0", " ")
    assert said.endswith("throughput flows (LTD 3.2.2.3.1) 400,000 frames/s")
    wide = replace(wide, upper=Bound(load_fps=480_000, trials=(2,)))
    said = answer_line(wide).replace("\u00a0", " ")
    assert said.endswith("throughput flows (LTD 3.2.2.3.1) 400,000 to 480,000 frames/s")


def test_the_loss_of_a_load_profile_is_told_with_its_load():
    """LTD 3.2.2.1.3: of the loads tried it is the highest."""
    metric = load_profile.METRIC
    told = {"at_0": (400_000, 0.0), "plus_50": (700_000, 0.3325)}
    parts = [
        (f".{name}.{part}", number, unit)
        for name, (load, ratio) in told.items()
        for part, number, unit in ((load_profile.LOAD, load, "frames/s"), (load_profile.LOSS, ratio, "1"))
    ]
    values = tuple(
        Quantity(metric=f"{metric}{name}", number=number, unit=unit)
        for name, number, unit in [("", 0.3325, "1"), *parts]
    )
    one = replace(NARROW, metric=metric, values=values, lower=None, upper=None)
    said = answer_line(one).replace("\u00a0", " ")
    assert said == "pvp bridge 64: load profile (LTD 3.2.2.1.3) 33.25 % at 700,000 frames/s"
