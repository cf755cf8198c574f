"""A procedure that asks for other trials, or concludes otherwise, needs another version number."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from bmwg.methodology import latency, planning, procedures, throughput
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.mlr import outcome as goal_outcomes
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import HardLimit
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, HostDisturbance, Outcome, TrialSpec
from bmwg.methodology.search import tst009
from bmwg.methodology.trial import JudgedTrial, assess

LIMITS = (9_000, 10_000, 123_456, 700_001, 1_499_999, 9_000_000)
TOLD = {  # measurement: metric, version, SHA-256 of what it then asked for and concluded
    "throughput": (throughput.METRIC, 3, "cb5fb791e3522dad1d4e6d2491dce021a23feadce97b751fff83e24ba969aa05"),
    "tst009": (tst009.METRIC, 2, "532f203518731111601c540a09715a2268f068ef544af9c0eb9df3a3422a92c3"),
    "mlrsearch": (
        goal_outcomes.METRIC,
        2,
        "b2e037f98d80a27803fb50b543bdbb32d0e9d83f00f30332a33865cdc6b2c44a",
    ),
}


class Transcript:
    """Answers the trials of a procedure on a known device, and writes down what it was asked."""

    def __init__(self, limit_fps: int) -> None:
        self.lines: list[str] = []
        self.bench = ModelBench(device=HardLimit(limit_fps=limit_fps), seed=limit_fps)

    def take(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        seq = len(self.lines) + 1
        result = self.bench.measure(spec).result
        if seq % 7 == 0:  # every seventh trial is disturbed
            result = replace(result, disturbance=HostDisturbance(largest_stall_ns=((0, 9_000_000),)))
        said = assess(result, load_profile("quick").policy)
        self.lines.append(f"{phase} {spec.load_fps} {spec.duration_s} {said.validity.value}")
        return JudgedTrial(seq=seq, result=result, validity=said.validity, reason=said.reason)


def told(name: str) -> str:
    """Return a hash of every load that a measurement asks for on known devices, and of its answers."""
    kind = measurement(name)
    lines: list[str] = []
    for limit in LIMITS:
        for path in ("pvp", "wire") if name == "throughput" else ("pvp",):
            transcript = Transcript(limit)
            envelope = None if path == "wire" else 1_500_000
            asked = Asked(
                profile=load_profile("quick"),
                cell=Cell(path=path, hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
                outcome_id="id",
                trial=transcript.take,
                max_load_fps=envelope or planning.QUALIFICATION_MAX_FPS,
                envelope_fps=envelope,
            )
            answered = kind.measure(asked)
            assert answered.error is None
            lines += [f"{path} {limit}", *transcript.lines, *map(concluded, answered.outcomes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def concluded(one: Outcome) -> str:
    bounds = f"{one.lower} {one.upper} {one.values}"
    return f"{one.metric} {one.type.value} {bounds} {one.statement} {one.reason} {one.quality}"


@pytest.mark.parametrize("name", list(TOLD))
def test_a_changed_procedure_has_another_version(name: str) -> None:
    metric, version, expected = TOLD[name]
    assert procedures.version(metric) == version
    assert procedures.version(procedures.TRIAL) == 1
    assert told(name) == expected, "the procedure changed: raise its number in methodology/procedures.py"


def test_the_versions_of_a_plan_are_named_and_others_are_told() -> None:
    named = procedures.versions([throughput.METRIC, latency.METRIC, throughput.METRIC])
    assert named == {latency.METRIC: 2, throughput.METRIC: 3, "trial": 1}
    assert procedures.other_versions(named, throughput.METRIC) == ()
    assert procedures.other_versions({}, throughput.METRIC) == ((throughput.METRIC, 1, 3),)
    newer = {throughput.METRIC: 4, "trial": 2}
    assert procedures.other_versions(newer, throughput.METRIC) == (("trial", 2, 1), (throughput.METRIC, 4, 3))
