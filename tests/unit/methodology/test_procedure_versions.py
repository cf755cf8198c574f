"""A procedure that asks for other trials, or concludes otherwise, needs another version number."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import transcripts
from fake_measurers import Device

from bmwg.methodology import latency, planning, procedures, throughput
from bmwg.methodology.cpu_watch import HostDisturbance
from bmwg.methodology.former.registry import former_rule, not_replayable, replayable
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.mlr import outcome as goal_outcomes
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import HardLimit
from bmwg.methodology.models.unruly import Bistable
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, Outcome, TrialSpec
from bmwg.methodology.search import tst009
from bmwg.methodology.trial import JudgedTrial, assess

PROFILE = load_profile("quick")
LIMITS = (9_000, 10_000, 123_456, 700_001, 1_499_999, 9_000_000)
TOLD = {  # measurement: metric, version, SHA-256 of what it then asked for and concluded
    "throughput": (throughput.METRIC, 6, "2fa77b9bb0ab362c17e25ab35d657e2debe19687917fee143a67bba516b1b736"),
    "tst009": (tst009.METRIC, 6, "5ce2489bffb00f7ce0ddd1fb776fcfe0fde3bdfe5718279824f6633fff9eeab8"),
    "mlrsearch": (
        goal_outcomes.METRIC,
        6,
        "48d4e4939f2a08ea04f59b6f5303e90631066de9fc3974bee7cc903b1842d094",
    ),
}


TOLD_3 = {  # what the code of a34196f told, whose versions are all 3
    "tst009": (tst009.METRIC, "9806eca3a93af23a970be0cf58f9c43a76f79bd2251e66d2ab78647c76f3e6fb"),
    "mlrsearch": (goal_outcomes.METRIC, "99b12f3bbf64466259fe0cf8ee9fc70a867182a1fbe894a9c792e1e77cbdfd3d"),
}


TOLD_4 = {  # what the code of 6211dd0 told, whose versions are all 4; of throughput without the wire
    "tst009": (tst009.METRIC, "82706f2d1bff43b413a8f7a842afe6de2bf06e51d5db0d5b16768c9a6cbdfb5b"),
    "mlrsearch": (goal_outcomes.METRIC, "010c8e5f86c1c751b5cc821ac8d82324f2fced2028cce249a02c49fc91b17355"),
}


TOLD_5 = {  # what the code of f5a6afe told, whose versions are all 5, by four checks and without the wire
    "throughput": (throughput.METRIC, "fd4f537db2a29cafd098cbb562f29d835b6c62084bdb73e32430006fd8f76919"),
    "tst009": (tst009.METRIC, "2c5f00c93551e958e9680e86d76a65e95c6bd7b8bf3ee114809170d6e701fd24"),
    "mlrsearch": (goal_outcomes.METRIC, "aaad6ccc9187a7ed4b2f72b2511e0a1fbe3bf85779938150a0ada426b1a00815"),
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
        said = assess(result, PROFILE.policy)
        self.lines.append(f"{phase} {spec.load_fps} {spec.duration_s} {said.validity.value}")
        return JudgedTrial(seq=seq, result=result, validity=said.validity, reason=said.reason)


def told(name: str, measure: Callable[[Asked], Answered] | None = None, *, wire: bool = True) -> str:
    """Return a hash of every load that a measurement asks for on known devices, and of its answers."""
    measure = measure or measurement(name).measure
    lines: list[str] = []
    for limit in LIMITS:
        for path in ("pvp", "wire") if wire and name == "throughput" else ("pvp",):
            transcript = Transcript(limit)
            envelope = None if path == "wire" else 1_500_000
            asked = Asked(
                profile=PROFILE,
                cell=Cell(path=path, hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
                outcome_id="id",
                trial=transcript.take,
                max_load_fps=envelope or planning.QUALIFICATION_MAX_FPS,
                envelope_fps=envelope,
            )
            answered = measure(asked)
            assert answered.error is None
            lines += [f"{path} {limit}", *transcript.lines, *map(concluded, answered.outcomes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def concluded(one: Outcome) -> str:
    bounds = f"{one.lower} {one.upper} {one.values}"
    return f"{one.metric} {one.type.value} {bounds} {one.statement} {one.reason} {one.quality}"


# what the code of f5a6afe told of devices of two states, by four checks
STATES_5 = "0a5698320e03df6c40c201b6b0931fd7f1bd809a773d500a2edf9e3411b0fe7a"


def told_of_states(measure: Callable[[Asked], Answered]) -> str:
    """Return a hash of the loads and answers of 40 bisections on devices of two states, by four checks."""
    lines: list[str] = []
    for seed in range(40):
        transcript = Transcript(seed)
        device = Bistable(limit_fps=100_000 + 20_000 * seed, changes=0.1)
        transcript.bench = ModelBench(device=device, seed=seed)
        asked = Asked(
            profile=replace(PROFILE, search=replace(PROFILE.search, state_checks=4)),
            cell=Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
            outcome_id="id",
            trial=transcript.take,
            max_load_fps=1_500_000,
            envelope_fps=1_500_000,
        )
        lines += [f"{seed}", *transcript.lines, *map(concluded, measure(asked).outcomes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class Restless(Transcript):
    """The same on a device whose rate moves, with long stretches in which every trial is disturbed."""

    def __init__(self, seed: int) -> None:
        super().__init__(1)
        self.device = Device(truth_fps=100_000 * (1 + seed), knee=0.15, seed=seed)
        self.dice = random.Random(seed)

    def take(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        result = self.device.run(spec)
        if len(self.lines) % 400 < 90 or self.dice.random() < 0.3:
            result = replace(result, disturbance=HostDisturbance(largest_stall_ns=((0, 9_000_000),)))
        said = assess(result, PROFILE.policy)
        self.lines.append(f"{phase} {spec.load_fps} {said.validity.value}")
        return JudgedTrial(seq=len(self.lines), result=result, validity=said.validity, reason=said.reason)


def told_of_restless(metric: str, measure: Callable[[Asked], Answered] | None = None) -> str:
    """Return a hash of the loads and the answers on restless devices."""
    lines: list[str] = []
    wire = metric == throughput.ENVELOPE_METRIC
    path = "wire" if wire else "pvp"
    for seed in range(12):
        transcript = Restless(seed)
        asked = Asked(
            profile=PROFILE,
            cell=Cell(path=path, hosting="pod", function="kernel-l3", network="bridge", frame_octets=64),
            outcome_id="id",
            trial=transcript.take,
            max_load_fps=planning.QUALIFICATION_MAX_FPS if wire else 1_500_000,
            envelope_fps=None if wire else 1_500_000,
        )
        answered = (measure or measurement("throughput").measure)(asked)
        lines += [*transcript.lines, *map(concluded, answered.outcomes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


RESTLESS = {  # metric: version, SHA-256 of what it asked for and concluded on restless machines
    throughput.METRIC: (6, "afb2e9fb0c6a47297774979d5441cef4eea1b738a49f62d8428951ddac14de00"),
    throughput.ENVELOPE_METRIC: (3, "17a16987b807a628e887ed248049185bce025df50be7848170ae13196d838fd4"),
}


AT_3AC94E6 = {  # metric: version, and what the code of that commit told (tests/data/evidence/README.md)
    throughput.ENVELOPE_METRIC: (2, "776ea69582e94b751224baf7bd5439cf0fb39339a4d8bf464696cacc0a998ec2"),
    throughput.METRIC: (3, "a2d407e3c4707d013fe8996f2d0f30e5142d8c4766e04e76fcfa7fb949ed6656"),
    tst009.METRIC: (2, "963836f49a9cd5a2638de7b74a73de2181d59ba7d9369e9b95a483edf7a97231"),
    goal_outcomes.METRIC: (2, "303f8adb6eefb18aa9c737ef13d2ceb933bbe5aed298fa0c4752c9ef40149d5a"),
}


@pytest.mark.parametrize("metric", list(AT_3AC94E6))
def test_a_version_answers_as_the_code_that_measured_by_it(metric: str) -> None:
    """On 60 restless devices; the numbers were made by the old code itself, not by what is kept of it."""
    version, expected = AT_3AC94E6[metric]
    name, path = transcripts.ASKED[metric]
    current = procedures.version(metric) == version
    kind = measurement(name) if current else former_rule(metric, version)
    assert kind is not None
    assert transcripts.told(kind.measure, path) == expected


def test_the_kept_version_is_not_the_current_one() -> None:
    name, path = transcripts.ASKED[throughput.ENVELOPE_METRIC]
    told_now = transcripts.told(measurement(name).measure, path)
    assert told_now != AT_3AC94E6[throughput.ENVELOPE_METRIC][1]


@pytest.mark.parametrize("metric", list(RESTLESS))
def test_a_procedure_that_changed_on_restless_machines_has_another_version(metric: str) -> None:
    version, expected = RESTLESS[metric]
    assert procedures.version(metric) == version
    assert told_of_restless(metric) == expected, "the procedure changed: raise its number"


@pytest.mark.parametrize("name", list(TOLD_3))
def test_version_3_of_a_search_answers_as_it_did(name: str) -> None:
    metric, expected = TOLD_3[name]
    rule = former_rule(metric, 3)
    assert rule is not None
    assert told(name, rule.measure) == expected


@pytest.mark.parametrize("name", list(TOLD_4))
def test_version_4_of_a_search_answers_as_it_did(name: str) -> None:
    metric, expected = TOLD_4[name]
    rule = former_rule(metric, 4)
    assert rule is not None
    assert told(name, rule.measure) == expected


def test_version_4_of_throughput_answers_as_it_did_on_restless_machines() -> None:
    rule = former_rule(throughput.METRIC, 4)
    assert rule is not None
    told_then = "afb2e9fb0c6a47297774979d5441cef4eea1b738a49f62d8428951ddac14de00"
    assert told_of_restless(throughput.METRIC, rule.measure) == told_then


@pytest.mark.parametrize("name", list(TOLD_5))
def test_version_5_of_a_search_answers_as_it_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its profiles said no number of checks; the quick one says eight now."""
    metric, expected = TOLD_5[name]
    rule = former_rule(metric, 5)
    assert rule is not None
    four = replace(PROFILE, search=replace(PROFILE.search, state_checks=4))
    monkeypatch.setitem(globals(), "PROFILE", four)
    assert told(name, rule.measure, wire=False) == expected


def test_version_5_answers_as_it_did_where_checks_deviate() -> None:
    rule = former_rule(throughput.METRIC, 5)
    assert rule is not None
    assert told_of_states(rule.measure) == STATES_5
    assert told_of_states(measurement("throughput").measure) != STATES_5


@pytest.mark.parametrize("name", list(TOLD))
def test_a_changed_procedure_has_another_version(name: str) -> None:
    metric, version, expected = TOLD[name]
    assert procedures.version(metric) == version
    assert procedures.version(procedures.TRIAL) == 1
    assert told(name) == expected, "the procedure changed: raise its number in methodology/procedures.py"


def test_the_versions_of_a_plan_are_named_and_others_are_told() -> None:
    named = procedures.versions([throughput.METRIC, latency.METRIC, throughput.METRIC])
    assert named == {
        procedures.RULES: 7,
        procedures.STANDING: 5,
        latency.METRIC: 3,
        throughput.METRIC: 6,
        "trial": 1,
    }
    assert procedures.other_versions(named, throughput.METRIC) == ()
    assert procedures.other_versions({}, throughput.METRIC) == ((throughput.METRIC, 1, 6),)
    newer = {throughput.METRIC: 7, "trial": 2}
    assert procedures.other_versions(newer, throughput.METRIC) == (("trial", 2, 1), (throughput.METRIC, 7, 6))


def test_versions_are_replayable_when_current_or_kept() -> None:
    envelope = throughput.ENVELOPE_METRIC
    assert replayable(envelope) == (2, 3)
    assert replayable(throughput.METRIC) == (3, 4, 5, 6)
    assert not_replayable({envelope: 2, "trial": 1}, envelope) == ()
    assert not_replayable({envelope: 4, "trial": 2}, envelope) == (("trial", 2), (envelope, 4))
    assert not_replayable({}, envelope) == ((envelope, 1),)
    assert replayable(procedures.STANDING) == (1, 2, 3, 4, 5)
    assert not_replayable({envelope: 3, "standing": 6}, envelope) == (("standing", 6),)
    assert procedures.last_commit(envelope, 1) == "59ca94f3b37c"
    assert procedures.last_commit(envelope, 3) is None
    assert [change.versions[envelope] for change in procedures.changes_after(envelope, 1)] == [2, 3]
