"""Everything that a measurement asks for and concludes on restless devices, as one hash.

It uses only what every commit since 95ec033d55e2 has, so that the same file run there gives the hash of the
procedure as it was (tests/data/evidence/README.md has the command).
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fake_measurers import Device

from bmwg.methodology import planning, throughput
from bmwg.methodology.cpu_watch import HostDisturbance
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.mlr import outcome as goal_outcomes
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import Cell, Outcome, TrialSpec
from bmwg.methodology.search import tst009
from bmwg.methodology.trial import JudgedTrial, assess

PROFILE = Path(__file__).parents[2] / "data" / "evidence" / "profile.yaml"
SEEDS = 60
ASKED = {  # metric: measurement, and path of the cell
    throughput.ENVELOPE_METRIC: ("throughput", "wire"),
    throughput.METRIC: ("throughput", "pvp"),
    tst009.METRIC: ("tst009", "pvp"),
    goal_outcomes.METRIC: ("mlrsearch", "pvp"),
}


class Restless:
    """A device whose rate moves, on a machine that disturbs single trials, long stretches, or nothing."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self.lines: list[str] = []
        self.profile = profile
        truth_fps = 8_000 + 30_000 * seed
        short_fps = int(truth_fps * 0.9) if seed % 5 == 0 else 10**9
        self.device = Device(truth_fps=truth_fps, knee=0.15, seed=seed, tester_fps=short_fps)
        self.dice = random.Random(seed)
        self.single, self.stretch = 0.1 * (seed % 4), 30 * (seed % 3)

    def take(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        result = self.device.run(spec)
        if len(self.lines) % 400 < self.stretch or self.dice.random() < self.single:
            result = replace(result, disturbance=HostDisturbance(largest_stall_ns=((0, 9_000_000),)))
        if self.dice.random() < 0.002:
            result = replace(result, fault="the port went away")
        said = assess(result, self.profile.policy)
        self.lines.append(f"{phase} {spec.load_fps} {spec.duration_s} {said.validity.value}")
        return JudgedTrial(seq=len(self.lines), result=result, validity=said.validity, reason=said.reason)


def told(measure: Callable[[Asked], Answered], path: str) -> str:
    """Return the hash for a cell on the wire (the tester qualifies itself) or on another path."""
    profile = parse_profile(PROFILE.read_text(), source=PROFILE.name)
    envelope = None if path == "wire" else 1_500_000
    lines: list[str] = []
    for seed in range(SEEDS):
        device = Restless(seed, profile)
        answered = measure(
            Asked(
                profile=profile,
                cell=Cell(path=path, hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
                outcome_id="id",
                trial=device.take,
                max_load_fps=envelope or planning.QUALIFICATION_MAX_FPS,
                envelope_fps=envelope,
            )
        )
        lines += [*device.lines, *map(concluded, answered.outcomes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def concluded(one: Outcome) -> str:
    """Return all that an outcome says."""
    bounds = f"{one.lower} {one.upper} {one.values}"
    return f"{one.metric} {one.type.value} {bounds} {one.statement} {one.reason} {one.quality}"


if __name__ == "__main__":
    for name, path in (
        ("throughput", "wire"),
        ("throughput", "pvp"),
        ("tst009", "pvp"),
        ("mlrsearch", "pvp"),
    ):
        metric = throughput.ENVELOPE_METRIC if path == "wire" else name
        sys.stdout.write(f"{metric} {told(measurement(name).measure, path)}\n")
