"""Congestion control of a switch (RFC 2889 5.5): what a busy port does to another one.

Of four ports one sends to an uncongested and a congested port in turn, a second one to the congested port
alone; both send the maximum offered load. Frames lost on their way to the uncongested port are head-of-line
blocking. A control tells them from those of a switch that carries less than all ports offer together: the
same senders at the same load, each to a port of its own. Where no frame is lost on the way to the congested
port either, senders were held back, or nothing was congested: a medium without a rate does not tell which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.benchmarks.forwarding_rate import per_second
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.pattern import Pattern
from bmwg.methodology.trial.traffic import Traffic

METRIC = "congestion_control.rfc2889_5_5"  # its number is the share that the uncongested port lost
_STEPS = 10  # choice: of the load, until the tester sends it
REPETITIONS = 3  # choice: blocking that only some trials show is told as that
TRIAL_S = 30.0  # rfc2889-5.5.2
REQUIREMENTS = ("RFC2889-5.5",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionGoal:
    """Equal trials at `load_fps`, frames/s of each sending port; `rated`: the medium has a rate."""

    cell: Cell
    load_fps: int
    duration_s: float
    repetitions: int = REPETITIONS
    rated: bool = False
    max_repeats: int = 5
    short_limit: int = 2

    def spec(self, load_fps: int) -> TrialSpec:
        """Return the trial at a load."""
        return Traffic.of(self.cell).spec(load_fps, self.duration_s)

    def loads(self) -> list[int]:
        """Return the loads from the highest down; the first that is sent is the maximum offered load."""
        return [self.load_fps * (_STEPS - step) // _STEPS for step in range(_STEPS)]


def uncongested(pattern: Pattern) -> tuple[int, ...]:
    """Return the receiving ports that one port sends to."""
    return tuple(port for port in pattern.receivers if len(pattern.senders_to(port)) == 1)


def control(pattern: Pattern) -> Pattern:
    """Return the pattern without congestion: each sender's frames go to one port of its own."""
    free = uncongested(pattern)
    return Pattern(to=tuple(tuple(sorted(to, key=lambda port: port not in free)[:1]) for to in pattern.to))


@dataclass(frozen=True, slots=True, kw_only=True)
class Congested:
    """The trials with congestion, and those without where frames were lost at the uncongested port."""

    trials: tuple[JudgedTrial, ...]
    controls: tuple[JudgedTrial, ...] = ()


def procedure(goal: CongestionGoal) -> Procedure[Congested]:
    """Take the trials at the highest load that the tester sends; then the control where it is needed."""
    found = yield from _congested(goal)
    if not all(_counts(trial, busy=False)[1] for trial in found):
        return Congested(trials=found)
    traffic = Traffic.of(goal.cell)
    assert traffic.pattern is not None
    apart = replace(traffic, pattern=control(traffic.pattern))
    controls = []
    for _ in range(goal.repetitions):
        trial = yield from valid_trial(
            apart.spec(found[0].spec.load_fps, goal.duration_s),
            "control",
            max_repeats=goal.max_repeats,
            short_limit=1 + goal.max_repeats,
        )
        if trial is None:
            raise TesterShortError("the tester could not send the same load without congestion")
        controls.append(trial)
    return Congested(trials=found, controls=tuple(controls))


def _congested(goal: CongestionGoal) -> Procedure[tuple[JudgedTrial, ...]]:
    for load in goal.loads():
        first = yield from valid_trial(
            goal.spec(load), "congestion", max_repeats=goal.max_repeats, short_limit=goal.short_limit
        )
        if first is None:
            continue
        found = [first]
        while len(found) < goal.repetitions:
            trial = yield from valid_trial(
                goal.spec(load),
                "congestion",
                max_repeats=goal.max_repeats,
                short_limit=1 + goal.max_repeats,
            )
            if trial is None:
                raise TesterShortError(f"the tester could not send {load} frames/s from each port again")
            found.append(trial)
        return tuple(found)
    raise TesterShortError(f"the tester could not send {goal.loads()[-1]} frames/s from each port")


def outcome(ended: Run[Congested], goal: CongestionGoal, *, outcome_id: str) -> Outcome:
    """Return what each kind of port lost and forwarded, over all trials; and whether there is blocking."""
    concluded = Concluded.without(ended) if ended.found is None else _concluded(ended.found, goal)
    return concluded.outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _offered(trials: Sequence[JudgedTrial], goal: CongestionGoal) -> list[str]:
    """Say at which load the trials were, and why it is none higher."""
    load = trials[0].spec.load_fps
    told = [f"{len(trials)} trials of {goal.duration_s:g} s at {load} frames/s of each sender"]
    if load < goal.load_fps:
        told.append(f"the tester could not send more at this switch: {goal.load_fps} frames/s were tried")
    return told


def _counts(trial: JudgedTrial, *, busy: bool) -> tuple[int, int]:
    """Return what was sent to the congested ports, or the uncongested ones, and what of it was lost."""
    pattern = trial.spec.pattern
    assert pattern is not None
    free = uncongested(pattern)
    streams = [trial.result.streams[port] for port in pattern.receivers if (port not in free) == busy]
    return sum(one.sent_frames for one in streams), sum(one.lost_frames for one in streams)


def _concluded(found: Congested, goal: CongestionGoal) -> Concluded:
    trials, offered = found.trials, _offered(found.trials, goal)
    blocked = sum(_counts(trial, busy=False)[1] > 0 for trial in trials)
    congested = sum(_counts(trial, busy=True)[1] > 0 for trial in trials)
    if congested < len(trials) and not goal.rated:
        reason = (
            f"in {len(trials) - congested} of {len(trials)} trials the port to be congested carried all that"
            " the tester offers: nothing was congested, or senders were held back"
        )
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=offered)
    if 0 < blocked < len(trials):
        reason = f"the uncongested port lost frames in {blocked} of {len(trials)} trials"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason, quality=offered)
    said = _of_blocking(found) if blocked else "the uncongested port lost no frame: no head-of-line blocking"
    if not congested:
        said += "; the congested port lost no frame: back pressure"
    return Concluded(type=OutcomeType.MEASURED, values=_values(trials), quality=[said, *offered])


def _of_blocking(found: Congested) -> str:
    """Say what loss at the uncongested port in every trial means, by the control."""
    overrun = sum(trial.result.lost_frames > 0 for trial in found.controls)
    lost = "the uncongested port lost frames in every trial, "
    if not overrun:
        return lost + "and without congestion none was lost: head-of-line blocking"
    return lost + (
        f"but {overrun} of {len(found.controls)} trials without congestion at the same load of each sender"
        " lost frames too: this does not tell of blocking"
    )


def _values(trials: Sequence[JudgedTrial]) -> tuple[Quantity, ...]:
    spec = trials[0].spec
    values: list[Quantity] = []
    for name, busy in (("uncongested", False), ("congested", True)):
        counts = [_counts(trial, busy=busy) for trial in trials]
        sent, lost = sum(one for one, _ in counts), sum(one for _, one in counts)
        ratio = METRIC if not busy else f"{METRIC}.{name}.loss_ratio"
        values += [
            Quantity(metric=ratio, number=lost / sent, unit="1"),
            Quantity(
                metric=f"{METRIC}.{name}.offered",
                number=per_second(sent, spec) // len(trials),
                unit=FRAMES_PER_S,
            ),
            Quantity(
                metric=f"{METRIC}.{name}.forwarded",
                number=per_second(sent - lost, spec) // len(trials),
                unit=FRAMES_PER_S,
            ),
        ]
    return tuple(values)
