"""The least interval between bursts, against devices whose truth can be computed."""

import math
from dataclasses import dataclass, replace

import pytest

from bmwg.methodology.answers.believed import believed
from bmwg.methodology.benchmarks import burst_interval
from bmwg.methodology.benchmarks.burst_interval import BURST_FRAMES, METRIC
from bmwg.methodology.measurements.burst_interval import MEASUREMENTS
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    Cell,
    OutcomeType,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.trial.judging import RecordedTrial, TrialPolicy, assess, judge
from bmwg.methodology.trial.repeated_bursts import BurstTimes, due_s, interval_ns

CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
RATE_FPS = 250_000
PROFILE = replace(load_profile("rfc2544"), trial_duration_s=1.0)


@dataclass
class Queue:
    """Holds `depth_frames`, forwards `served_fps`; a queue that is full loses what comes."""

    depth_frames: int
    served_fps: int

    def lost(self, spec: TrialSpec) -> int:
        """Step from burst to burst; the queue is a fluid, so a frame is lost for each that does not fit."""
        held = lost = 0.0
        period_s = spec.burst_frames / spec.load_fps
        rest_s = period_s - spec.burst_frames / spec.burst_fps
        for _ in range(spec.bursts):
            held += spec.burst_frames * (1 - min(1.0, self.served_fps / spec.burst_fps))
            if held > self.depth_frames:
                lost += held - self.depth_frames
                held = float(self.depth_frames)
            held = max(0.0, held - self.served_fps * rest_s)
        return math.ceil(lost - 1e-6)

    def least_s(self, frames: int, duration_s: float) -> float | None:
        """Return the least interval (s) for bursts of a size; None where no interval is long enough.

        In a trial of B bursts the queue may grow from burst to burst, as long as the last one still fits:
        (B - 1)(n - r P) + n (1 - r / R) <= Q, with P the time from burst to burst.
        """
        room = self.depth_frames - frames * (1 - self.served_fps / RATE_FPS)
        if room < 0:
            return None
        period_s = frames / self.served_fps
        for _ in range(50):  # how many bursts a trial has follows from the period
            bursts = max(2, round(duration_s / period_s))
            period_s = (frames - room / (bursts - 1)) / self.served_fps
        return max(0.0, period_s - frames / RATE_FPS)


def left(spec: TrialSpec) -> BurstTimes:
    """Bursts that left as they should."""
    length_ns = round((spec.burst_frames - 1) * 1e9 / spec.burst_fps)
    apart_ns = round(spec.burst_frames * 1e9 / spec.load_fps) - length_ns
    return BurstTimes(
        bursts=spec.bursts,
        lengths_ns=spec.bursts * length_ns,
        longest_ns=length_ns,
        intervals_ns=(spec.bursts - 1) * apart_ns,
        shortest_interval_ns=apart_ns,
    )


def trial_of(spec: TrialSpec, lost: int, **changes) -> TrialResult:
    stream = StreamCounts(
        intended_frames=spec.intended_frames,
        sent_frames=spec.intended_frames,
        received_frames=spec.intended_frames - lost,
        effective_duration_ns=round(spec.due_s * 1e9),
        bursts=left(spec),
    )
    return TrialResult(spec=spec, streams=(replace(stream, **changes),), wall_time_ns=60 * 10**9)


def measured(device):
    """The outcomes of all sizes of a burst, and the trials that they took."""
    trials = []

    def take(spec, phase):
        recorded = RecordedTrial(seq=len(trials) + 1, result=trial_of(spec, device.lost(spec)))
        trials.append(judge(recorded, PROFILE.policy))
        return trials[-1]

    asked = Asked(profile=PROFILE, cell=CELL, outcome_id="t:c", trial=take, max_load_fps=RATE_FPS)
    return [outcome for one in MEASUREMENTS for outcome in one.measure(asked).outcomes], trials


@pytest.mark.parametrize("served_fps", [25_000, 83_333, 225_000])
@pytest.mark.parametrize("depth_frames", [20, 300, 2_000])
def test_the_interval_of_a_queue_of_known_depth_and_rate(served_fps, depth_frames):
    device = Queue(depth_frames=depth_frames, served_fps=served_fps)
    outcomes, _ = measured(device)
    assert [one.metric for one in outcomes] == [f"{METRIC}.{n}" for n in BURST_FRAMES]
    for frames, outcome in zip(BURST_FRAMES, outcomes, strict=True):
        truth_s = device.least_s(frames, PROFILE.trial_duration_s)
        if truth_s is None:
            assert outcome.type is OutcomeType.AT_FLOOR, (frames, outcome.reason)
            assert not outcome.values
            assert "loss even with" in outcome.statement
            continue
        assert outcome.type is OutcomeType.MEASURED, (frames, outcome.reason)
        works, fails = (
            next(q.number for q in outcome.values if q.metric == name)
            for name in (outcome.metric, f"{METRIC}.lossy")
        )
        bursts = round(served_fps * PROFILE.trial_duration_s / frames)
        slack_ns = 1e9 * frames / served_fps / max(1, bursts - 2)  # a trial holds a whole number of bursts
        assert fails - slack_ns <= truth_s * 1e9 <= works + slack_ns, (frames, fails, truth_s, works)
        assert works - fails <= PROFILE.search.relative_width * frames / served_fps * 1e9 * 1.1 + 2


def test_answers_stand_on_their_trials_and_loss_at_any_interval_is_no_contradiction():
    outcomes, trials = measured(Queue(depth_frames=300, served_fps=83_333))
    for outcome in outcomes:
        mine = [trial for trial in trials if trial.seq in outcome.trials]
        kept = believed(outcome, mine, most_ratio=0.1, continued=False)
        assert kept.type is outcome.type
    assert outcomes[-1].type is OutcomeType.AT_FLOOR  # 1,024 frames do not fit


def test_an_interval_that_a_lower_load_contradicts_is_unstable():
    class Moody(Queue):
        def lost(self, spec):
            return 5 if 37_500 < spec.load_fps < 42_500 else super().lost(spec)

    outcomes, trials = measured(Moody(depth_frames=2_000, served_fps=83_333))
    outcome = outcomes[0]
    lossy = replace(outcome, lower=replace(outcome.lower, load_fps=83_000))
    mine = [
        judge(
            RecordedTrial(seq=1, result=trial_of(replace(trials[0].result.spec, load_fps=40_000), 5)),
            PROFILE.policy,
        )
    ]
    assert believed(lossy, mine, most_ratio=None, continued=False).type is OutcomeType.UNSTABLE


def test_a_device_as_fast_as_its_port_needs_no_interval():
    outcomes, _ = measured(Queue(depth_frames=10, served_fps=2 * RATE_FPS))
    assert {one.type for one in outcomes} == {OutcomeType.AT_CEILING}
    assert all(one.lower.load_fps == RATE_FPS for one in outcomes)
    assert outcomes[0].statement == "no loss with 0 ns between bursts, or more"


def test_each_trial_has_at_least_ten_whole_bursts():
    asked = Asked(profile=load_profile("quick"), cell=CELL, outcome_id="x", trial=None, max_load_fps=RATE_FPS)
    for one in (measurement.wanted(asked) for measurement in MEASUREMENTS):
        spec = one.goal.spec(one.goal.min_load_fps)
        assert spec.bursts >= burst_interval.LEAST_BURSTS
        assert spec.intended_frames == spec.bursts * one.burst_frames
        assert spec.due_s <= spec.total_s


def test_numbers_of_bursts():
    assert interval_ns(64, 1_000_000, 1_000_000) == 0
    assert interval_ns(64, 100_000, 1_000_000) == 576_000
    assert due_s(10, 100, 1_000, 3) == pytest.approx(0.209)
    spec = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, burst_frames=300, burst_fps=2_000)
    assert (spec.bursts, spec.intended_frames) == (3, 900)


@pytest.mark.parametrize(
    "wrong",
    [
        {"burst_frames": 16},
        {"burst_fps": 10},
        {"burst_frames": 1, "burst_fps": 2_000},
        {"burst_frames": 16, "burst_fps": 999},
        {"burst_frames": 16, "burst_fps": 2_000, "burst": True},
        {"burst_frames": 16, "burst_fps": 2_000, "then_load_fps": 1, "then_duration_s": 1.0},
    ],
)
def test_bursts_that_no_trial_can_have_are_refused(wrong):
    with pytest.raises(ValueError, match="burst"):
        TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, **wrong)


def test_bursts_with_wider_gaps_than_asked_for_are_short_and_no_answer():
    spec = TrialSpec(frame_octets=64, load_fps=50_000, duration_s=1.0, burst_frames=64, burst_fps=RATE_FPS)
    good = left(spec)
    assert assess(trial_of(spec, 0), TrialPolicy()).validity is Validity.VALID
    wide = replace(good, lengths_ns=good.bursts * 300_000)  # 252,000 were asked for
    assert assess(trial_of(spec, 0, bursts=wide), TrialPolicy()).validity is Validity.SENT_SHORT
    assert assess(trial_of(spec, 0, bursts=None), TrialPolicy()).validity is Validity.SENT_SHORT


def test_a_tester_that_cannot_send_so_densely_limits_the_answer():
    trials = []

    def take(spec, phase):
        wide = replace(left(spec), lengths_ns=spec.bursts * spec.burst_frames * 8_000)
        recorded = RecordedTrial(seq=len(trials) + 1, result=trial_of(spec, 0, bursts=wide))
        trials.append(judge(recorded, PROFILE.policy))
        return trials[-1]

    asked = Asked(
        profile=PROFILE, cell=CELL, outcome_id="t:c", trial=take, max_load_fps=RATE_FPS, medium_fps=1_488_095
    )
    types = {outcome.type for one in MEASUREMENTS for outcome in one.measure(asked).outcomes}
    assert types == {OutcomeType.TESTER_LIMITED}
