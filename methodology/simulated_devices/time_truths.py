"""Every measurement of time and loss on a device whose answer is known, beside the searches of `study`.

Each measurement runs as it does in a run, as the documents have it, on a `TimedBench`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.benchmarks import delay_variation, frame_loss, recovery, soak, tagged_latency
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.records import Bound, Cell, Direction, Outcome, OutcomeType, Quantity
from bmwg.methodology.simulated_devices.timed import TimedBench, Timing

LIMIT_FPS = 600_000
MAX_FPS = 1_000_000
_PROFILE = "rfc2544"
_BUCKET = 1 / 64  # of a histogram: what a percentile from it may be too large
_TYPICAL = (10_000,) * 985 + (50_000,) * 10 + (200_000,) * 5  # p99 is 50 us, p99.9 is 200 us
_STEPS = (10_000, 30_000, 15_000)  # neighbours differ by 20, -15 and -5 us
_APART = ((10_000,), (50_000,))  # constant in each direction, and not the same
_INTERVAL_MS = 1e3 / (0.55 * LIMIT_FPS) + 1e-5  # between frames of half the overload, and whole nanoseconds
_INTERVALS = 60  # of a soak that its settings leave as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The right number of one value of an outcome, and how far the answer may be above and below it."""

    metric: str
    truth: float
    above: float = 0.0
    below: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCase:
    """A device in time, the measurement that is to find it, and what it has to find."""

    name: str
    measurement: str
    timing: Timing
    known: tuple[Known, ...]
    direction: Direction = Direction.FORWARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a measurement said of one known number; None: it gave no such number."""

    case: str
    known: Known
    found: float | None

    @property
    def holds(self) -> bool:
        """Whether the number is the truth, as far as the measurement can tell it."""
        if self.found is None:
            return False
        return self.known.truth - self.known.below <= self.found <= self.known.truth + self.known.above


def cases() -> tuple[TimeCase, ...]:
    """Return the devices of the published page."""
    return (*_latency_cases(), *_loss_cases())


def _latency_cases() -> tuple[TimeCase, ...]:
    limit, one = LIMIT_FPS, latency.METRIC
    spread, steps = (
        Timing(limit_fps=limit, delays_ns=(_TYPICAL,)),
        Timing(limit_fps=limit, delays_ns=(_STEPS,)),
    )
    apart = Timing(limit_fps=limit, delays_ns=_APART)
    mean = math.fsum(_TYPICAL) / len(_TYPICAL)
    pdv, sample = delay_variation.PDV_METRIC, delay_variation.SAMPLE_METRIC
    tagged, typical = latency.RFC2544_METRIC, tagged_latency.TYPICAL_METRIC
    return (
        TimeCase(
            name="1.5 % of the frames late",
            measurement="latency",
            timing=spread,
            known=(
                *(_bucketed(f"{one}.{name}", truth) for name, truth in _percentiles(_TYPICAL)),
                Known(metric=f"{one}.max", truth=max(_TYPICAL)),
                Known(metric=f"{one}.mean", truth=mean, above=1e-6, below=1e-6),
            ),
        ),
        TimeCase(
            name="10 us one way, 50 us back",
            measurement="latency",
            known=(_bucketed(f"{one}.forward.p50", 10_000), _bucketed(f"{one}.reverse.p50", 50_000)),
            timing=apart,
            direction=Direction.BOTH,
        ),
        TimeCase(
            name="1.5 % of the frames late",
            measurement="delay_variation",
            timing=spread,
            known=(Known(metric=pdv, truth=190_000, above=200_000 * _BUCKET),),
        ),
        TimeCase(
            name="10 us one way, 50 us back",
            measurement="delay_variation",
            known=(
                Known(metric=f"{pdv}.forward", truth=0, above=10_000 * _BUCKET),
                Known(metric=f"{pdv}.reverse", truth=0, above=50_000 * _BUCKET),
            ),
            timing=apart,
            direction=Direction.BOTH,
        ),
        TimeCase(
            name="delays of 10, 30 and 15 us in turn",
            measurement="ipdv",
            timing=steps,
            known=(
                Known(metric=sample, truth=-5_000),
                Known(metric=f"{sample}.min", truth=-15_000),
                Known(metric=f"{sample}.max", truth=20_000),
            ),
        ),
        TimeCase(
            name="10 us one way; 10, 30 and 15 us in turn back",
            measurement="ipdv",
            timing=Timing(limit_fps=limit, delays_ns=((10_000,), _STEPS)),
            direction=Direction.BOTH,
            known=(
                Known(metric=f"{sample}.forward.min", truth=0),
                Known(metric=f"{sample}.forward.max", truth=0),
                Known(metric=f"{sample}.reverse.min", truth=-15_000),
                Known(metric=f"{sample}.reverse.max", truth=20_000),
            ),
        ),
        TimeCase(
            name="1 us more from stream to stream",
            measurement="tagged_latency",
            timing=replace(apart, drift_ns=1_000),
            direction=Direction.BOTH,
            known=(
                Known(metric=f"{tagged}.forward", truth=10_000 + 500 * (tagged_latency.STREAMS - 1)),
                Known(metric=f"{tagged}.reverse", truth=50_000 + 500 * (tagged_latency.STREAMS - 1)),
            ),
        ),
        TimeCase(
            name="10 us one way, 50 us back",
            measurement="latency_rfc8219",
            known=(
                Known(metric=f"{typical}.forward", truth=10_000),
                Known(metric=f"{typical}.reverse", truth=50_000),
            ),
            timing=apart,
            direction=Direction.BOTH,
        ),
    )


def _loss_cases() -> tuple[TimeCase, ...]:
    limit = LIMIT_FPS
    curve = range(MAX_FPS, limit, -MAX_FPS // 10)
    lossy, lost, sent = frozenset({10, 11, 12}), 600, LIMIT_FPS * 9 // 10 * 60
    away = frozenset({20, 21, 22, 40})
    return (
        TimeCase(
            name="a hard limit of 600,000 frames/s",
            measurement="frame_loss",
            timing=Timing(limit_fps=limit),
            known=tuple(
                Known(metric=f"{frame_loss.METRIC}.{load}fps", truth=1 - limit / load, above=1e-9, below=1e-9)
                for load in curve
            ),
        ),
        *(
            TimeCase(
                name=f"loses all for {1e3 * seconds:g} ms after an overload",
                measurement="recovery",
                timing=Timing(limit_fps=limit, recovery_s=seconds),
                # the last lost frame is due up to one interval before the device recovers
                known=(Known(metric=recovery.RECOVERY_METRIC, truth=1e3 * seconds, below=_INTERVAL_MS),),
            )
            for seconds in (0.0021, 0.25)
        ),
        *(
            TimeCase(
                name=f"silent for {seconds:g} s after its link fell",
                measurement="reset_link",
                timing=Timing(limit_fps=limit, outage_s=seconds),
                known=(
                    Known(
                        metric=f"{recovery.RESET_METRIC}.link", truth=1e3 * seconds, above=0.01, below=0.01
                    ),
                ),
            )
            for seconds in (0.05, 1.5)
        ),
        TimeCase(
            name="loses 600 frames in 3 of 60 intervals, 0.1 us slower with each, 4 intervals disturbed",
            measurement="soak",
            timing=Timing(
                limit_fps=limit, drift_ns=100, lossy_trials=lossy, lost_frames=lost, disturbed_trials=away
            ),
            known=(
                Known(
                    metric=soak.METRIC,
                    truth=len(lossy) * lost / (sent * (_INTERVALS - len(away))),
                    above=1e-12,
                    below=1e-12,
                ),
                Known(metric="soak.worst_loss_ratio", truth=lost / sent, above=1e-12, below=1e-12),
                Known(metric="soak.lossy_intervals", truth=len(lossy)),
                Known(metric="soak.longest_lossy_run", truth=len(lossy)),
                Known(metric="soak.valid_intervals", truth=_INTERVALS - len(away)),
                Known(metric="soak.latency_drift", truth=100.0 * (_INTERVALS - 1), above=0.01, below=0.01),
            ),
        ),
    )


def _percentiles(cycle: Sequence[int]) -> list[tuple[str, int]]:
    ascending = sorted(cycle)
    ranks = [(name, math.ceil(share * len(ascending))) for name, share in latency.PERCENTILES]
    return [(name, ascending[rank - 1]) for name, rank in ranks]


def _bucketed(metric: str, truth: float) -> Known:
    return Known(metric=metric, truth=truth, above=truth * _BUCKET)


def findings(case: TimeCase, measure: Callable[[Asked], Answered] | None = None) -> tuple[Finding, ...]:
    """Return what a measurement says of each known number; `measure` is another procedure in its place."""
    kind = measurement(case.measurement)
    profile = _as_documents_have_it()
    cell = Cell(
        path="node",
        hosting="pod",
        function="testpmd",
        network="bridge",
        frame_octets=64,
        direction=case.direction,
    )
    bench = TimedBench(timing=case.timing, policy=profile.policy)
    asked = Asked(
        profile=profile,
        cell=cell,
        outcome_id="model",
        trial=bench.trial,
        max_load_fps=MAX_FPS,
        envelope_fps=MAX_FPS,
        throughput=_throughput(cell),
    )
    answered = (measure or kind.measure)(asked)
    numbers = {
        value.metric: float(value.number)
        for outcome in answered.outcomes
        if outcome.type is OutcomeType.MEASURED
        for value in outcome.values
    }
    return tuple(
        Finding(case=case.name, known=known, found=numbers.get(known.metric)) for known in case.known
    )


def _as_documents_have_it() -> Profile:
    """The profile of RFC 2544 without settings of its own for any of these benchmarks."""
    return replace(load_profile(_PROFILE), benchmarks={}, trial_duration_s=60.0)


def _throughput(cell: Cell) -> Outcome:
    return Outcome(
        outcome_id="model",
        metric=throughput.METRIC,
        cell=cell,
        type=OutcomeType.MEASURED,
        values=(Quantity(metric=throughput.METRIC, number=LIMIT_FPS, unit=throughput.UNIT),),
        lower=Bound(load_fps=LIMIT_FPS, trials=(1,)),
    )
