"""Latency of a single broadcast frame at each receiving port of a switch (RFC 2889 5.10.3, LTD 3.2.2.1.12).

A trial sends one frame, so nothing queues behind it; repetitions tell how the latency varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.benchmarks.statistics import spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, repetitions
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.pattern import MOST_PORTS
from bmwg.methodology.trial.traffic import Traffic

METRIC = "broadcast_latency.rfc2889_5_10_3"  # mean of the receiving ports
LEAST, MOST = f"{METRIC}.least", f"{METRIC}.most"
UNIT = "ns"
REPETITIONS = 20  # choice: RFC 2889 sends one frame; as many streams has the latency of RFC 2544 26.2
REQUIREMENTS = ("RFC2889-5.10.3-02",)
_LOAD_FPS = 1_000  # choice: of one frame, so that its trial lasts a millisecond


def at_port(port: int) -> str:
    """Return the metric of one receiving port, by its number."""
    return f"{METRIC}.port{port}"


PORTS = tuple(at_port(port) for port in range(MOST_PORTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastLatencyGoal:
    """Repetitions on one cell, whose pattern is of broadcast frames."""

    cell: Cell
    repetitions: int = REPETITIONS
    max_repeats: int = 5

    def spec(self) -> TrialSpec:
        """Return the trial: one frame."""
        return Traffic.of(self.cell).spec(_LOAD_FPS, 1 / _LOAD_FPS)


def procedure(goal: BroadcastLatencyGoal) -> Procedure[Sequence[JudgedTrial]]:
    """Take one valid trial for each repetition."""
    short = "the tester could not send one frame"
    return repetitions(goal.spec(), goal.repetitions, max_repeats=goal.max_repeats, short=short)


def latencies_ns(trial: JudgedTrial) -> dict[int, int]:
    """Return the latency of the frame at each receiving port that it came to once, by the port's number."""
    pattern = trial.spec.pattern
    assert pattern is not None
    streams = {port: trial.result.streams[port] for port in pattern.receivers}
    return {
        port: one.latency.sum_ns
        for port, one in streams.items()
        if one.latency.frames == one.received_frames == one.sent_frames == 1 and not one.duplicate_frames
    }


def contradiction(trial: JudgedTrial) -> str:
    """Say at which ports a trial tells no latency; empty where it does at each."""
    pattern = trial.spec.pattern
    assert pattern is not None
    silent = [str(port) for port in pattern.receivers if port not in latencies_ns(trial)]
    return f"not one copy with a latency came to port {', '.join(silent)}" if silent else ""


def outcome(ended: Run[Sequence[JudgedTrial]], goal: BroadcastLatencyGoal, *, outcome_id: str) -> Outcome:
    """Return the latency at each port: the mean of the repetitions, and the least and most of any frame.

    A repetition in which a port had no copy, or two, is left out; with half of them or more left out there
    is no number.
    """
    concluded = Concluded.without(ended) if ended.found is None else _concluded(ended.found)
    return concluded.outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(found: Sequence[JudgedTrial]) -> Concluded:
    said = {trial.seq: contradiction(trial) for trial in found}
    whole = [latencies_ns(trial) for trial in found if not said[trial.seq]]
    left_out = [f"left out: trial {seq}, {why}" for seq, why in said.items() if why]
    if 2 * len(left_out) >= len(found):
        reason = f"{len(left_out)} of {len(found)} repetitions tell nothing: {'; '.join(left_out)}"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason)
    means = {port: spread([one[port] for one in whole]).mean for port in whole[0]}
    every = spread([latency for one in whole for latency in one.values()])
    numbers = {METRIC: spread(list(means.values())).mean, LEAST: every.minimum, MOST: every.maximum}
    numbers |= {at_port(port): mean for port, mean in means.items()}
    return Concluded(
        type=OutcomeType.MEASURED,
        values=tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers.items()),
        quality=[f"mean of {len(whole)} repetitions with one frame each", *left_out],
    )
