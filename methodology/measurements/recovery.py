"""System recovery (RFC 2544 26.5) and reset (RFC 6201) at the throughput of the same cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import recovery, recovery_latency
from bmwg.methodology.cells import neighbours, patterns
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.measurements.remarks import load_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import BAREMETAL, NOTHING, POD, Cell, Outcome, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial.capabilities import LackingError
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic

_REPETITIONS = 10  # choice: "repeated a number of times" (RFC 2544 26.5) names none
SWITCH_PROGRAMS = ("ovs-netdev", "ovs-dpdk")  # switches that are a program, which can be restarted
_LONG = ("container", "vswitch_graceful", "vswitch_kill")  # take a program's start
_REDUCED_S = 60.0  # choice: as long as the overload


def has_flows(cell: Cell) -> bool:
    """Whether a cell is of a switch with a table of flows, between two ports and beside no neighbour."""
    axes = dict(cell.axes)
    return cell.function in SWITCH_PROGRAMS and patterns.AXIS not in axes and neighbours.AXIS not in axes


def _again(*rows: str) -> Place:
    """Return where RFC 8204 section 5.3 puts a device that forwards again after it did not."""
    return Place(stage=Stage.ACTIVATION, criterion=Criterion.RELIABILITY, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery(OneMetric):
    """Overload, then a reduced load, in one trial; the last lost frame tells the time.

    Before each such trial the reduced load is offered alone, from rest and for as long: what loses frames
    then is no recovery (docs/adr/0502). By VSPERF's method frames after the overload tell latency as well.
    """

    name: str = "recovery"
    method: recovery.RecoveryMethod = recovery.RFC2544
    needs_throughput: bool = True
    reads_latency: bool = True  # and so the times of losses
    places: tuple[Place, ...] = (_again("RFC8204-5.3-01"),)

    @property
    def metric(self) -> str:
        """The method's."""
        return self.method.metric

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell of two ports but the wire, at the sizes that the profile may list."""
        return not cell.qualifies_tester and between_two(profile, self.name, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All repetitions."""
        spec = self._spec(profile, cell, max_load_fps, max_load_fps)
        trials = _repetitions(profile, self.name)
        control_s = spec.total_s - spec.duration_s
        return Cost(trials=2 * trials, traffic_s=trials * (spec.total_s + control_s))

    def measure(self, asked: Asked) -> Answered:
        """Run the repetitions; none where no plain throughput says what an overload is (RFC2544-26.5-01)."""
        assert asked.throughput is not None
        if lacks := without_plain_load(asked.cell, asked.throughput, asked.outcome_id, self.metric):
            return Answered(outcomes=(lacks,))
        spec = self._spec(asked.profile, asked.cell, asked.load_fps, asked.max_load_fps)
        try:
            asked.refuse(spec)
        except LackingError as error:
            ended: Run[Sequence[JudgedTrial]] = Run(trials=(), reason=error.what, error=error)
        else:
            ended = asked.run(_repeated(spec, asked.profile, self.name, _control(spec)))
        found = [
            recovery.recovery_trial(trial)
            for trial in ended.found or ()
            if trial.spec.then_load_fps is not None
        ]
        controls = [trial for trial in ended.found or () if trial.spec.then_load_fps is None]
        overload = recovery.Overload(
            throughput_fps=asked.load_fps,
            overload_fps=spec.load_fps,
            medium_fps=asked.medium_fps,
            method=self.method,
        )
        outcome = recovery.recovery_outcome(
            found, asked.cell, outcome_id=asked.outcome_id, overload=overload, controls=controls
        )
        if self.method is recovery_latency.LTD:
            outcome = recovery_latency.with_latency(outcome, ended.found or ())
        return _answered(asked, ended, outcome)

    def _spec(self, profile: Profile, cell: Cell, throughput_fps: int, max_load_fps: int) -> TrialSpec:
        said = settings(profile, self.name)
        loads = recovery.recovery_loads(throughput_fps, max_load_fps, self.method)
        spec = replace(
            _constant(cell, loads.overload_fps, float(said.get("overload_s", recovery.OVERLOAD_S))),
            then_load_fps=loads.reduced_fps,
            then_duration_s=float(said.get("reduced_s", _REDUCED_S)),
        )
        return recovery_latency.stamped(spec) if self.method is recovery_latency.LTD else spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(OneMetric):
    """One kind of reset amid a constant load; what was lost tells how long the DUT was away."""

    kind: str
    functions: tuple[str, ...] = ()  # only with these functions; empty: with any
    hosting: str = POD
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (_again("RFC8204-5.3-02", "LTD-3.2.2.1.8"),)

    @property
    def name(self) -> str:
        """`reset_` and what is reset."""
        return f"reset_{self.kind}"

    @property
    def act(self) -> str:
        """What does the reset."""
        return self.kind

    @property
    def metric(self) -> str:
        """The metric of RFC 6201 with what was reset."""
        return f"{recovery.RESET_METRIC}.{self.kind}"

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Where there is such a thing to reset, at the sizes that the profile may list."""
        able = cell.hosting == self.hosting and cell.function != NOTHING and patterns.of(cell.axes) is None
        able = able and (not self.functions or cell.function in self.functions)
        return able and between_two(profile, "reset", cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All repetitions."""
        trials = _repetitions(profile, "reset")
        return Cost(trials=trials, traffic_s=trials * self._spec(profile, cell, max_load_fps).total_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the repetitions."""
        spec = self._spec(asked.profile, asked.cell, asked.load_fps)
        ended = asked.run(_repeated(spec, asked.profile, "reset"))
        found = [recovery.reset_trial(trial) for trial in ended.found or ()]
        outcome = recovery.reset_outcome(found, asked.cell, kind=self.kind, outcome_id=asked.outcome_id)
        return _answered(asked, ended, outcome)

    def _spec(self, profile: Profile, cell: Cell, throughput_fps: int) -> TrialSpec:
        said = settings(profile, "reset")
        load = throughput_fps * int(said.get("load_percent", 100)) // 100
        before_s = float(said.get("before_s", recovery.FORWARDING_BEFORE_S))
        after_s = float(said.get("after_s", _REDUCED_S))
        if self.kind in _LONG:
            after_s = max(after_s, float(said.get("container_s", _REDUCED_S)))
        return replace(_constant(cell, max(1, load), before_s + after_s), act=self.kind, act_at_s=before_s)


def _constant(cell: Cell, load_fps: int, duration_s: float) -> TrialSpec:
    return Traffic.of(cell, loss_times=True).spec(load_fps, duration_s)


def _control(spec: TrialSpec) -> TrialSpec:
    """Return the load after an overload, without one."""
    assert spec.then_load_fps is not None
    assert spec.then_duration_s is not None
    return replace(
        spec,
        load_fps=spec.then_load_fps,
        duration_s=spec.then_duration_s,
        then_load_fps=None,
        then_duration_s=None,
        tag_after_s=None,
        tags=None,
    )


def _repetitions(profile: Profile, name: str) -> int:
    return int(settings(profile, name).get("repetitions", _REPETITIONS))


def _repeated(
    spec: TrialSpec, profile: Profile, name: str, control: TrialSpec | None = None
) -> Procedure[Sequence[JudgedTrial]]:
    """Take one valid trial for each repetition, and one of the control before it where there is one.

    Fewer where the tester is short of the load, but not none.
    """
    found: list[JudgedTrial] = []
    for number in range(_repetitions(profile, name)):
        for phase, asked in (("control", control), ("repetition", spec)):
            if asked is None:
                continue
            trial = yield from valid_trial(
                asked,
                f"{phase} {number + 1}",
                max_repeats=profile.policy.max_repeats,
                short_limit=1 + profile.policy.max_repeats,
            )
            if trial is not None:
                found.append(trial)
    if not any(trial.spec == spec for trial in found):
        raise TesterShortError(f"the tester could not send {spec.load_fps} frames/s")
    return tuple(found)


def _answered(asked: Asked, ended: Run[Sequence[JudgedTrial]], outcome: Outcome) -> Answered:
    """Add all trials, those that were not valid too, and what is to be said of the load."""
    assert asked.throughput is not None
    if ended.found is None:
        outcome = replace(outcome, type=ended.type, statement=ended.statement, reason=ended.reason)
    sequence = tuple(trial.seq for trial in ended.trials)
    quality = (*outcome.quality, *load_remark(asked.throughput))
    return Answered(outcomes=(replace(outcome, trials=sequence, quality=quality),), error=ended.error)


MEASUREMENTS = (
    Recovery(),
    Recovery(
        name="recovery_ltd",
        method=recovery_latency.LTD,
        places=(_again("RFC8204-5.3-01", "LTD-3.2.2.1.4"),),
    ),
    Reset(kind="link"),
    Reset(kind="vswitch"),
    Reset(kind="container", functions=("testpmd",)),
    Reset(kind="vswitch_graceful", functions=SWITCH_PROGRAMS, hosting=BAREMETAL),
    Reset(kind="vswitch_kill", functions=SWITCH_PROGRAMS, hosting=BAREMETAL),
)
