"""Forwarding rates, congestion control, address tables (RFC 2889), against switches of a known truth."""

import pytest
from made_switch import OFFERED_FPS, Switch, answer, cell

from bmwg.methodology.benchmarks import caching_capacity, congestion, forwarding_rate, learning_rate
from bmwg.methodology.benchmarks.address_table import LEAST_TAUGHT_FPS
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType, Validity


@pytest.mark.parametrize(
    ("pattern", "senders", "copies"),
    [("full-mesh-4", 4, 1), ("one-to-many-4", 1, 1), ("one-way-mesh-4", 2, 1), ("broadcast-4", 1, 3)],
)
def test_a_policer_forwards_its_rate_at_every_load_above(pattern, senders, copies):
    """Known truth: each port gets so much a second, whatever is offered."""
    rate = 20_000
    switch = Switch(egress_fps=rate)
    ports = 4 - (pattern != "full-mesh-4") - (pattern == "one-way-mesh-4")
    outcome, told = answer(switch, "forwarding_rate", pattern, throughput_fps=rate, step_percent=20)
    assert outcome.type is OutcomeType.MEASURED
    assert [one.spec.load_fps for one in switch.trials] == [20_000, 40_000, 60_000, 80_000, 100_000]
    full = [one for one in switch.trials if one.lost_frames]
    assert full
    assert all(forwarding_rate.point(one).forwarded_fps == ports * rate for one in full)
    assert told[forwarding_rate.METRIC] == told[forwarding_rate.AT_MAXIMUM] == ports * rate
    assert told[forwarding_rate.MAXIMUM] == senders * OFFERED_FPS
    applied = next(one for one in switch.trials if one.received_frames == ports * rate)
    assert told[forwarding_rate.APPLIED] == applied.sent_frames // copies


def test_a_switch_that_forwards_less_when_it_is_overrun_has_another_rate_at_the_top():
    class Falling(Switch):
        def _passed(self, spec):
            held = 60_000 if spec.load_fps <= 60_000 else 30_000
            return [min(one, held) for one in super()._passed(spec)]

    _, told = answer(Falling(), "forwarding_rate", "full-mesh-4", throughput_fps=50_000)
    assert told == {
        forwarding_rate.METRIC: 4 * 60_000,
        forwarding_rate.APPLIED: 4 * 60_000,
        forwarding_rate.INTENDED: 60_000,
        forwarding_rate.AT_MAXIMUM: 4 * 30_000,
        forwarding_rate.MAXIMUM: 4 * OFFERED_FPS,
    }


def test_where_the_throughput_is_the_highest_load_one_trial_says_all():
    outcome, told = answer(Switch(), "forwarding_rate", "full-mesh-4", throughput_fps=OFFERED_FPS)
    assert len(outcome.trials) == 1
    assert told.pop(forwarding_rate.INTENDED) == OFFERED_FPS
    assert set(told.values()) == {4 * OFFERED_FPS}


def test_a_load_that_the_tester_cannot_send_ends_the_ladder_and_is_named():
    def short(spec):
        return Validity.SENT_SHORT if spec.load_fps > 70_000 else Validity.VALID

    outcome, told = answer(
        Switch(), "forwarding_rate", "full-mesh-4", throughput_fps=50_000, validity=short, step_percent=20
    )
    assert told[forwarding_rate.MAXIMUM] == 4 * 70_000
    assert "could not send 90000 frames/s" in " ".join(outcome.quality)


def test_without_a_valid_trial_at_the_top_there_is_no_rate():
    def stalled(spec):
        return Validity.TESTER_STALLED if spec.load_fps == OFFERED_FPS else Validity.VALID

    outcome, told = answer(
        Switch(), "forwarding_rate", "full-mesh-4", throughput_fps=50_000, validity=stalled
    )
    assert outcome.type is OutcomeType.UNSTABLE
    assert not told
    assert "100000" in outcome.statement


@pytest.mark.parametrize(
    ("switch", "lost", "words"),
    [
        (
            Switch(egress_fps=100_000),
            0.0,
            "the uncongested port lost no frame",
        ),
        (
            Switch(egress_fps=100_000, blocks=True),
            1 / 3,
            "the uncongested port lost frames in every trial, and without congestion none was lost",
        ),
        (
            Switch(fork_fps=100_000, egress_fps=100_000),
            0.5,
            "the uncongested port lost frames in every trial, but 3 of 3",
        ),
    ],
)
def test_blocking_is_told_from_a_switch_that_carries_less_than_all_ports_offer(switch, lost, words):
    """A queue for each port, or one for both ports of a sender, or one for all, which is too slow."""
    outcome, told = answer(switch, "congestion_control", "congestion-4")
    assert outcome.type is OutcomeType.MEASURED
    assert told[congestion.METRIC] == pytest.approx(lost, rel=1e-4)
    assert outcome.quality[0].startswith(words)
    assert told[f"{congestion.METRIC}.uncongested.offered"] == OFFERED_FPS // 2
    assert told[f"{congestion.METRIC}.congested.offered"] == OFFERED_FPS * 3 // 2
    assert told[f"{congestion.METRIC}.uncongested.forwarded"] == pytest.approx(
        OFFERED_FPS / 2 * (1 - lost), abs=1
    )


def test_the_load_is_the_highest_that_the_tester_sends_at_this_switch():
    def short(spec):
        return Validity.SENT_SHORT if spec.load_fps > 75_000 else Validity.VALID

    switch = Switch(egress_fps=50_000)
    outcome, told = answer(switch, "congestion_control", "congestion-4", validity=short)
    assert outcome.type is OutcomeType.MEASURED
    assert told[f"{congestion.METRIC}.congested.offered"] == 70_000 * 3 // 2
    assert {one.spec.load_fps for one in switch.trials[-3:]} == {70_000}
    assert "100000 frames/s were tried" in outcome.quality[-1]
    never = answer(Switch(), "congestion_control", "congestion-4", validity=lambda _: Validity.SENT_SHORT)[0]
    assert never.type is OutcomeType.TESTER_LIMITED


@pytest.mark.parametrize("short", [2, 5])
def test_a_trial_that_was_sent_short_once_is_taken_again(short):
    """The second of congestion, and the second of the control."""
    numbers = iter(range(1, 100))

    def once(spec):
        return Validity.SENT_SHORT if next(numbers) == short else Validity.VALID

    switch = Switch(egress_fps=100_000, blocks=True)
    outcome, told = answer(switch, "congestion_control", "congestion-4", validity=once)
    assert outcome.type is OutcomeType.MEASURED
    assert told[congestion.METRIC] == pytest.approx(1 / 3, rel=1e-4)
    assert len(switch.trials) == 3 + 3 + 1


def test_where_nothing_is_congested_nothing_is_told_of_blocking():
    outcome, told = answer(Switch(), "congestion_control", "congestion-4")
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert not told
    assert "nothing was congested" in outcome.statement


def test_blocking_in_some_trials_alone_is_no_answer():
    switch = Switch(egress_fps=100_000, loses_at=(1,))
    outcome, told = answer(switch, "congestion_control", "congestion-4")
    assert outcome.type is OutcomeType.UNSTABLE
    assert "1 of 3" in outcome.statement
    assert not told


def test_eight_ports_are_two_groups():
    _, told = answer(Switch(egress_fps=100_000), "congestion_control", "congestion-8")
    assert told[f"{congestion.METRIC}.congested.offered"] == OFFERED_FPS * 3


@pytest.mark.parametrize("evicts", [False, True])
@pytest.mark.parametrize("ports", [3, 4, 8])
@pytest.mark.parametrize("room", [3, 64, 65, 512, 1000])
def test_a_table_is_as_large_as_it_was_made(evicts, ports, room):
    """Known truth: exact, both where a full table learns no more and where it forgets its oldest entry."""
    switch = Switch(room=room, evicts=evicts)
    outcome, told = answer(switch, "caching_capacity", f"address-table-{ports}", first_addresses=64)
    assert outcome.type is OutcomeType.MEASURED
    assert told == {
        caching_capacity.METRIC: room,
        caching_capacity.LEARNED: room - 1,
        caching_capacity.FLOODED: room,
    }
    assert switch.emptied == len(switch.trials) / 3
    assert all(one.spec.pattern.unprepared for one in switch.trials)


@pytest.mark.parametrize("first", [{"first_addresses": 10}, {}])  # without it fewer than 1,024 are first
def test_a_table_larger_than_was_tried_is_not_measured(first):
    outcome, told = answer(Switch(), "caching_capacity", "address-table-3", most_addresses=50, **first)
    assert outcome.type is OutcomeType.AT_CEILING
    assert outcome.statement == "51 addresses are known, more were not tried"
    assert not told


def test_a_switch_that_learns_nothing_is_at_the_floor():
    outcome, _ = answer(Switch(room=0), "caching_capacity", "address-table-3", first_addresses=4)
    assert outcome.type is OutcomeType.AT_FLOOR


def test_a_frame_that_is_lost_on_its_way_says_nothing_of_the_table():
    """Of the first turn a learning frame and a frame of the test are lost: both trials are taken again."""
    switch = Switch(room=100, loses_at=(1, 3))
    outcome, told = answer(switch, "caching_capacity", "address-table-3", first_addresses=64)
    assert told[caching_capacity.METRIC] == 100
    assert len(switch.trials) == 3 * switch.emptied + 2
    assert outcome.type is OutcomeType.MEASURED


@pytest.mark.parametrize("name", ["caching_capacity", "learning_rate"])
@pytest.mark.parametrize(
    ("validity", "kind"),
    [
        (Validity.TESTER_STALLED, OutcomeType.UNSTABLE),
        (Validity.FAULT, OutcomeType.INVALID),
        (Validity.SENT_SHORT, OutcomeType.TESTER_LIMITED),
    ],
)
def test_trials_that_are_never_valid_are_no_number_of_a_table(name, validity, kind):
    outcome, told = answer(Switch(room=100), name, "address-table-3", validity=lambda spec: validity)
    assert outcome.type is kind, outcome
    assert not told
    assert outcome.reason


def test_learning_frames_that_never_arrive_are_no_answer():
    switch = Switch(egress_fps=1)
    outcome, told = answer(switch, "caching_capacity", "address-table-3", first_addresses=64)
    assert outcome.type is OutcomeType.UNSTABLE
    assert not told


@pytest.mark.parametrize("rate", [60, 500, 7_000, 90_000])
def test_a_switch_that_learns_at_a_rate_has_that_rate(rate):
    switch = Switch(learns_fps=rate)
    outcome, told = answer(switch, "learning_rate", "address-table-4", addresses=100)
    assert outcome.type is OutcomeType.MEASURED
    low, high = told[learning_rate.METRIC], told[learning_rate.NOT_LEARNED]
    assert low <= rate < high
    assert high - low <= max(1, 0.05 * high)
    assert 2 * (high - low) > 0.05 * low - 2  # it ends where it may
    taught = {one.spec.pattern.sources for one in switch.trials} | {
        one.spec.pattern.destinations for one in switch.trials
    }
    assert taught == {1, 100}  # the number of addresses is the same at every rate


@pytest.mark.parametrize(
    ("switch", "kind"),
    [(Switch(), OutcomeType.TESTER_LIMITED), (Switch(learns_fps=10), OutcomeType.AT_FLOOR)],
)
def test_a_rate_beyond_what_is_tried_is_said_and_not_measured(switch, kind):
    outcome, told = answer(switch, "learning_rate", "address-table-3", addresses=100)
    assert outcome.type is kind
    assert outcome.statement
    assert not told


def test_each_measurement_has_its_patterns():
    profile = load_profile("rfc2889-quick")
    names = (
        "throughput",
        "forwarding_rate",
        "congestion_control",
        "caching_capacity",
        "learning_rate",
        "illegal_frames",
    )
    able = {
        pattern: [name for name in names if measurement(name).applies(profile, cell(pattern))]
        for pattern in ("full-mesh-4", "congestion-4", "address-table-4", "undersize-4", "oversize-4")
    }
    assert able == {
        "full-mesh-4": ["throughput", "forwarding_rate"],
        "congestion-4": ["congestion_control"],
        "address-table-4": ["caching_capacity", "learning_rate"],
        "undersize-4": ["illegal_frames"],
        "oversize-4": ["illegal_frames"],
    }
    for name in names[1:]:
        assert measurement(name).cost(profile, cell("address-table-4"), 100_000).trials > 0


@pytest.mark.parametrize("name", ["rfc2889", "rfc2889-quick"])
def test_addresses_of_a_shipped_profile_fit_its_tables_and_are_asked_for_before_they_age(name):
    profile = load_profile(name)
    said = profile.benchmarks["learning_rate"]
    slowest_s = said["addresses"] / said.get("least_fps", LEAST_TAUGHT_FPS)
    tables = [
        {key.rsplit(".", 1)[-1]: levels for key, levels in plan.axes.items()}
        for plan in profile.suite_paths["rfc2889"]
        if "address-table-4" in plan.axes.get("pattern", ())
    ]
    assert tables
    for table in tables:
        assert said["addresses"] < min(table["table_entries"])
        assert 2 * slowest_s < min(table["ageing_s"])
