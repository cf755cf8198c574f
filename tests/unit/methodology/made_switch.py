"""A switch of a known truth, and what a measurement answers of it."""

import math
from dataclasses import dataclass, field, replace

from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import (
    BAREMETAL,
    NOTHING,
    Bound,
    Cell,
    Outcome,
    OutcomeType,
    StreamCounts,
    TrialResult,
    Validity,
)
from bmwg.methodology.trial.judging import JudgedTrial

OFFERED_FPS = 100_000  # what the tester sends from a port


@dataclass
class Switch:
    """Forwards so much to each port, by one queue before the fork or one for each; its table is bounded."""

    egress_fps: int = 10**9
    fork_fps: int = 10**9  # of all that goes to ports 2 and 3 together
    room: int = 10**9
    evicts: bool = False
    learns_fps: int = 10**9
    blocks: bool = (
        False  # frames to a free port wait behind those to a busy one, in one queue of their sender
    )
    loses_at: tuple[int, ...] = ()  # trials that lose a frame for no reason
    table: list[tuple[int, int]] = field(default_factory=list)
    trials: list[TrialResult] = field(default_factory=list)
    emptied: int = 0

    def forget(self):
        self.table.clear()
        self.emptied += 1

    def _learn(self, port, number, load_fps, turn):
        if load_fps > self.learns_fps and turn % 2:
            return
        if (port, number) in self.table:
            return
        if len(self.table) == self.room:
            if not self.evicts:
                return
            self.table.pop(0)
        self.table.append((port, number))

    def run(self, spec):
        pattern, sent = spec.pattern, spec.intended_frames
        flooded = [0] * pattern.ports
        if pattern.unprepared:
            for port in pattern.senders:
                for turn in range(sent):
                    self._learn(port, turn % pattern.sources, spec.load_fps, turn)
                    to = (pattern.to[port][0], turn % pattern.destinations)
                    for other in range(pattern.ports):
                        flooded[other] += to not in self.table and other not in (port, to[0])
        passed = self._passed(spec)
        streams = []
        for port in range(pattern.ports):
            meant = pattern.meant_for(port, [sent if to else 0 for to in pattern.to])
            lost = meant - min(meant, math.ceil(passed[port] * spec.duration_s - 1e-6))
            if len(self.trials) in self.loses_at and meant:
                lost = max(1, lost)
            streams.append(
                StreamCounts(
                    intended_frames=meant,
                    sent_frames=meant,
                    received_frames=meant - lost,
                    flooded_frames=flooded[port],
                )
            )
        result = TrialResult(spec=spec, streams=tuple(streams), wall_time_ns=1)
        self.trials.append(result)
        return result

    def _passed(self, spec):
        """Return how many frames a second of what is meant for each port come through."""
        pattern = spec.pattern
        loads = [pattern.loads_at(port) * spec.load_fps for port in range(pattern.ports)]
        behind = sum(loads[2:4])
        if behind > self.fork_fps:
            loads[2:4] = [load * self.fork_fps / behind for load in loads[2:4]]
        passed = [min(load, self.egress_fps) for load in loads]
        if self.blocks and loads[3] > self.egress_fps:
            passed[2] = loads[2] * self.egress_fps / loads[3]
        return passed


def cell(pattern, **more):
    return Cell(
        path="switch",
        hosting=BAREMETAL,
        function="linux-bridge",
        network=NOTHING,
        frame_octets=64,
        axes=(("pattern", pattern), *more.items()),
    )


def answer(switch, name, pattern, *, throughput_fps=None, validity=lambda spec: Validity.VALID, **said):
    wanted = cell(pattern)
    profile = replace(load_profile("rfc2889-quick"), benchmarks={name: {"trial_s": 1.0, **said}})
    throughput = None
    if throughput_fps is not None:
        throughput = Outcome(
            outcome_id="t",
            metric="throughput",
            cell=wanted,
            type=OutcomeType.MEASURED,
            lower=Bound(load_fps=throughput_fps, trials=(1,)),
        )

    def take(spec, phase):
        result = switch.run(spec)
        return JudgedTrial(seq=len(switch.trials), result=result, validity=validity(spec))

    asked = Asked(
        profile=profile,
        cell=wanted,
        outcome_id=f"x:{wanted.cell_id}",
        trial=take,
        max_load_fps=OFFERED_FPS,
        envelope_fps=OFFERED_FPS,
        throughput=throughput,
        forget=switch.forget,
    )
    kind = measurement(name)
    assert kind.applies(profile, wanted)
    (outcome,) = kind.measure(asked).outcomes
    assert outcome.metric == kind.metrics(profile, wanted)[0]
    assert outcome.trials == tuple(range(1, 1 + len(switch.trials)))
    return outcome, {one.metric: one.number for one in outcome.values}
