"""VER-56: a copied result is found by its times, and a tester that tells counts alone is not accused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import honest
import liar
import liar_source
import pytest
import replayable

from bmwg.methodology.records import LatencyHistogram, StreamCounts
from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.checker.delays import delays_of
from bmwg.reports.verify import copies
from bmwg.reports.verify.places import nothing_twice
from bmwg.reports.verify.verify import verify_folder

COUNTS = StreamCounts(
    intended_frames=1000, sent_frames=1000, received_frames=1000, effective_duration_ns=10**9
)
TIMED = StreamCounts(
    intended_frames=1000,
    sent_frames=1000,
    received_frames=1000,
    largest_gap_ns=20_417,
    latency=LatencyHistogram(
        buckets=((9000, 9001, 600), (9002, 9003, 300), (9004, 9005, 100)),
        sum_ns=9_001_412,
        min_ns=9000,
        max_ns=9005,
    ),
)


def shortfalls(*streams: StreamCounts, simulated: bool = False) -> list[object]:
    """Judge a run of trials with one stream each."""
    trials = [
        SimpleNamespace(
            fault="",
            trial=SimpleNamespace(seq=seq, result=SimpleNamespace(streams=(one,))),
            delays=delays_of(SimpleNamespace(streams=(one,))),
        )
        for seq, one in enumerate(streams, start=1)
    ]
    evidence = SimpleNamespace(run={"simulated": simulated}, trials=trials, executions=())
    return list(nothing_twice.check(evidence))  # type: ignore[arg-type]


def test_a_copied_result_is_found_by_its_times() -> None:
    assert len(shortfalls(TIMED, COUNTS, TIMED)) == 1
    assert shortfalls(TIMED, TIMED, simulated=True) == []


def test_equal_counts_of_a_tester_without_times_are_no_copies() -> None:
    assert shortfalls(COUNTS, COUNTS, COUNTS) == []


def test_a_run_made_by_the_real_code_has_no_two_alike(tmp_path: Path) -> None:
    evidence = folder_evidence(replayable.make_run(tmp_path, simulated=False))
    assert len(evidence.trials) > 10
    assert list(nothing_twice.check(evidence)) == []


def copied(noise: float) -> liar.Lie:
    """Return what writes the latencies of a trial into another of its cell, each count shaken by a share."""

    def lie(files: liar.Files) -> None:
        group = max(liar_source._groups(files).values(), key=len)
        first, second = [one for one in group if one["assessment"]["validity"] == "valid"][:2]
        copies = json.loads(json.dumps(first["result"]["streams"]))
        for stream in copies:
            stream["largest_gap_ns"] += 7
            buckets = stream["latency"]["buckets"]
            counts = buckets[2::3]
            for place in range(2, len(buckets), 3) if noise else ():
                buckets[place] = max(1, round(buckets[place] * files.chance.uniform(1 - noise, 1 + noise)))
            fullest = max(range(2, len(buckets), 3), key=lambda place: buckets[place])
            buckets[fullest] += sum(counts) - sum(buckets[2::3])
        second["result"] |= {"streams": copies, "auxiliary": dict(first["result"]["auxiliary"])}
        second["spec"] = json.loads(json.dumps(first["spec"]))

    return lie


def test_the_latencies_of_a_trial_are_found_in_another(copy_of) -> None:
    found = verify_folder(liar.told(copy_of("packets"), copied(0))).findings
    assert "VER-56" in {one.rule_id for one in found}


@pytest.mark.parametrize("noise", [0.002, 0.03])
def test_a_copy_with_a_little_noise_is_found_by_its_rare_values(copy_of, noise: float) -> None:
    found = verify_folder(liar.told(copy_of("packets"), copied(noise), seed=3)).findings
    assert "VER-56" in {one.rule_id for one in found}


def sampled(chance: random.Random, *, tail: bool) -> tuple[tuple[int, int, int], ...]:
    """Return a histogram of 60 buckets that chance filled, with a tail of rare values or without."""
    body = [max(4, round(chance.gauss(400, 20))) for _ in range(60)]
    rare = [1 if chance.random() < 0.5 else 0 for _ in range(100 if tail else 0)]
    counts = enumerate((*body, *rare))
    return tuple((2 * place, 2 * place + 1, count) for place, count in counts if count)


def trials_of(*made: tuple[tuple[int, int, int], ...]) -> SimpleNamespace:
    streams = [
        StreamCounts(
            intended_frames=10**6,
            sent_frames=10**6,
            received_frames=sum(count for _, _, count in one),
            latency=LatencyHistogram(
                buckets=one, sum_ns=sum(low * count for low, _, count in one), min_ns=0, max_ns=one[-1][1]
            ),
        )
        for one in made
    ]
    trials = [
        SimpleNamespace(
            fault="",
            cell_id=f"cell{number}",
            metric="m",
            trial=SimpleNamespace(seq=number, result=SimpleNamespace(streams=(one,))),
            delays=delays_of(SimpleNamespace(streams=(one,))),
        )
        for number, one in enumerate(streams)
    ]
    return SimpleNamespace(run={"simulated": False}, trials=trials, executions=())


def test_a_copy_in_another_cell_is_found_by_its_rare_values_and_no_two_samples_are_one() -> None:
    chance = random.Random(3)
    honest_ones = [sampled(chance, tail=True) for _ in range(20)]
    assert list(nothing_twice.check(trials_of(*honest_ones))) == []  # type: ignore[arg-type]
    (low, high, count), *others = honest_ones[4]
    moved = ((low, high, count - 1), *others[:-1], (others[-1][0], others[-1][1], others[-1][2] + 1))
    assert len(list(nothing_twice.check(trials_of(*honest_ones, moved)))) == 1  # type: ignore[arg-type]
    full = [sampled(chance, tail=False) for _ in range(20)]  # the very same buckets, all well filled
    assert list(nothing_twice.check(trials_of(*full))) == []  # type: ignore[arg-type]


def test_a_copy_with_a_little_noise_is_asked_about_where_no_value_is_rare() -> None:
    chance = random.Random(4)
    first, second = (sampled(chance, tail=False) for _ in range(2))
    shaken = tuple((low, high, count + chance.randint(-5, 5)) for low, high, count in first)
    evidence = trials_of(first, second, shaken)
    for one in evidence.trials:
        one.cell_id = "cell"
    (asked,) = copies.near_copies(evidence)  # type: ignore[arg-type]
    assert asked.startswith("copies: the latencies of trial 2 are")


@pytest.mark.parametrize("name", ["packets", "resumed", "ladder", "loads"])
def test_no_two_trials_of_an_honest_run_are_alike(place: Path, name: str) -> None:
    verified = verify_folder(honest.run(place, name))
    assert "VER-56" not in {one.rule_id for one in verified.findings}
    assert not any(one.startswith("copies: ") for one in verified.questions)


def plainly_alike(one: Any, other: Any) -> bool:
    """Compare two streams bucket by bucket, as docs/adr/0288 and 0513 say it."""
    scale = (other.frames / one.frames) ** 0.5
    there = dict(other.fullest)
    pairs = [(count, there.get(low, 0)) for low, count in one.fullest]
    shared = [(mine, theirs) for mine, theirs in pairs if theirs and mine + theirs >= 20]
    total = sum((mine * scale - theirs / scale) ** 2 / (mine + theirs) for mine, theirs in shared)
    return len(shared) >= 48 and total < copies._limit(len(shared))


def test_setting_pairs_aside_by_their_buckets_changes_no_answer() -> None:
    chance = random.Random(7)

    def histogram() -> tuple[tuple[int, int, int], ...]:
        first, frames = chance.randrange(0, 60, 2), chance.choice([3, 9, 11, 40])
        return tuple((low, low + 1, chance.randint(1, 2 * frames)) for low in range(first, first + 200, 2))

    def shaken(buckets: tuple[tuple[int, int, int], ...]) -> tuple[tuple[int, int, int], ...]:
        by = chance.randint(1, 8)
        return tuple((low, high, max(1, count + chance.randint(-by, by))) for low, high, count in buckets)

    made = [histogram() for _ in range(60)]
    made += [shaken(chance.choice(made)) for _ in range(60)]
    streams = [SimpleNamespace(latency=LatencyHistogram(buckets=one, sum_ns=1)) for one in made]
    delays = delays_of(SimpleNamespace(streams=streams))  # type: ignore[arg-type]
    bits: dict[int, int] = {}
    sides = [copies.side_of(one, bits) for one in delays]
    found = [copies.alike(one, sides[:place]) for place, one in enumerate(sides)]
    expected = [
        any(plainly_alike(one, other) for other in delays[:place] if one.fingerprint != other.fingerprint)
        for place, one in enumerate(delays)
    ]
    assert found == expected
    assert 5 < sum(found) < 60
