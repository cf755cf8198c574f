"""Latency of single broadcast frames (RFC 2889 5.10.3), against a switch with a known delay at each port."""

from dataclasses import dataclass, field, replace

import pytest

from bmwg.methodology.benchmarks import broadcast_latency
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    BAREMETAL,
    NOTHING,
    Cell,
    OutcomeType,
    StreamCounts,
    TrialResult,
    Validity,
)
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial

CELL = Cell(
    path="switch",
    hosting=BAREMETAL,
    function="linux-bridge",
    network=NOTHING,
    frame_octets=64,
    axes=(("pattern", "broadcast-4"),),
)
DELAYS_NS = {1: 10_000, 2: 20_000, 3: 60_000}


@dataclass
class Switch:
    """Port n has its copy after `DELAYS_NS[n]`, 1,000 ns later each trial; `lossy` ones lose or double."""

    lossy: dict = field(default_factory=dict)  # trial number: port and copies
    unstamped: bool = False
    short_from: int = 10**9  # trial number from which the tester falls short
    seen: list = field(default_factory=list)

    def trial(self, spec, phase):
        number = len(self.seen) + 1
        assert spec.intended_frames == 1
        assert spec.pattern.broadcast
        port, copies = self.lossy.get(number, (0, 1))
        streams = [StreamCounts(intended_frames=0, sent_frames=0, received_frames=0)]
        for one, delay_ns in DELAYS_NS.items():
            came = copies if one == port else 1
            took = delay_ns + 1_000 * (number - 1)
            histogram = LatencyHistogram(
                buckets=((took, took, came),), sum_ns=took * came, min_ns=took, max_ns=took
            )
            streams.append(
                StreamCounts(
                    intended_frames=1,
                    sent_frames=1,
                    received_frames=min(came, 1),
                    duplicate_frames=max(came - 1, 0),
                    latency=histogram if came and not self.unstamped else LatencyHistogram(),
                )
            )
        result = TrialResult(spec=spec, streams=tuple(streams), wall_time_ns=1)
        validity = Validity.VALID if number < self.short_from else Validity.SENT_SHORT
        self.seen.append(JudgedTrial(seq=number, result=result, validity=validity))
        return self.seen[-1]


def answer(switch, repetitions=5):
    profile = load_profile("rfc2889-quick")
    profile = replace(profile, benchmarks={"broadcast_latency": {"repetitions": repetitions}})
    asked = Asked(profile=profile, cell=CELL, outcome_id="x", trial=switch.trial, max_load_fps=100_000)
    (outcome,) = measurement("broadcast_latency").measure(asked).outcomes
    return outcome, {one.metric: one.number for one in outcome.values}


def test_each_port_has_the_latency_that_its_copies_have():
    """Known truth: 10, 20 and 60 us, and 2 us more in the mean of five."""
    outcome, told = answer(Switch())
    assert outcome.type is OutcomeType.MEASURED
    for port, delay_ns in DELAYS_NS.items():
        assert told.pop(broadcast_latency.at_port(port)) == delay_ns + 2_000
    assert told == {
        broadcast_latency.METRIC: 32_000,
        broadcast_latency.LEAST: 10_000,
        broadcast_latency.MOST: 64_000,
    }
    assert outcome.trials == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("copies", [0, 2])
def test_a_repetition_without_one_copy_at_each_port_is_left_out_by_name(copies):
    outcome, told = answer(Switch(lossy={5: (3, copies)}))
    assert outcome.type is OutcomeType.MEASURED
    assert told[broadcast_latency.MOST] == 63_000
    assert told[broadcast_latency.at_port(1)] == 11_500
    assert any("left out: trial 5" in one and "port 3" in one for one in outcome.quality)


def test_where_half_of_them_are_left_out_there_is_no_number():
    outcome, told = answer(Switch(lossy={1: (1, 0), 4: (2, 0)}), repetitions=4)
    assert outcome.type is OutcomeType.UNSTABLE
    assert "2 of 4 repetitions" in outcome.reason
    assert not told


def test_a_tester_without_time_stamps_gives_no_number():
    outcome, told = answer(Switch(unstamped=True))
    assert outcome.type is OutcomeType.UNSTABLE
    assert "port 1, 2, 3" in outcome.reason
    assert not told


def test_a_tester_that_falls_short_in_one_repetition_gives_no_number_of_fewer():
    outcome, told = answer(Switch(short_from=3))
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert "could not send one frame" in outcome.reason + outcome.statement
    assert not told


def test_only_broadcast_patterns_are_measured():
    kind, profile = measurement("broadcast_latency"), load_profile("rfc2889-quick")
    assert kind.applies(profile, CELL)
    assert not kind.applies(profile, replace(CELL, axes=(("pattern", "full-mesh-4"),)))
    assert not kind.applies(profile, replace(CELL, axes=()))
    assert broadcast_latency.BroadcastLatencyGoal(cell=CELL).repetitions == 20
