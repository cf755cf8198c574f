"""Two parties' answers: the rule alone, and its errors over pairs of simulated searches and repetitions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import replayable

from bmwg.cli import reproduced
from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.simulated import SimulatedConfig, SimulatedTraffic
from bmwg.methodology.answers import repeated, throughput
from bmwg.methodology.answers.student import interval
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles.reading import parse_profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial, assess
from bmwg.reports.compare.reproduce import Agreement, Stated, reproduce, stated_by
from bmwg.reports.registry import Entry, Examined, site
from bmwg.reports.registry.check import beside_each_other
from bmwg.reports.submissions.challenge import Kept
from bmwg.reports.submissions.keyring import Role
from bmwg.reports.submissions.reproduction import Candidate, held
from bmwg.reports.submissions.standing import Level, Standing, _not_challenged, lines

PAIRS = 100
CELL = Cell(path="pvp", hosting="container", function="kernel-l3", network="bridge", frame_octets=64)
PROFILE = parse_profile(json.dumps(replayable.bisecting()), source="made")
JITTER = 0.001  # of the knee from trial to trial
KEY = ("m", "c")


def searched(knee_fps: float, seed: int) -> Outcome:
    """Return what a search answers of a device whose knee is a little another one in each trial."""
    dice = random.Random(seed)
    traffic = SimulatedTraffic(SimulatedConfig(seed=seed, stall_ratio=0.1))
    port = TesterPort(name="p0", io="af_packet", device="nic0")
    taken: list[JudgedTrial] = []

    def trial(spec: TrialSpec, phase: str) -> JudgedTrial:
        traffic.config = replace(traffic.config, knee_fps=int(knee_fps * dice.gauss(1, JITTER)))
        traffic.attach((port, port))
        result = traffic.run(spec)
        said = assess(result, PROFILE.policy)
        taken.append(
            JudgedTrial(seq=len(taken) + 1, result=result, validity=said.validity, reason=said.reason)
        )
        return taken[-1]

    asked = Asked(
        profile=PROFILE,
        cell=CELL,
        outcome_id="x",
        trial=trial,
        max_load_fps=2_000_000,
        envelope_fps=2_000_000,
    )
    (outcome,) = measurement("throughput").measure(asked).outcomes
    return outcome


def repetitions(mean: float, seed: int) -> Outcome:
    """Return what ten repetitions with a deviation of 5 % answer."""
    dice = random.Random(seed)
    found = interval([dice.gauss(mean, 0.05 * 1000) for _ in range(10)])
    values = repeated.quantities("goodput.all_streams", found, "bit/s")
    return Outcome(
        outcome_id="x", metric="goodput.all_streams", cell=CELL, type=OutcomeType.MEASURED, values=values
    )


def agreement(first: Outcome, second: Outcome) -> Agreement:
    return reproduce(stated_by([first]), stated_by([second])).agreement


def width(outcome: Outcome) -> float:
    """Return the width that a search's answer states, as a share of its lower end."""
    ends = throughput.interval(outcome)
    assert ends is not None
    return (ends[1] - ends[0]) / ends[0]


def test_of_honest_pairs_of_searches_hardly_one_differs_and_of_others_nearly_all() -> None:
    """The others' devices are truly apart by twice the wider of the two widths that their runs state."""
    same, apart = [], []
    for seed in range(PAIRS):
        knee_fps = 600_000 + 3_571 * seed  # anywhere between the loads that a search tries
        first = searched(knee_fps, seed)
        same.append(agreement(first, searched(knee_fps, 1000 + seed)))
        wide = width(first)
        second = searched(knee_fps * (1 + 2 * wide), 2000 + seed)
        if width(second) > wide:
            second = searched(knee_fps * (1 + 2 * width(second)), 2000 + seed)
        apart.append(agreement(first, second))
    assert same.count(Agreement.DIFFERS) <= 5
    assert same.count(Agreement.AGREES) >= 95
    assert apart.count(Agreement.DIFFERS) >= 95, apart.count(Agreement.DIFFERS)


def test_the_same_of_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bmwg.reports.compare.reproduce.headline_of", lambda outcome: ("goodput.all_streams.mean",)
    )
    same, apart = [], []
    for seed in range(PAIRS):
        first = repetitions(1000, seed)
        half = next(one.number for one in first.values if one.metric.endswith("half_width_95"))
        same.append(agreement(first, repetitions(1000, 1000 + seed)))
        apart.append(agreement(first, repetitions(1000 + 4 * float(half), 2000 + seed)))
    assert same.count(Agreement.DIFFERS) <= 5
    assert apart.count(Agreement.DIFFERS) >= 95


def stated(low: float, high: float, **changes: object) -> Stated:
    return Stated(**{"ends": (low, high), "unit": "frames/s", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (stated(1, 2), stated(2, 3), Agreement.AGREES),
        (stated(1, 2), stated(2.1, 3), Agreement.DIFFERS),
        (stated(1, 2), Stated(ends=None, why="unstable"), Agreement.CANNOT_TELL),
        (Stated(ends=None, why="too few trials to state an interval"), stated(1, 2), Agreement.CANNOT_TELL),
        (stated(1, 2), None, Agreement.CANNOT_TELL),
        (stated(1, 2), stated(3, 4, unit="bit/s"), Agreement.CANNOT_TELL),
        (stated(1, 2, load_fps=100), stated(3, 4, load_fps=110), Agreement.CANNOT_TELL),
        (stated(1, 2, load_fps=1000), stated(3, 4, load_fps=1005), Agreement.DIFFERS),
        (stated(1, 2, duration_s=60.0), stated(1, 2, duration_s=1.0), Agreement.CANNOT_TELL),
        (stated(1, 2, duration_s=1.0), stated(3, 4, duration_s=60.0), Agreement.CANNOT_TELL),
        (stated(1, 2, duration_s=1.0), stated(1, 2, duration_s=1.0), Agreement.AGREES),
        (stated(1, 2, duration_s=1.0), stated(1, 2), Agreement.AGREES),
    ],
)
def test_a_figure_by_its_intervals(first: Stated, second: Stated | None, expected: Agreement) -> None:
    found = reproduce({KEY: first}, {KEY: second} if second else {})
    assert found.agreement is expected
    if expected is Agreement.CANNOT_TELL:
        assert found.held[0].why


@pytest.mark.parametrize("told", [reproduced._ends, site._ends])
def test_both_ends_of_a_rate_are_told_to_the_frame(told: Callable[[Stated], str]) -> None:
    """Of seven digits the last one was rounded away: intervals that lie apart read as one number."""
    said = told(stated(1_488_095, 14_880_952))
    assert "1,488,095" in said
    assert "14,880,952 frames/s" in said


def test_more_figures_of_confidence_are_held_wider() -> None:
    """One interval that just lies apart differs alone, and agrees among a hundred: chance parts some."""
    one = {KEY: stated(9.0, 11.0, by_chance=True)}
    other = {KEY: stated(11.1, 13.1, by_chance=True)}
    assert reproduce(one, other).agreement is Agreement.DIFFERS
    more = {("m", str(number)): stated(9.0, 11.0, by_chance=True) for number in range(99)}
    assert reproduce(one | more, other | more).agreement is Agreement.AGREES


def test_half_of_the_figures_must_be_held_against_one() -> None:
    first = {("m", str(number)): stated(1, 2) for number in range(4)}
    assert reproduce(first, {("m", "0"): stated(1, 2)}).agreement is Agreement.CANNOT_TELL
    assert reproduce(first, {("m", str(n)): stated(1, 2) for n in range(2)}).agreement is Agreement.AGREES


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (stated(101.5, 103, by_chance=True, within=True), Agreement.AGREES),
        (stated(104, 105, by_chance=True, within=True), Agreement.CANNOT_TELL),  # 1.9 % apart
        (stated(116, 118, by_chance=True, within=True), Agreement.DIFFERS),
    ],
)
def test_intervals_of_one_deployment_do_not_know_others(other: Stated, expected: Agreement) -> None:
    first = stated(100, 102, by_chance=True, within=True)
    found = reproduce({KEY: first}, {KEY: other})
    assert found.agreement is expected
    assert ("too few deployments" in found.held[0].why) == (expected is Agreement.CANNOT_TELL)


def entry(name: str, low: float, high: float) -> Entry:
    """Return a lab's submission of a product with one figure, whose own run is challenged."""
    lab: Any = SimpleNamespace(known=SimpleNamespace(role=Role.LAB), of_owner=lambda owner: owner == name)
    mine = Candidate(
        organization=name,
        product=("Forwarder", "1"),
        key_ids=frozenset({name}),
        trials=frozenset({name}),
        stated={KEY: stated(low, high)},
        standing=Standing(kept=Kept.WITHIN, kept_why="", owner=name, parties=(lab,), unwitnessed="none"),
    )
    seen = Examined(findings=(), trusted=True, candidate=mine)
    return Entry(folder=Path(name), toolkit_version="1", organization=name, name="x", examined=seen)


@pytest.mark.parametrize(
    ("others", "level", "said"),
    [
        ([(1, 2)], Level.REPRODUCED, ""),
        ([(1, 2), (5, 6)], Level.REPRODUCED, "measured otherwise by lab 1: differs"),
        ([(5, 6), (1, 2)], Level.REPRODUCED, "measured otherwise by lab 0: differs"),
        ([(5, 6)], Level.CHALLENGED, "not reproduced: lab 0: differs"),
        ([(5, 6)] * 5, Level.CHALLENGED, "; and 2 more"),
    ],
)
def test_who_measured_it_otherwise_is_named(
    others: list[tuple[float, float]], level: Level, said: str
) -> None:
    entries = [entry("vendor", 1, 2), *(entry(f"lab {n}", *ends) for n, ends in enumerate(others))]
    standing = beside_each_other(entries, entries)[0].examined.standing  # type: ignore[union-attr]
    assert standing is not None
    assert standing.level is level
    assert said in standing.why_not
    assert bool(standing.why_not) is bool(said)
    assert said in "\n".join(lines(standing))


@pytest.mark.parametrize("simulated", [0, 1])
def test_of_a_run_that_sent_no_frame_nothing_can_be_told(simulated: int) -> None:
    pair = [entry(name, 1, 2).examined.candidate for name in ("vendor", "lab")]  # type: ignore[union-attr]
    assert held(*pair).agreement is Agreement.AGREES  # type: ignore[arg-type]
    pair[simulated] = replace(pair[simulated], not_whole=("simulated: no frame was sent",))  # type: ignore[type-var]
    found = held(*pair)  # type: ignore[arg-type]
    assert {found.agreement, *(one.agreement for one in found.held)} == {Agreement.CANNOT_TELL}
    assert "no frame was sent" in found.why


@pytest.mark.parametrize(("status", "said"), [("complete", []), ("interrupted", ["interrupted"])])
def test_a_run_that_was_given_up_is_not_challenged(status: str, said: list[str]) -> None:
    """Who stops where the figures turn bad has measured a part of what was asked for."""
    made = Standing(kept=Kept.WITHIN, kept_why="")
    trust: Any = SimpleNamespace(keyring=SimpleNamespace(needed=lambda role: 0), announced=None)
    found = list(_not_challenged(made, {"simulated": False, "status": status}, trust))
    assert [one.split(":")[0].rsplit(" ", 1)[-1] for one in found] == said


def test_a_page_of_two_submissions_says_what_each_is() -> None:
    one = entry("vendor", 1, 2)
    two = replace(one, examined=replace(one.examined, state=("indicative: shortened",)))  # type: ignore[type-var]
    assert "indicative: shortened" in str(site.compare_page(one, two))


def of_deployments(mean: float, seed: int, count: int, spread: float = 0.02) -> Outcome:
    """Return what five repetitions on so many deployments answer, which differ by a share."""
    dice = random.Random(f"{seed} {count}")
    levels = [mean * dice.gauss(1, spread) for _ in range(count)]
    found = interval([dice.gauss(levels[number % count], 0.01 * mean) for number in range(5)])
    values = (
        *repeated.quantities("goodput.all_streams", found, "bit/s"),
        *repeated.deployments("goodput.all_streams", count),
    )
    return Outcome(
        outcome_id="x", metric="goodput.all_streams", cell=CELL, type=OutcomeType.MEASURED, values=values
    )


@pytest.mark.parametrize("count", [1, 5])
def test_honest_parties_whose_deployments_differ_do_not_differ(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one deployment each, intervals parted in more than half of such pairs."""
    monkeypatch.setattr(
        "bmwg.reports.compare.reproduce.headline_of", lambda outcome: ("goodput.all_streams.mean",)
    )
    same = [
        agreement(of_deployments(1000, seed, count), of_deployments(1000, 5000 + seed, count))
        for seed in range(PAIRS)
    ]
    apart = [
        agreement(of_deployments(1000, seed, count), of_deployments(1200, 5000 + seed, count))
        for seed in range(PAIRS)
    ]
    assert same.count(Agreement.DIFFERS) <= 5
    assert apart.count(Agreement.DIFFERS) >= 95 or count == 1
    assert apart.count(Agreement.AGREES) <= 5
