"""The documents' order and what a cache saves, from repetitions that are made for it."""

from __future__ import annotations

import math
import statistics

import pytest
from tests.unit.http import made

from bmwg.methodology.answers.student import contrast, difference, quantile
from bmwg.methodology.kinds.requests.orders import Shown, Times, orders, savings


def measured(experiment: str, form: str, octets: int, means_us: list[float], *, cache: bool = False) -> Times:
    cell = made.spec(form, experiment=experiment, object_octets=octets, cache=cache)
    return Times(cell=cell, values=[float(round(mean * 1000)) for mean in means_us])


def test_each_claim_of_order_is_told_as_its_interval_says() -> None:
    found = orders(
        [
            measured("one_client", "native", 1000, [10, 11, 10]),
            measured("one_client", "docker_routed", 1000, [10, 11, 10.5]),
            measured("one_client", "docker_nat", 1000, [5, 5.1, 5]),
            measured("one_client", "vm_full", 1000, [90, 91, 92]),
            measured("one_client", "vm_para", 1000, [40, 41, 40]),
            measured("hundred_clients", "vm_para", 1000, [1, 2, 3]),
        ]
    )
    told = {(one.first, one.second): one.shown for one in found}
    assert told == {
        ("native", "docker_routed"): Shown.OPEN,
        ("docker_routed", "docker_nat"): Shown.CONTRADICTED,
        ("docker_routed", "vm_full"): Shown.HOLDS,
        ("docker_nat", "vm_full"): Shown.HOLDS,
        ("docker_routed", "vm_para"): Shown.HOLDS,
        ("docker_nat", "vm_para"): Shown.HOLDS,
        ("vm_para", "vm_full"): Shown.HOLDS,
    }


def test_repetitions_that_do_not_vary_or_are_too_few_show_no_order() -> None:
    (one,) = orders(
        [
            measured("one_client", "native", 1000, [10.0]),
            measured("one_client", "docker_routed", 1000, [20.0]),
        ]
    )
    assert one.gap is None
    assert one.shown is None


def test_a_cache_that_helps_small_objects_most_is_found_and_its_contrary_too() -> None:
    plain, cached = "one_client", "one_client_cached"
    for large_with, expected in (([95, 96, 94.5], Shown.HOLDS), ([10, 10.2, 9.9], Shown.CONTRADICTED)):
        found = savings(
            [
                measured(cached, "native", 100_000, large_with, cache=True),
                measured(cached, "native", 1000, [50, 51, 49], cache=True),
                measured(plain, "native", 1000, [100, 101, 99]),
                measured(plain, "native", 100_000, [100, 102, 99]),
                measured(plain, "docker_nat", 1000, [100, 102, 99]),
            ]
        )
        small, large = found
        assert (small.cell.object_octets, large.cell.object_octets) == (1000, 100_000)
        assert small.ratio == pytest.approx(0.5, rel=0.01)
        assert small.shown is None
        assert large.shown is expected


def test_a_contrast_of_two_groups_is_welchs_difference_and_of_four_adds_their_variances() -> None:
    a, b = [10.0, 10.1, 9.9, 10.0], [1.0, 20.0, 5.0]
    assert contrast([(1, a), (-1, b)]) == difference(a, b)
    part = statistics.variance(b) / len(b)
    for groups, freedom in ((2, 4), (4, 8)):  # of groups that vary alike, degrees of freedom add up
        found = contrast([((-1) ** number, b) for number in range(groups)])
        assert found is not None
        assert found.difference == pytest.approx(0)
        assert found.half_width == pytest.approx(quantile(0.975, freedom) * math.sqrt(groups * part))
    assert contrast([(1, a), (-1, [1.0])]) is None
