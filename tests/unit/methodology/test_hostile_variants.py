"""The audit's cases once more, with other numbers, profiles and directions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

import pytest

from bmwg.methodology.answers.believed import believed
from bmwg.methodology.benchmarks import recovery
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan.turns import interleaved
from bmwg.methodology.profiles import Profile, builtin_names, load_profile
from bmwg.methodology.records import (
    Bound,
    Cell,
    Direction,
    Outcome,
    OutcomeType,
    Quantity,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Device
from bmwg.methodology.simulated_devices.unruly import Fatiguing, Hysteretic, PerFrameLossy
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import (
    JudgedTrial,
    RecordedTrial,
    StallEvidence,
    TrialPolicy,
    assess,
    judge,
)

CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=512)
BOTH = replace(CELL, direction=Direction.BOTH)
SEARCHES = [
    ("rfc2544", "throughput"),
    ("rfc8204", "throughput"),
    ("tst009", "tst009"),
    ("rfc9971", "mlrsearch"),
]


@dataclass
class Bench:
    """Judges what a maker of results tells by a profile's policy, and keeps all of it."""

    profile: Profile
    result: object
    trials: list[JudgedTrial] = field(default_factory=list)

    def __call__(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        told = self.result(spec)  # type: ignore[operator]
        self.trials.append(judge(RecordedTrial(seq=len(self.trials) + 1, result=told), self.profile.policy))
        return self.trials[-1]


def answers(name: str, kind: str, cell: Cell, result: object) -> list[Outcome]:
    """Search a cell as a run with this profile does, with all that then stands beside the answers."""
    profile = load_profile(name)
    bench = Bench(profile, result)
    asked = Asked(
        profile=profile,
        cell=cell,
        outcome_id="id",
        trial=bench,
        max_load_fps=1_500_000,
        envelope_fps=1_500_000,
    )
    answered = measurement(kind).measure(asked)
    assert answered.error is None
    policy = profile.policy
    return [
        believed(
            one,
            [trial for trial in bench.trials if trial.seq in set(one.trials)],
            most_ratio=policy.most_set_aside_ratio,
            continued=False,
            by_cpu=policy.stall_evidence is StallEvidence.CPU,
            policy=policy,
        )
        for one in answered.outcomes
    ]


def plain(found: list[Outcome]) -> list[float]:
    return [one.values[0].number for one in found if one.type is OutcomeType.MEASURED]


@dataclass
class Bursting:
    """Bursts above a load lose frames and take the tester's CPU, in one direction or in both."""

    seed: int
    above_fps: int
    limit_fps: int
    share: float
    worse: int | None  # the direction that loses; None: both
    lost: int = 3_000

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def __call__(self, spec: TrialSpec) -> TrialResult:
        sent = spec.intended_frames
        bursts = spec.load_fps > self.above_fps and self.dice.random() < self.share
        streams = []
        for way in range(2 if spec.direction is Direction.BOTH else 1):
            lost = min(sent, self.lost) if bursts and self.worse in (None, way) else 0
            streams.append(
                StreamCounts(
                    intended_frames=sent,
                    sent_frames=sent,
                    received_frames=min(sent - lost, int(self.limit_fps * spec.duration_s)),
                    largest_gap_ns=7_000_000 if bursts else 0,
                    effective_duration_ns=int(spec.duration_s * 1e9),
                )
            )
        gone = 7_000_000 if bursts else 0
        watch = CpuWatch(cpu=0, tester=True, absences=int(bursts), absent_ns=gone, longest_ns=gone)
        return TrialResult(
            spec=spec,
            streams=tuple(streams),
            wall_time_ns=int(spec.duration_s * 1e9),
            disturbance=HostDisturbance(watches=(watch,)),
        )


@pytest.mark.parametrize(("name", "kind"), SEARCHES)
@pytest.mark.parametrize(("above", "limit", "share"), [(90_000, 310_000, 0.9), (650_000, 1_200_000, 0.5)])
def test_bursts_that_take_the_testers_cpu_in_the_way_back_alone_raise_no_answer(
    name: str, kind: str, above: int, limit: int, share: float
) -> None:
    for seed in range(12):
        for number in plain(answers(name, kind, BOTH, Bursting(seed, above, limit, share, worse=1))):
            assert number <= above * 1.05


@pytest.mark.parametrize(("name", "kind"), SEARCHES)
def test_a_device_that_tires_or_drops_at_any_load_has_no_plain_number_in_any_profile(
    name: str, kind: str
) -> None:
    for seed, make in enumerate(
        [
            lambda: Fatiguing(limit_fps=230_000, fading_per_s=1e-3),
            lambda: Fatiguing(limit_fps=1_100_000, fading_per_s=3e-4),
            lambda: PerFrameLossy(limit_fps=180_000, loss_ratio=2e-5),
            lambda: PerFrameLossy(limit_fps=930_000, loss_ratio=5e-6),
            lambda: Hysteretic(limit_fps=410_000),
        ]
    ):
        device: Device = make()
        bench = ModelBench(device=device, seed=seed)
        found = [
            one
            for one in answers(name, kind, CELL, bench._result)
            if "d0l" in one.metric or not one.metric.startswith("conditional")  # a goal that allows no loss
        ]
        assert plain(found) == [], device


def trial(
    seq: int, load: int, lost: int, validity: Validity = Validity.VALID, duration_s: float = 1.0
) -> JudgedTrial:
    frames = int(load * duration_s)
    stream = StreamCounts(intended_frames=frames, sent_frames=frames, received_frames=frames - lost)
    spec = TrialSpec(frame_octets=512, load_fps=load, duration_s=duration_s)
    result = TrialResult(spec=spec, streams=(stream,), wall_time_ns=10**9)
    return JudgedTrial(seq=seq, result=result, validity=validity)


def claimed(kind: OutcomeType, load: int, metric: str = "throughput.tst009_12_3") -> Outcome:
    values = (Quantity(metric=metric, number=load, unit="frames/s"),)
    return Outcome(
        outcome_id="id",
        metric=metric,
        cell=BOTH,
        type=kind,
        values=values if kind is OutcomeType.MEASURED else (),
        lower=Bound(load_fps=load, trials=(99,)),
    )


@pytest.mark.parametrize("kind", [OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED])
def test_what_was_set_aside_is_told_of_every_answer_that_claims_a_load(kind: OutcomeType) -> None:
    """The audit's: 206,897 was answered where 53,203 came through in all trials."""
    trials = [
        trial(1, 53_203, 0),
        *(trial(seq, 106_000, 41, Validity.TESTER_STALLED) for seq in range(2, 5)),
        trial(5, 106_000, 0),
        trial(6, 206_897, 900, Validity.SENT_SHORT),
        *(trial(seq, 206_897, 0) for seq in (7, 8, 9, 99)),
    ]
    found = believed(claimed(kind, 206_897), trials, most_ratio=0.5, continued=False)
    assert found.type is kind
    lower = "every trial up to 53203 frames/s was without loss; if they counted, the answer might be lower"
    assert lower in found.quality[0]
    assert "tester stalled 3, sent short 1" in found.quality[0]
    strict = believed(claimed(kind, 206_897), trials, most_ratio=0.1, continued=False, by_cpu=True)
    assert strict.type is OutcomeType.UNSTABLE


@pytest.mark.parametrize("aside", [Validity.TESTER_STALLED, Validity.HOST_STALLED])
def test_short_clean_trials_make_no_disturbed_answer_calm(aside: Validity) -> None:
    disturbed = [trial(seq, 300_000, 12, aside, duration_s=60.0) for seq in range(1, 7)]
    clean = [trial(7, 300_000, 0, duration_s=60.0), trial(99, 300_000, 0, duration_s=60.0)]
    short = [trial(seq, 290_000, 0, duration_s=2.0) for seq in range(100, 160)]
    low = [trial(seq, 100_000, 0, duration_s=60.0) for seq in range(200, 240)]
    found = believed(
        claimed(OutcomeType.MEASURED, 300_000),
        [*disturbed, *clean, *short, *low],
        most_ratio=0.1,
        continued=False,
    )
    assert found.type is OutcomeType.UNSTABLE
    assert "6 of 8 trials were set aside" in found.reason


BY_CPU = TrialPolicy(stall_evidence=StallEvidence.CPU)


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("counts", [{"largest_gap_ns": 40_000_000}, {"tester_dropped_frames": 7}])
def test_what_a_dut_does_to_one_direction_of_two_is_no_excuse(way: int, counts: dict[str, int]) -> None:
    spec = TrialSpec(frame_octets=1518, load_fps=80_000, duration_s=2.0, direction=Direction.BOTH)
    quiet = StreamCounts(
        intended_frames=160_000,
        sent_frames=160_000,
        received_frames=159_000,
        effective_duration_ns=1_999_980_000,
    )
    streams = [quiet, quiet]
    streams[way] = replace(quiet, **counts)
    seen = HostDisturbance(watches=(CpuWatch(cpu=0, tester=True, absences=0, absent_ns=0, longest_ns=0),))
    result = TrialResult(spec=spec, streams=tuple(streams), wall_time_ns=1, disturbance=seen)
    assert assess(result, BY_CPU).validity is Validity.VALID


PROFILES = files("bmwg.methodology.profiles")


@pytest.mark.parametrize(
    ("name", "old", "new", "error_id"),
    [
        ("rfc9971", "set_aside_host_stalls: false", "set_aside_host_stalls: true", "PRF-06"),
        ("tst009", "stall_evidence: cpu", "stall_evidence: tester", "PRF-06"),
        ("rfc8204", "most_set_aside_ratio: 0.1", "most_set_aside_ratio: 0.11", "PRF-06"),
        ("tst009", "max_repeats: ", "max_repeats: 1", "PRF-07"),
        ("rfc9971", "max_stall_ns: 1000000", "max_stall_ns: 99999", "PRF-07"),
        ("rfc8204", "min_sent_ratio: 0.999", "min_sent_ratio: 0.9989", "PRF-08"),
        ("tst009", "min_sent_ratio: 0.999", "min_sent_ratio: 0.5", "PRF-08"),
        ("quick", "most_set_aside_ratio: 0.5", "most_set_aside_ratio: 0.6", "PRF-06"),
        ("guest", "requirement: RFC2544-4\n", "requirement: RFC2544-24-03\n", "PRF-06"),
        (
            "low-rate",
            "requirement: RFC2544-23-03\n",
            "requirement: RFC2544-24-02\n    what: another wait\n",
            "PRF-08",
        ),
    ],
)
def test_other_profiles_that_set_aside_undeclared_or_too_much_are_refused(
    tmp_path: Path, name: str, old: str, new: str, error_id: str
) -> None:
    text = (PROFILES / f"{name}.yaml").read_text()
    assert old in text
    path = tmp_path / "made.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=f"^{error_id} "):
        load_profile(str(path))


def delayed(spec: TrialSpec, delays_ns: tuple[int, int]) -> TrialResult:
    streams = []
    for delay in delays_ns if spec.direction is Direction.BOTH else delays_ns[:1]:
        frames = spec.intended_frames
        told = LatencyHistogram(
            buckets=((delay, delay, frames),), sum_ns=delay * frames, min_ns=delay, max_ns=delay
        )
        streams.append(
            StreamCounts(
                intended_frames=frames,
                sent_frames=frames,
                received_frames=frames,
                latency=told,
                tagged_ns=(delay,) * len(spec.tag_frames),
            )
        )
    return TrialResult(spec=spec, streams=tuple(streams), wall_time_ns=1)


def of_delays(profile: str, kind: str, delays_ns: tuple[int, int], **settings: object) -> Outcome:
    loaded = load_profile(profile)
    loaded = replace(loaded, benchmarks={"tagged_latency": settings, "delay_variation": settings})
    found = Outcome(
        outcome_id="t",
        metric="throughput.rfc2544_26_1",
        cell=BOTH,
        type=OutcomeType.MEASURED,
        lower=Bound(load_fps=5000, trials=(1,)),
    )
    numbers: Iterator[int] = iter(range(1, 1000))

    def take(spec: TrialSpec, phase: str) -> JudgedTrial:
        return JudgedTrial(seq=next(numbers), result=delayed(spec, delays_ns), validity=Validity.VALID)

    asked = Asked(profile=loaded, cell=BOTH, outcome_id="id", trial=take, max_load_fps=9000, throughput=found)
    (outcome,) = measurement(kind).measure(asked).outcomes
    return outcome


@pytest.mark.parametrize("delays", [(9_000_000, 3_000), (700, 701), (55_000, 55_000)])
@pytest.mark.parametrize("profile", ["quick", "rfc8204"])
def test_two_constant_delays_vary_in_no_direction_and_are_told_apart(
    profile: str, delays: tuple[int, int]
) -> None:
    for kind in ("delay_variation", "ipdv"):
        assert {one.number for one in of_delays(profile, kind, delays).values} == {0.0}
    for kind in ("latency", "tagged_latency", "latency_rfc8219"):
        found = of_delays(profile, kind, delays)
        for way, truth in zip(("forward", "reverse"), delays, strict=True):
            mine = {one.number for one in found.values if directions.without(one.metric)[1] == way}
            assert mine == {truth}


@pytest.mark.parametrize("streams", [1, 19])
@pytest.mark.parametrize("kind", ["tagged_latency", "latency_rfc8219"])
def test_nineteen_streams_both_ways_are_nineteen(kind: str, streams: int) -> None:
    said = of_delays("rfc2544", kind, (1_000, 2_000), streams=streams).quality
    assert any("at least 20 are required" in remark for remark in said)


@pytest.mark.parametrize(("throughput_fps", "overload_fps"), [(997, 1_096), (733_000, 806_299), (11, 12)])
def test_an_overload_just_short_of_110_percent_is_never_a_plain_recovery(
    throughput_fps: int, overload_fps: int
) -> None:
    lost = recovery.RecoveryTrial(
        seq=1, overload_s=60.0, overload_lost_frames=5, reduced_at_ns=10**9, last_lost_ns=2 * 10**9
    )
    short = recovery.Overload(throughput_fps=throughput_fps, overload_fps=overload_fps)
    found = recovery.recovery_outcome([lost], CELL, outcome_id="T", overload=short)
    assert (found.type, found.values) == (OutcomeType.TESTER_LIMITED, ())


@dataclass(frozen=True)
class Entry:
    key: str
    deployment: str
    block: str


@pytest.mark.parametrize("options", [2, 7])
def test_each_block_has_every_option_once_in_an_order_of_its_own(options: int) -> None:
    plan = [
        Entry(f"{form}/{block}", f"form-{form}", f"block-{block}")
        for form in range(options)
        for block in range(30)
    ]
    orders = set()
    for seed in (1, 2):
        order = interleaved(plan, seed)
        assert sorted(one.key for one in order) == sorted(one.key for one in plan)
        for place in range(0, len(order), options):
            block = order[place : place + options]
            assert len({one.block for one in block}) == 1
            assert len({one.deployment for one in block}) == options
            orders.add(tuple(one.deployment for one in block))
    assert len(orders) > 1


def test_no_conformance_profile_deviates_where_the_tester_can_send_it() -> None:
    """Sections 12 and 21: 256 networks at random, repeated bursts."""
    could = {"RFC2544-12-02", "RFC2544-12-03", "RFC2544-21-01"}
    full = load_profile("rfc2544")
    assert not could & {one.requirement for one in full.deviations}
    assert full.destination_networks == (1, 256)
    for name in builtin_names():
        profile = load_profile(name)
        if not profile.indicative:
            assert not profile.policy.set_aside_host_stalls
            assert profile.policy.stall_evidence is StallEvidence.CPU
