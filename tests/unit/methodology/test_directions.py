"""Each direction has its own value: truths that a value over both directions would miss."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bmwg.methodology.answers import latency
from bmwg.methodology.benchmarks import tagged_latency
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    Bound,
    Cell,
    Direction,
    Outcome,
    OutcomeType,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial

TRUTH_NS = (10_000, 50_000)  # constant: no frame differs from another of its direction
BOTH = Cell(
    path="pvp",
    hosting="pod",
    function="kernel-l3",
    network="bridge",
    frame_octets=64,
    direction=Direction.BOTH,
)


def constant(spec: TrialSpec, delay_ns: int) -> StreamCounts:
    frames = spec.intended_frames
    return StreamCounts(
        intended_frames=frames,
        sent_frames=frames,
        received_frames=frames,
        latency=LatencyHistogram(
            buckets=((delay_ns, delay_ns, frames),),
            sum_ns=delay_ns * frames,
            min_ns=delay_ns,
            max_ns=delay_ns,
        ),
        tagged_ns=(delay_ns,) * len(spec.tag_frames),
    )


def take(seq: int, spec: TrialSpec) -> JudgedTrial:
    streams = tuple(constant(spec, delay_ns) for delay_ns in TRUTH_NS)
    result = TrialResult(spec=spec, streams=streams, wall_time_ns=1)
    return JudgedTrial(seq=seq, result=result, validity=Validity.VALID)


def measured(name: str, **settings: object) -> Outcome:
    """Measure on a device whose directions have delays of 10 and of 50 us, always."""
    profile = load_profile("rfc2544")
    profile = replace(profile, benchmarks={"tagged_latency": settings, "delay_variation": settings})
    found = Outcome(
        outcome_id="t",
        metric="throughput.rfc2544_26_1",
        cell=BOTH,
        type=OutcomeType.MEASURED,
        lower=Bound(load_fps=1000, trials=(1,)),
    )
    taken: list[TrialSpec] = []

    def trial(spec: TrialSpec, phase: str) -> JudgedTrial:
        taken.append(spec)
        return take(len(taken), spec)

    asked = Asked(
        profile=profile, cell=BOTH, outcome_id="id", trial=trial, max_load_fps=2000, throughput=found
    )
    (outcome,) = measurement(name).measure(asked).outcomes
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {one.metric: one.number for one in outcome.values}


def test_constant_delays_have_no_variation_in_either_direction():
    found = values(measured("delay_variation"))
    assert len(found) == 6
    assert set(found.values()) == {0.0}
    assert set(found) == {
        f"pdv.rfc8219_7_3_1.{way}{end}" for way in ("forward", "reverse") for end in ("", ".p1", ".p99")
    }


@pytest.mark.parametrize("name", ["latency", "tagged_latency", "latency_rfc8219"])
def test_latency_is_that_of_each_direction(name: str):
    found = values(measured(name))
    for way, truth_ns in zip(("forward", "reverse"), TRUTH_NS, strict=True):
        mine = {number for metric, number in found.items() if directions.without(metric)[1] == way}
        assert mine == {truth_ns}
    assert all(directions.without(metric)[1] for metric in found)


def test_neighbours_of_two_directions_are_none():
    assert set(values(measured("ipdv")).values()) == {0.0}


@pytest.mark.parametrize("streams", [10, 20])
def test_streams_are_counted_of_each_direction(streams: int):
    for name in ("tagged_latency", "latency_rfc8219"):
        said = measured(name, streams=streams).quality
        assert said[0].split(" streams of ")[0].endswith(f" {streams}")
        assert "in each direction" in said[0]
        assert any("at least 20 are required" in remark for remark in said) == (streams < 20)


def test_a_direction_without_its_tagged_frames_is_told():
    goal = tagged_latency.StreamsGoal(cell=BOTH, throughput_fps=1000, streams=1, tags=500)
    one = tagged_latency.TaggedFrame(sent_ns=0, received_ns=5, after_s=61.0)
    tags = {1: [one] * 1000}  # all of them forward: enough for two directions, were they counted together
    ended = Run(trials=(take(1, goal.spec()),), found=(1,))
    found = tagged_latency.rfc8219_outcome(ended, tags, goal, outcome_id="t")
    assert found.type is OutcomeType.INVALID


def test_a_direction_without_any_frame_makes_the_latency_invalid():
    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0, direction=Direction.BOTH)
    trial = take(1, spec)
    silent = replace(trial.result.streams[1], received_frames=0, latency=LatencyHistogram())
    trial = replace(trial, result=replace(trial.result, streams=(trial.result.streams[0], silent)))
    ended = Run(trials=(trial,), found=(trial,))
    found = latency.outcome(ended, spec, BOTH, outcome_id="t", may_lose=latency.MayLose(share=1.0))
    assert found.type is OutcomeType.INVALID
    assert "reverse" in found.reason
