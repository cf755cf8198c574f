"""A device of a known truth for VSPERF's tests: a policer with known delays, and what its overload leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.records import (
    POD,
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
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossTimes
from bmwg.methodology.trial.judging import JudgedTrial

OFFERED_FPS = 200_000  # what the tester sends
CODE = "0.1f1.5d0l50e"  # of the first goal of vsperf
SEARCHING = {"vsperf": f".{CODE}", "rfc8204": ""}  # by goals and by bisection: what stands behind a metric
NS = 1_000_000_000
_SAID_BY = {
    "load_profile_chain": "load_profile",
    "worst_of_n": "of_n",
    "best_of_n": "of_n",
    "soak_ltd_modified": "soak_ltd",
}


@dataclass(kw_only=True)
class Device:
    """Passes `rate_fps` of each direction and loses the rest.

    A frame takes `delay_ns`, above the rate `busy_ns`. After an overload all frames are lost for
    `silent_s`, and until `slow_s` after it frames take `slow_ns`. Trials with an `unlucky` number, from 1,
    lose one frame more.
    """

    rate_fps: int = 100_000
    delay_ns: int = 10_000
    busy_ns: int = 500_000
    silent_s: float = 0.0
    slow_s: float = 0.0
    slow_ns: int = 50_000
    unlucky: Callable[[int], bool] = lambda number: False
    validity: Callable[[TrialSpec], Validity] = lambda spec: Validity.VALID
    trials: list[JudgedTrial] = field(default_factory=list)

    def trial(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        number = len(self.trials) + 1
        ways = 2 if spec.direction is Direction.BOTH else 1
        result = TrialResult(
            spec=spec, streams=tuple(self._stream(spec, number) for _ in range(ways)), wall_time_ns=1
        )
        validity = self.validity(spec)
        reason = "" if validity is Validity.VALID else "as the test has it"
        self.trials.append(JudgedTrial(seq=number, result=result, validity=validity, reason=reason))
        return self.trials[-1]

    def _stream(self, spec: TrialSpec, number: int) -> StreamCounts:
        first = spec.first_frames
        over = max(0, first - int(self.rate_fps * spec.duration_s))
        then_fps = spec.then_load_fps or 0
        silent = round(self.silent_s * then_fps) if over else 0
        lost = over + silent + self.unlucky(number)
        arrived = spec.intended_frames - lost
        delay = self.busy_ns if over else self.delay_ns

        def tag(frame: int) -> int | None:
            after_s = (frame - first) / then_fps if then_fps else 0.0
            if over and frame - first < silent:
                return None
            return self.slow_ns if over and after_s < self.slow_s else self.delay_ns

        reduced = int(spec.duration_s * NS) if then_fps else None
        last = int(spec.duration_s * NS) + (silent - 1) * NS // then_fps if silent else None
        if over and not silent:
            last = int(spec.duration_s * NS) - NS // spec.load_fps
        return StreamCounts(
            intended_frames=spec.intended_frames,
            sent_frames=spec.intended_frames,
            received_frames=arrived,
            latency=LatencyHistogram(
                buckets=((delay, delay, arrived),), sum_ns=delay * arrived, min_ns=delay, max_ns=delay
            )
            if arrived
            else LatencyHistogram(),
            losses=LossTimes(
                runs=int(lost > 0),
                first_received_frames=first - over,
                longest=(),
                reduced_at_ns=reduced,
                last_lost_ns=last,
            )
            if spec.loss_times
            else None,
            tagged_ns=tuple(tag(frame) for frame in spec.tag_frames),
            tagged_at_ns=tuple(0 for _ in spec.tag_frames),
        )


@cache
def _profile(name: str) -> Profile:
    return load_profile(name)


def cell(path: str = "pvp", **axes: Any) -> Cell:
    return Cell(
        path=path,
        hosting=POD,
        function="kernel-l3",
        network="bridge",
        frame_octets=64,
        axes=tuple(axes.items()),
    )


def ask(
    device: Device,
    name: str,
    *,
    wanted: Cell | None = None,
    throughput_fps: int | None = 100_000,
    found: OutcomeType = OutcomeType.MEASURED,
    medium_fps: int | None = None,
    profile: str = "vsperf",
    **said: Any,
) -> tuple[Outcome, dict[str, float]]:
    """Measure a cell on a device; its throughput is as given."""
    wanted = wanted or cell()
    named = _profile(profile)
    settings = {**named.benchmarks, **({_SAID_BY.get(name, name): said} if said else {})}
    for narrowed in ("flow_changes", "match_action"):
        if name.startswith(narrowed):
            settings.pop(narrowed, None)  # every one of them
    named = replace(named, benchmarks=settings)
    throughput = None
    if throughput_fps is not None:
        lower = Bound(load_fps=throughput_fps, trials=(1,))
        throughput = Outcome(
            outcome_id="t", metric="throughput", cell=wanted, type=found, lower=lower, statement="so"
        )
    asked = Asked(
        profile=named,
        cell=wanted,
        outcome_id=f"x:{wanted.cell_id}",
        trial=device.trial,
        max_load_fps=OFFERED_FPS,
        envelope_fps=OFFERED_FPS,
        throughput=throughput,
        medium_fps=medium_fps,
    )
    kind = measurement(name)
    assert kind.applies(named, wanted)
    (outcome,) = kind.measure(asked).outcomes
    assert outcome.metric == kind.metrics(named, wanted)[0]
    assert outcome.trials == tuple(range(1, 1 + len(device.trials)))
    return outcome, {one.metric: one.number for one in outcome.values}
