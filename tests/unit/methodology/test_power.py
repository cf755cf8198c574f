"""Energy by a meter that draws a known curve; and why one that stops or counts backwards tells none."""

from __future__ import annotations

import math

import pytest

from bmwg.methodology.answers.power import (
    Energy,
    Lack,
    Sample,
    lacks,
    of_counters,
    of_samples,
    told,
    used,
)

S = 1_000_000_000


def watts(t: float) -> float:
    """A curve as a server draws it: a base, a slow wave and a step of load from 20 s to 35 s."""
    return 80 + 15 * math.sin(2 * math.pi * t / 40) + (60 if 20 <= t < 35 else 0)


def joules(begin: float, end: float) -> float:
    """Its energy, by a step a thousandth of a second long."""
    steps = round((end - begin) * 1000)
    return sum(watts(begin + (at + 0.5) / 1000) for at in range(steps)) / 1000


def power(begin: float = -2.0, end: float = 62.0, period: float = 0.5) -> list[Sample]:
    return [
        Sample(at_ns=round(t * S), value=round(watts(t) * 1000))
        for t in (begin + at * period for at in range(round((end - begin) / period) + 1))
    ]


def counter(period: float = 0.5) -> list[Sample]:
    total, found = 0.0, []
    for at in range(round(64 / period) + 1):
        found.append(Sample(at_ns=round((at * period - 2) * S), value=round(total * 1e6)))
        total += joules(at * period - 2, (at + 1) * period - 2)
    return found


def energy(samples, begin: float, end: float, **how) -> Energy:
    asked = {"longest_gap_ns": round(1.5 * S), "counter": False, **how}
    return of_samples(samples, round(begin * S), round(end * S), **asked)


@pytest.mark.parametrize(
    ("begin", "end"), [(0, 60), (0.13, 59.77), (18.3, 38.2), (22.21, 33.9), (40, 42), (0, 30.05)]
)
@pytest.mark.parametrize("counts", [False, True])
def test_energy_of_a_known_curve_is_within_one_percent(begin, end, counts) -> None:
    found = energy(counter() if counts else power(), begin, end, counter=counts)
    assert found.lack is None
    assert found.energy_uj == pytest.approx(joules(begin, end) * 1e6, rel=0.01)
    assert found.window_ns == round(end * S) - round(begin * S)
    assert (found.largest_gap_ns, found.wraps) == (S // 2, 0)


def test_a_load_that_begins_between_two_samples_is_out_of_place_by_less_than_one() -> None:
    """Of a step at 20 s the energy before and after it tells when it was."""
    samples = power(period=1.0)
    before = energy(samples, 10.25, 20.0, longest_gap_ns=3 * S)
    shift_s = abs(before.energy_uj / 1e6 - joules(10.25, 20.0)) / 60
    assert shift_s < 1.0


def test_a_constant_is_exact_whatever_the_samples_are() -> None:
    samples = [Sample(at_ns=round(at * S), value=100_000) for at in (0, 0.3, 1.7, 2, 3.3)]
    found = energy(samples, 0.5, 3.1, longest_gap_ns=2 * S)
    assert found.energy_uj == 260_000_000
    assert found.samples == 2


def without(samples, begin: float, end: float):
    return [one for one in samples if not begin < one.at_ns / S < end]


@pytest.mark.parametrize(
    ("samples", "lack"),
    [
        (without(power(), 30, 33), Lack.STOPPED),
        (without(power(), 55, 99), Lack.STOPPED),
        (without(power(), -9, 5), Lack.STOPPED),
        ([], Lack.STOPPED),
        (power()[:1], Lack.STOPPED),
        ([*power()[:60], *power()[50:]], Lack.BACKWARDS),
        ([*power()[:60], Sample(at_ns=power()[60].at_ns, value=-1), *power()[61:]], Lack.BACKWARDS),
    ],
)
def test_a_meter_that_stops_or_goes_back_is_named_and_tells_no_energy(samples, lack) -> None:
    found = energy(samples, 0, 58)
    assert (found.lack, found.energy_uj) == (lack, None)
    counts = found.counts()
    assert lacks(counts) == (lack,)
    assert told(counts) is None
    assert used([(counts, 1000)]) is None


def test_a_counter_that_goes_back_is_named() -> None:
    samples = counter()
    at = 70
    samples[at] = Sample(at_ns=samples[at].at_ns, value=samples[at - 1].value - 1)
    found = energy(samples, 0, 58, counter=True)
    assert (found.lack, found.energy_uj) == (Lack.BACKWARDS, None)


SPAN = {"0": 262_143_328_850, "1": 65_532_610_987}


@pytest.mark.parametrize(
    ("first", "last", "window_s", "found"),
    [
        ({"0": 5_000_000, "1": 7}, {"0": 605_000_000, "1": 7}, 10, (600_000_000, 0, None)),
        # behind its range a counter goes on from 0
        ({"0": SPAN["0"] - 99_999_999, "1": 0}, {"0": 500_000_000, "1": 5}, 10, (600_000_005, 1, None)),
        ({"0": 0, "1": 0}, {"0": 1, "1": 1}, 70, (None, 0, Lack.WRAPS_UNKNOWN)),
        ({"0": 900_000_000, "1": 0}, {"0": 1_000, "1": 1}, 10, (None, 0, Lack.BACKWARDS)),
        ({"0": 1}, {"0": 2, "1": 3}, 10, (None, 0, Lack.STOPPED)),
        ({}, {}, 10, (None, 0, Lack.STOPPED)),
    ],
)
def test_a_counter_that_wraps_is_put_right_once_and_else_named(first, last, window_s, found) -> None:
    energy = of_counters(first, last, SPAN, window_s * S, 1000)
    assert (energy.energy_uj, energy.wraps, energy.lack) == found
    assert energy.counts().get("host.power.wraps", 0) == found[1]


def test_energy_of_each_is_of_all_trials_together_and_above_idle_of_the_same_windows() -> None:
    one = Energy(window_ns=10 * S, energy_uj=1_000_000_000).counts()
    other = Energy(window_ns=10 * S, energy_uj=1_400_000_000).counts()
    lost = Energy(window_ns=10 * S, lack=Lack.STOPPED).counts()
    found = used([(one, 1_000_000), (other, 3_000_000), (lost, 9_000_000)])
    assert (found.trials, found.carried, found.power_w) == (2, 4_000_000, 120.0)
    assert found.each_j == pytest.approx(2400 / 4e6)
    assert found.above(80.0) == pytest.approx((2400 - 80 * 20) / 4e6)
    assert used([(one, 0)]).each_j is None
