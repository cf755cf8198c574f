"""The benchmarks beside throughput: their steps on models, and their arithmetic on numbers known by hand."""

import dataclasses
import json
from fractions import Fraction

import pytest
from fake_measurers import CELL, Device, by_name

from bmwg.methodology.benchmarks import back_to_back, delay_variation, frame_loss, imix, soak, tagged_latency
from bmwg.methodology.benchmarks.statistics import median, percentile, spread
from bmwg.methodology.measurements.back_to_back import burst_goal
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import OutcomeType, TrialSpec
from bmwg.methodology.search.stepwise import Run, Step, replay, run
from bmwg.methodology.simulated_devices.bench import ModelBench, ModelTester
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.frame_times import LatencyHistogram


class TestFrameLoss:
    def goal(self, **changes):
        return frame_loss.LossGoal(**{"cell": CELL, "max_load_fps": 1_000_000, "duration_s": 1.0, **changes})

    def test_ends_after_two_successive_loads_without_loss(self):
        ended = run(frame_loss.procedure(self.goal()), Device(truth_fps=750_000))
        assert [point.load_fps for point in ended.found] == [
            1_000_000,
            900_000,
            800_000,
            700_000,
            600_000,
        ]
        assert [round(point.loss_ratio, 6) for point in ended.found] == [0.25, 0.166667, 0.0625, 0.0, 0.0]
        outcome = frame_loss.outcome(ended, self.goal(), outcome_id="T")
        assert by_name(outcome)["frame_loss_ratio.rfc2544_26_3.1000000fps"] == 0.25
        assert {value.unit for value in outcome.values} == {"1"}

    def test_goes_down_to_the_last_step_when_loss_does_not_end(self):
        ended = run(frame_loss.procedure(self.goal()), Device(truth_fps=10))
        assert len(ended.found) == 10
        assert ended.found[-1].load_fps == 100_000

    def test_a_load_beyond_the_tester_has_no_ratio(self):
        goal = self.goal()
        ended = run(frame_loss.procedure(goal), Device(truth_fps=750_000, tester_fps=850_000))
        outcome = frame_loss.outcome(ended, goal, outcome_id="T")
        assert ended.found[0].loss_ratio is None
        assert "frame_loss_ratio.rfc2544_26_3.1000000fps" not in by_name(outcome)
        assert any("no valid trial, so no value: 1000000, 900000" in remark for remark in outcome.quality)
        none = run(frame_loss.procedure(goal), Device(truth_fps=750_000, tester_fps=10))
        assert frame_loss.outcome(none, goal, outcome_id="T").type is OutcomeType.TESTER_LIMITED

    def test_replays(self):
        device, kept = Device(truth_fps=750_000, stall_share=0.3, seed=4), []
        ended = run(
            frame_loss.procedure(self.goal(max_repeats=20)),
            lambda spec: kept.append(device(spec)) or kept[-1],
        )
        assert replay(frame_loss.procedure(self.goal(max_repeats=20)), kept) == ended
        assert isinstance(replay(frame_loss.procedure(self.goal(max_repeats=20)), kept[:-1]), Step)

    @pytest.mark.parametrize("step", [Fraction(1, 5), Fraction(0)])
    def test_refuses_steps_that_are_too_large(self, step):
        with pytest.raises(ValueError, match=r"26\.3"):
            self.goal(step=step)


class TestBackToBack:
    def goal(self, **changes):
        values = {
            "cell": CELL,
            "max_rate_fps": 1_000_000,
            "throughput_fps": 600_000,
            "repetitions": 3,
            "max_burst_s": 1.0,
        }
        return back_to_back.BurstGoal(**{**values, **changes})

    @pytest.mark.parametrize("depth", [16, 256, 4096, 100_000])
    def test_a_queue_of_known_depth_is_found_within_a_frame_or_two(self, depth):
        device = HardLimit(limit_fps=600_000, buffer_frames=depth)
        goal = self.goal()
        ended = run(back_to_back.procedure(goal), ModelBench(device=device, seed=1).measure)
        outcome = back_to_back.outcome(ended, goal, outcome_id="T")
        numbers = by_name(outcome)
        assert outcome.type is OutcomeType.MEASURED
        assert numbers["back_to_back.rfc9004"] == pytest.approx(device.longest_burst(1_000_000), abs=3)
        # the buffer time is the depth over the maximum rate, RFC 9004 6.4
        assert numbers["buffer_time.rfc9004.corrected"] == pytest.approx(depth / 1e6, abs=3e-6)
        assert numbers["buffer_time.rfc9004.implied"] == pytest.approx(depth / 0.4 / 1e6, abs=3e-6)

    def test_each_repetition_is_kept_and_replays(self):
        bench, goal, kept = (
            ModelBench(device=HardLimit(limit_fps=600_000, buffer_frames=256), seed=1),
            self.goal(),
            [],
        )
        ended = run(back_to_back.procedure(goal), lambda spec: kept.append(bench.measure(spec)) or kept[-1])
        assert len(ended.found) == 3
        assert replay(back_to_back.procedure(goal), kept) == ended
        assert any(
            remark.count("640") == 3 for remark in back_to_back.outcome(ended, goal, outcome_id="T").quality
        )

    def test_ends_are_typed(self):
        def outcome(goal, device, tester=None):
            bench = ModelBench(device=device, seed=1, tester=tester or ModelTester())
            ended = run(back_to_back.procedure(goal), bench.measure)
            return back_to_back.outcome(ended, goal, outcome_id="T")

        assert outcome(self.goal(), HardLimit(limit_fps=2_000_000)).type is OutcomeType.AT_CEILING
        assert outcome(self.goal(), HardLimit(limit_fps=0)).type is OutcomeType.AT_FLOOR
        assert (
            outcome(self.goal(throughput_fps=1_000_000), HardLimit(limit_fps=0)).type
            is OutcomeType.NOT_ASSESSED
        )
        slow = outcome(self.goal(), HardLimit(limit_fps=600_000), ModelTester(limit_fps=700_000))
        assert slow.type is OutcomeType.TESTER_LIMITED

    @pytest.mark.parametrize(
        ("change", "clause"),
        [
            ({"max_burst_s": 31.0}, "max_burst_s .RFC 9004 6.2"),
            ({"repetitions": 0}, "repetitions .RFC 9004 6.3"),
            ({"step_frames": 0}, "step_frames .RFC 9004 6.2"),
            ({"throughput_fps": 0}, "throughput_fps .RFC 9004 5"),
        ],
    )
    def test_contradictions_are_refused_by_field_and_clause(self, change, clause):
        with pytest.raises(ValueError, match=clause):
            self.goal(**change)


def test_a_burst_may_be_searched_up_to_thirty_seconds():
    data = dict(load_profile("rfc2544").data)
    data["benchmarks"] = {"back_to_back": {"max_burst_s": 30.0}}
    goal = burst_goal(parse_profile(json.dumps(data), source="made"), CELL, 14_880_952, None)
    assert goal.max_burst_s == 30.0
    assert goal.max_burst_frames == 30 * 14_880_952


def test_a_tester_listens_for_as_long_as_the_burst_lasts():
    short, long = (
        TrialSpec(frame_octets=64, load_fps=1_000_000, duration_s=s, burst=True) for s in (0.1, 10.0)
    )
    assert back_to_back.listening_s(short, 2.0) == pytest.approx((2.01, 4.01))
    assert back_to_back.listening_s(long, 2.0) == pytest.approx((11.0, 111.0))


class TestTaggedLatency:
    goal = tagged_latency.StreamsGoal(cell=CELL, throughput_fps=10_000, streams=3)

    def ended(self):
        return run(tagged_latency.procedure(self.goal), Device(truth_fps=10_000))

    def tags(self, *latencies, after_s=60.5):
        return {
            seq: [
                tagged_latency.TaggedFrame(sent_ns=5, received_ns=9, after_s=1.0),
                tagged_latency.TaggedFrame(
                    sent_ns=100, received_ns=None if ns is None else 100 + ns, after_s=after_s
                ),
            ]
            for seq, ns in enumerate(latencies, start=1)
        }

    def test_the_mean_of_one_tag_a_stream_after_sixty_seconds(self):
        found = tagged_latency.rfc2544_outcome(
            self.ended(), self.tags(1000, 2000, 6000), self.goal, outcome_id="T"
        )
        assert by_name(found)["latency.rfc2544_26_2"] == 3000
        assert any("at least 20 are required" in remark for remark in found.quality)
        assert len(found.trials) == 3

    def test_a_lost_tag_is_no_latency(self):
        found = tagged_latency.rfc2544_outcome(
            self.ended(), self.tags(1000, None, 6000), self.goal, outcome_id="T"
        )
        assert found.type is OutcomeType.UNSTABLE
        assert found.values == ()
        assert found.statement == found.reason
        assert found.reason.endswith("trials 2")

    def test_a_tag_that_never_left_is_a_broken_trial(self):
        tags = self.tags(1000, 2000, 6000) | {2: ()}
        found = tagged_latency.rfc2544_outcome(self.ended(), tags, self.goal, outcome_id="T")
        assert found.type is OutcomeType.INVALID

    def test_a_tag_before_sixty_seconds_does_not_count(self):
        tags = self.tags(1, 2, 3, after_s=59.0)
        found = tagged_latency.rfc2544_outcome(self.ended(), tags, self.goal, outcome_id="T")
        assert found.type is OutcomeType.INVALID

    def test_typical_and_worst_case_of_rfc8219(self):
        def samples(base):
            return [
                tagged_latency.TaggedFrame(sent_ns=0, received_ns=base + rank, after_s=61.0)
                for rank in range(1, 1001)
            ]

        tags = {1: samples(0), 2: samples(10_000), 3: samples(20_000)}
        found = tagged_latency.rfc8219_outcome(self.ended(), tags, self.goal, outcome_id="T")
        numbers = by_name(found)
        assert numbers["latency.rfc8219_7_2.typical"] == 10_500.5
        assert numbers["latency.rfc8219_7_2.worst_case"] == 10_999
        assert numbers["latency.rfc8219_7_2.typical.p1"] == 500.5
        few = tagged_latency.rfc8219_outcome(self.ended(), {1: samples(0)[:499]}, self.goal, outcome_id="T")
        assert few.type is OutcomeType.INVALID

    @pytest.mark.parametrize(("number", "largest"), [(500, True), (999, True), (1000, False)])
    def test_a_worst_case_that_is_a_single_frame_says_so(self, number, largest):
        tag = tagged_latency.TaggedFrame(sent_ns=0, received_ns=5, after_s=61.0)
        found = tagged_latency.rfc8219_outcome(
            self.ended(), dict.fromkeys((1, 2, 3), [tag] * number), self.goal, outcome_id="T"
        )
        assert (f"of {number} tagged frames the 99.9th percentile is the largest" in found.quality) is largest


class TestDelayVariation:
    def test_pdv_by_hand(self):
        delays = [1000, *range(1001, 2000), None]
        assert delay_variation.pdv_ns(delays) == 998
        with pytest.raises(ValueError):
            delay_variation.pdv_ns([None])

    def test_pdv_of_a_histogram_is_never_below_the_true_one(self):
        delays = list(range(1000, 2000))
        buckets = tuple((low, low + 49, 50) for low in range(1000, 2000, 50))
        histogram = LatencyHistogram(buckets=buckets, sum_ns=sum(delays), min_ns=1000, max_ns=1999)
        found, excess = delay_variation.pdv_of_histogram_ns(histogram)
        exact = delay_variation.pdv_ns(delays)
        assert exact <= found <= exact + excess
        assert excess <= 50

    def test_ipdv_by_hand_leaves_out_pairs_with_a_lost_frame(self):
        found = delay_variation.ipdv([10, 15, 12, None, 20, 21])
        assert (found.minimum_ns, found.median_ns, found.maximum_ns, found.pairs) == (-3, 1, 5, 3)

    def test_ipdv_of_the_last_frames_of_known_streams(self):
        base = TrialSpec(frame_octets=64, load_fps=10_000, duration_s=0.5)
        spec = delay_variation.with_last_frames_tagged(base)
        assert spec.tag_frames == tuple(range(5000 - 1024, 5000))
        few = delay_variation.with_last_frames_tagged(dataclasses.replace(base, load_fps=100))
        assert few.tag_frames == tuple(range(50))
        goal = delay_variation.StreamsGoal(spec=spec, streams=2)

        def measured(jump_ns, lost=()):
            def measure(wanted):
                trial = Device(truth_fps=10**6)(wanted)
                tagged = [1000 + jump_ns * (n % 2) for n in range(1024)]
                tagged = tuple(None if n in lost else ns for n, ns in enumerate(tagged))
                stream = dataclasses.replace(trial.result.streams[0], tagged_ns=tagged)
                return dataclasses.replace(trial, result=dataclasses.replace(trial.result, streams=(stream,)))

            ended = run(delay_variation.procedure(goal), measure)
            return delay_variation.ipdv_outcome(ended, goal, CELL, outcome_id="i")

        found = by_name(measured(40))
        name = delay_variation.SAMPLE_METRIC
        assert (found[f"{name}.min"], abs(found[name]), found[f"{name}.max"]) == (-40, 40, 40)
        assert "at least 1021 pairs" in measured(40, lost={7}).quality[0]
        none = measured(40, lost=set(range(1024)))
        assert (none.type, none.values) == (OutcomeType.INVALID, ())

    def test_over_repetitions(self):
        found = delay_variation.over_repetitions([float(value) for value in range(1, 21)])
        assert (found.median_ns, found.p1_ns, found.p99_ns) == (10.5, 1, 20)


class TestSoak:
    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0)

    def test_counts_lossy_intervals_and_runs(self):
        device = Device(truth_fps=1000)
        goal = soak.SoakGoal(spec=self.spec, intervals=10)

        def measure(spec):
            device.truth_fps = 900 if len(device.trials) in (2, 3, 7) else 1000
            return device(spec)

        found = run(soak.procedure(goal), measure).found
        assert (found.lossy_intervals, found.longest_lossy_run) == (3, 2)
        assert found.loss_ratio == pytest.approx(0.03)
        assert found.worst_loss_ratio == pytest.approx(0.1)
        assert found.drift_ns == pytest.approx(0)

    def test_too_many_gaps_end_it(self):
        ended = run(
            soak.procedure(soak.SoakGoal(spec=self.spec, intervals=10)),
            Device(truth_fps=10**6, stall_share=1.0),
        )
        assert ended.found is None
        assert "not valid" in ended.reason


class TestImix:
    def test_letters_runs_and_proportions(self):
        found = imix.parse("7a4d1g")
        assert found.letters == "aaaaaaaddddg"
        assert found.run_lengths == "7a4d1g"
        assert found.proportions == ((64, Fraction(7, 12)), (512, Fraction(1, 3)), (1518, Fraction(1, 12)))
        assert found.mean_octets == Fraction(7 * 64 + 4 * 512 + 1518, 12)
        assert imix.genome(found.sequence) == found

    def test_custom_sizes_and_mtu(self):
        found = imix.genome([64, 90, 1500, 90], mtu_octets=1500)
        assert found.letters == "aAzA"
        assert imix.parse("aAzA", mtu_octets=1500, custom={"A": 90}) == found

    @pytest.mark.parametrize("word", ["", "a?", "az", "aQ", "j", "0a"])
    def test_refusals(self, word):
        with pytest.raises(ValueError):
            imix.parse(word)


def test_statistics_by_hand():
    assert dataclasses.astuple(spread([1.0, 2.0, 3.0])) == (3, 2.0, 1.0, 3.0, 1.0)
    assert spread([4.0]).deviation == 0
    assert median([1.0, 2.0, 3.0, 10.0]) == 2.5
    assert percentile([float(value) for value in range(1, 1001)], Fraction(999, 1000)) == 999
    with pytest.raises(ValueError):
        spread([])


def test_a_run_that_cannot_end_keeps_its_trials():
    device = Device(truth_fps=10)

    def measure(spec):
        if device.trials:
            raise RuntimeError("gone")
        return device(spec)

    ended = run(frame_loss.procedure(TestFrameLoss().goal()), measure)
    assert isinstance(ended, Run)
    assert (ended.found, len(ended.trials)) == (None, 1)
    outcome = frame_loss.outcome(ended, TestFrameLoss().goal(), outcome_id="T")
    assert (outcome.type, outcome.trials) == (OutcomeType.INVALID, (1,))
