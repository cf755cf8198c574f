"""Runs that clause rules judged wrongly, found by reading eighty rules drawn with the seed 20261126.

The last ones are of rules that were read beside those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar
from unittest.mock import patch

import breaches
import pytest
import runs
from cases_rfc2544 import RESETS, THREE
from cases_rfc2544_rows import counting
from cases_rfc9004 import GOOD as GOOD_BURSTS
from cases_rfc9004 import LONG, listened, quality
from cases_rfc9971 import GOOD as RFC9971
from cases_tst009 import GOOD as QUALIFIED_TST009
from cases_tst009 import TIMED
from foreign import Change, bound, header, outcomes, put, said, spec, trials
from runs import (
    BROADCAST,
    BROADCAST_BRIDGED,
    BURSTS,
    FILTER_1,
    FILTERS_25,
    IPDV,
    LATENCY,
    LATENCY_8219,
    MANAGEMENT,
    PDV,
    RECOVERY,
    RESET_LINK,
    ROUTES,
    TAGGED,
    TPUT,
    TST009,
    paths,
    run,
)
from testers import Hasty, Timeless, counted
from wrongly import renumbered, told

from bmwg.methodology.benchmarks import recovery
from bmwg.methodology.benchmarks.back_to_back import METRIC as BURST
from bmwg.methodology.search import bisection

BRIDGES = [
    {
        "path": "pvp",
        "hosting": "pod",
        "function": "testpmd",
        "networks": ["bridge", "ptp"],
        "frame_octets": [64],
    }
]


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

    small = said(run(TPUT, BROADCAST), trials("throughput_modified.rfc2544_11.broadcast", few))
    assert told(small, "RFC2544-11.1-01", "throughput") == "not_applicable"


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


class LosesFirst(StallsAt):
    """Stands at a device that loses nothing at a load of this list that it gets again."""

    taken: ClassVar[list[int]] = []

    def changed(self, spec, stream):
        found = super().changed(spec, stream)
        again = spec.load_fps in LosesFirst.taken
        return counted(found, sent=found.sent_frames, received=found.sent_frames) if again else found


def climbs_and_returns():
    """Break the search: after a lossy trial it tries a higher load, and the first one again."""
    real = bisection.search

    def search(measure, goal):
        first, second = (int(share * goal.max_load_fps) for share in (0.8, 0.9))
        for load in (first, second, LOW):
            measure(goal.spec(load))
        LosesFirst.taken.append(first)
        measure(goal.spec(first))
        LosesFirst.taken.clear()
        return real(measure, goal)

    return patch.object(breaches.throughput_search.bisection, "search", search)


def test_a_load_that_lost_nothing_later_does_not_excuse_a_higher_one() -> None:
    made = run(TPUT, tester=LosesFirst, broken=climbs_and_returns)
    assert told(made, "RFC2544-26.1-02", "throughput") == "not_met"


def test_a_throughput_that_was_found_later_is_no_load_to_begin_with() -> None:
    def last(data, journal, platform):
        journal.sort(key=lambda one: one["metric"].startswith("throughput."))
        renumbered(data, journal)

    whole = run(TPUT, LATENCY)
    assert told(whole, "RFC2544-26.2-01", "latency") == "met"
    assert told(said(whole, last), "RFC2544-26.2-01", "latency") == "not_met"


@pytest.mark.parametrize("row", ["RFC2544-9-01", "RFC2544-9-02", "RFC2544-9.1"])
def test_a_reset_is_tried_with_the_smallest_frames_alone(row) -> None:
    assert told(run(RESET_LINK, profile=RESETS), row, "reset") == "not_applicable"


class LostInUpdates(runs.Tester):
    """Is lost in the third trial with routing updates, of which it tells nothing."""

    taken = 0

    def run(self, spec, /):
        result = super().run(spec)
        LostInUpdates.taken += spec.modifier is not None
        if spec.modifier is None or LostInUpdates.taken != 3:
            return result
        return replace(result, fault="the tester ended", auxiliary=(), streams=())


@pytest.mark.parametrize("row", ["RFC2544-13-01", "RFC2544-13-02", "RFC2544-11.3-03"])
def test_a_tester_that_was_lost_tells_nothing_of_updates(row) -> None:
    made = run(TPUT, ROUTES, tester=LostInUpdates)
    assert any(one.fault for one in made().trials)
    assert told(made, row, "throughput") == "met"


def test_a_row_of_latency_has_a_number() -> None:
    both = run(TPUT, LATENCY, profile={"paths": paths(64, 128), "latency": {"frame_octets": [64, 128]}})

    def none(one):
        if one["cell"]["frame_octets"] == 128:
            one.update(type="unstable", values=[], statement="as made", reason="as made")

    assert told(both, "RFC2544-26.2-09", "latency") == "met"
    assert told(said(both, outcomes("latency", none)), "RFC2544-26.2-09", "latency") == "not_met"


def test_the_number_of_fifty_bursts_is_their_average() -> None:
    fifty = run(
        BURSTS,
        profile={"benchmarks": {"back_to_back": {"repetitions": 50, "max_burst_s": 0.1, "step_frames": 50}}},
    )
    other = outcomes(BURST, lambda one: one["values"][0].update(number=7))
    assert told(fifty, "RFC2544-26.4-03", "back-to-back frames") == "met"
    assert told(said(fifty, other), "RFC2544-26.4-03", "back-to-back frames") == "not_met"
    assert told(said(fifty, other), "RFC9004-5-07") == "not_met"


def test_more_than_a_tenth_above_the_throughput_is_not_what_recovery_asks_for() -> None:
    asked = recovery.recovery_loads

    def more_loads(throughput_fps, max_load_fps, method=recovery.RFC2544):
        return asked(throughput_fps, max_load_fps, replace(method, overload_percent=150))

    more = run(RECOVERY, profile=THREE, broken=lambda: patch.object(recovery, "recovery_loads", more_loads))
    assert told(more, "RFC2544-26.5-01", "system recovery") == "not_met"


def test_an_overload_is_as_long_as_it_was_sent() -> None:
    row, benchmark = "RFC2544-26.5-01", "system recovery"
    assert told(run(RECOVERY, profile=THREE), row, benchmark) == "met"
    assert told(run(RECOVERY, profile=THREE, tester=Hasty), row, benchmark) == "not_met"
    assert told(run(RECOVERY, profile=THREE, tester=Timeless), row, benchmark) == "not_assessed"


def test_a_tester_that_looks_into_no_frame_verifies_none() -> None:
    assert told(run(TPUT, device={"verifies": ["length"]}), "RFC2544-6-02", "throughput") == "not_met"


@pytest.mark.parametrize(
    ("test", "row"),
    [(LATENCY_8219, "RFC8219-7.2-02"), (PDV, "RFC8219-7.3.1-02"), (IPDV, "RFC8219-7.3.2-01")],
)
def test_a_stream_is_as_long_as_it_was_sent(test, row) -> None:
    assert told(run(test, tester=Hasty), row) == "not_met"


def test_twenty_streams_without_a_median_report_none() -> None:
    none = outcomes("latency.rfc8219", put(type="unstable", values=[], statement="x", reason="x"))
    assert told(said(run(LATENCY_8219), none), "RFC8219-7.2-08") == "not_applicable"


def _with_another_tester(*silent: str) -> Change:
    """Let a second tester have taken part that does not say these."""

    def change(data):
        first = next(one for one in data["drivers"] if "driver" in one)
        data["drivers"].append({name: said for name, said in first.items() if name not in silent})

    return header(change)


@pytest.mark.parametrize(
    ("make", "row", "key", "verdict"),
    [
        (run(LATENCY_8219), "RFC8219-7.2-09", "latency_definition", "not_met"),
        (RFC9971, "RFC9971-4.9.1-01", "counting", "not_met"),
        (QUALIFIED_TST009, "TST009-7", "counting", "not_assessed"),
        (TIMED, "TST009-9-01", "latency_way", "not_assessed"),
    ],
)
def test_what_one_tester_says_is_not_said_by_another(make, row, key, verdict) -> None:
    assert told(said(make, _with_another_tester()), row) == "met"
    assert told(said(make, _with_another_tester(key)), row) == verdict


def test_what_a_buffer_lost_is_not_waited_for() -> None:
    """A tester listened 2.5 s after bursts of which a small buffer lost the most."""
    assert told(said(GOOD_BURSTS, listened(2.5)), "RFC9004-6.2-02") == "met"


def test_a_long_burst_is_listened_for_after_the_last_of_it_came() -> None:
    slow = outcomes("throughput", bound("lower", load_fps=400_000))
    assert told(said(LONG, slow, listened(31)), "RFC9004-6.2-03") == "met"
    assert told(said(LONG, slow, listened(20)), "RFC9004-6.2-03") == "not_met"


def test_a_stated_step_is_the_one_of_the_search() -> None:
    assert told(said(GOOD_BURSTS, quality("step 10", "step 1")), "RFC9004-6.2-09") == "not_met"


def test_a_load_of_which_a_part_was_sent_is_no_throughput() -> None:
    """The row's text was not read, so that it fails nobody."""
    half = {"trial": {"min_sent_ratio": 0.5}}
    assert told(QUALIFIED_TST009, "TST009-8-01") == "met"
    made = run(TST009, base="tst009", tester=breaches.SendsLess, profile=half)
    assert told(made, "TST009-8-01") == "not_assessed"


@pytest.mark.parametrize("way", ["forward", "both"])
def test_the_latency_of_tagged_frames_is_the_mean_of_its_streams(way) -> None:
    tagged = run(TAGGED, profile={"traffic": {"directions": [way]}})
    assert told(tagged, "RFC2544-26.2-06", "latency") == "met"

    def last_less(one):
        means = [number for number in one["values"] if ".min" not in number["metric"]]
        means = [number for number in means if ".max" not in number["metric"]]
        means[-1]["number"] -= 1000

    changed = said(tagged, outcomes("latency.rfc2544_26_2", last_less))
    assert told(changed, "RFC2544-26.2-06", "latency") == "not_met"


def test_broadcast_frames_through_one_bridge_are_none_through_another() -> None:
    both = run(TPUT, BROADCAST_BRIDGED, profile={"suites": {"rfc2544": {"paths": BRIDGES}}})
    assert told(both, "RFC2544-11.1-03", "throughput") == "met"

    def one_alone(data, journal, platform):
        gone = "throughput_modified.rfc2544_11.broadcast_bridged"
        cell = "pvp/pod/testpmd/ptp/64/forward"
        data["outcomes"] = [
            one for one in data["outcomes"] if (one["metric"], one["cell"]["cell_id"]) != (gone, cell)
        ]
        journal[:] = [one for one in journal if (one["metric"], one["cell"]) != (gone, cell)]
        renumbered(data, journal)

    assert told(said(both, one_alone), "RFC2544-11.1-03", "throughput") == "not_met"
