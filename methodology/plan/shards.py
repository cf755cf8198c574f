"""Cuts the tests of a plan into shards that take about the same time. Pure.

A shard holds whole tests: all options of a test stay together, so that they take turns in one run. What one
run would measure once stays in one shard as well: tests that share an answer are never parted. What a test
needs beside its answers (its throughput, the tester's qualification) may be measured in several shards.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

# whether shards measure the same cells beside their own
AUTO, ALWAYS, NONE = CALIBRATIONS = ("auto", "always", "none")
_LEAST_S = 1e-6  # a smaller difference is one of adding up


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """What one test takes, seconds by what is measured: its `own` answers, and what these need beside them.

    Two tests that need the same, or one that answers what another needs, have it under the same key.
    """

    own: Mapping[Hashable, float] = field(default_factory=dict)
    needed: Mapping[Hashable, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The tests of a plan with their pieces; `calibration` holds those by which two testbeds are compared."""

    tests: Mapping[str, Pieces]
    calibration: Mapping[str, Pieces] = field(default_factory=dict)


def joined(works: Collection[Work]) -> Work:
    """Return the work of several kinds of load together."""
    return Work(
        tests={name: one for work in works for name, one in work.tests.items()},
        calibration={name: one for work in works for name, one in work.calibration.items()},
    )


def seconds(pieces: Collection[Pieces]) -> float:
    """Return how long tests take in one run: what several of them measure or need counts once."""
    return sum(_once(pieces).values())


def needed_beside(pieces: Collection[Pieces]) -> dict[Hashable, float]:
    """Return what tests need that none of them answers, seconds by what is measured."""
    own = {key for piece in pieces for key in piece.own}
    return {key: took_s for key, took_s in _once(pieces).items() if key not in own}


def _once(pieces: Collection[Pieces]) -> dict[Hashable, float]:
    needed = {key: took_s for piece in pieces for key, took_s in piece.needed.items()}
    return needed | {key: took_s for one in pieces for key, took_s in one.own.items()}


def cut(tests: Mapping[str, Pieces], shards: int) -> tuple[tuple[str, ...], ...]:
    """Return at most so many shards of tests, the longest first; the same tests give the same shards.

    The longest group of tests comes first, each to the shard that is then shortest. A shard that measures
    what a test needs anyway takes it at less cost, so related tests come together. Then groups change places
    as long as that makes the longest shard shorter, or all of them together.
    """
    groups = sorted(_inseparable(tests), key=lambda group: (-_took(tests, [group]), group))
    filled: list[_Shard] = [() for _ in range(min(shards, len(groups)))]
    for group in groups:
        least = min(range(len(filled)), key=lambda number: (_took(tests, (*filled[number], group)), number))
        filled[least] = (*filled[least], group)
    made = [tuple(sorted(name for group in one for name in group)) for one in _evened(tests, filled) if one]
    return tuple(sorted(made, key=lambda names: (-seconds([tests[one] for one in names]), names)))


_Shard = tuple[tuple[str, ...], ...]  # groups of tests


def _took(tests: Mapping[str, Pieces], groups: Collection[tuple[str, ...]]) -> float:
    return seconds([tests[name] for group in groups for name in group])


def _evened(tests: Mapping[str, Pieces], filled: Sequence[_Shard]) -> list[_Shard]:
    """Return the shards after the best change of two of them, again and again until none is better."""
    shards = list(filled)
    took = [_took(tests, shard) for shard in shards]
    while True:
        best, chosen = (max(took), sum(took)), None
        for one, other in permutations(range(len(shards)), 2):
            rest_s = max((took[each] for each in range(len(took)) if each not in (one, other)), default=0.0)
            for first, second in _changed(shards[one], shards[other], swap=took[one] == max(took)):
                now = (_took(tests, first), _took(tests, second))
                found = (max(rest_s, *now), sum(took) - took[one] - took[other] + sum(now))
                if found[0] < best[0] - _LEAST_S or (
                    found[0] < best[0] + _LEAST_S and found[1] < best[1] - _LEAST_S
                ):
                    best, chosen = found, (one, other, first, second, now)
        if chosen is None:
            return shards
        one, other, shards[one], shards[other], (took[one], took[other]) = chosen


def _changed(one: _Shard, other: _Shard, *, swap: bool) -> Iterator[tuple[_Shard, _Shard]]:
    """Yield two shards after each move of a group to the other one, and after each exchange of two."""
    for group in one:
        less = tuple(each for each in one if each != group)
        if less:  # who has so many testbeds gets so many shards
            yield less, (*other, group)
        if swap:
            for theirs in other:
                yield (*less, theirs), (*(each for each in other if each != theirs), group)


def _inseparable(tests: Mapping[str, Pieces]) -> list[tuple[str, ...]]:
    """Return the tests in groups: those that share an answer, directly or by a third one."""
    groups: list[tuple[set[str], set[Hashable]]] = []
    for name, one in tests.items():
        names, answers = {name}, set(one.own)
        apart = []
        for others, theirs in groups:
            if answers.isdisjoint(theirs):
                apart.append((others, theirs))
            else:
                names |= others
                answers |= theirs
        groups = [*apart, (names, answers)]
    return [tuple(sorted(names)) for names, _ in groups]


def calibrating(mine: Collection[Pieces], calibration: Mapping[str, Pieces]) -> tuple[str, ...]:
    """Return the tests that a shard measures beside its own to be comparable; none that it has anyway."""
    own = {key for pieces in mine for key in pieces.own}
    return tuple(name for name, one in sorted(calibration.items()) if own.isdisjoint(one.own))
