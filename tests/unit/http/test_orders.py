"""The documents' order and what a cache saves, from repetitions that are made for it."""

from __future__ import annotations

import itertools
import math
import statistics
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.methodology.answers.student import contrast, difference, quantile
from bmwg.methodology.kinds.requests.orders import Claim, Shown, Times, orders, savings, steps
from bmwg.reports.kinds.requests.order_tables import order_section
from bmwg.reports.published.figures import tables
from bmwg.reports.render.forms.rst import restructured

ROUTED_FIRST = {"docker_routed": 100.0, "docker_nat": 200.0}


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


def many(form: str, proxies: int, means_ms: list[float], **changes: object) -> Times:
    asked = {"experiment": "many_proxies", "clients": 64, "object_octets": 1_024_000, "cache": True}
    cell = made.spec(form, proxies=proxies, **{**asked, **changes})
    return Times(cell=cell, values=[mean * 1e6 for mean in means_ms])


def test_routing_is_said_to_be_the_slower_one_where_64_clients_ask_several_proxies() -> None:
    found = orders([many(form, n, [t, t + 1, t + 2]) for n in (1, 2) for form, t in ROUTED_FIRST.items()])
    assert [(one.cell.proxies, one.first, one.shown) for one in found] == [
        (1, "docker_routed", Shown.HOLDS),
        (2, "docker_nat", Shown.CONTRADICTED),
    ]


def test_each_claim_on_several_proxies_is_told_as_its_interval_says() -> None:
    times_ms = {1: 300.0, 2: 220.0, 4: 220.5, 8: 150.0, 16: 400.0}
    found = steps([many("docker_nat", n, [t, t + 1, t + 2]) for n, t in times_ms.items()])
    assert [(one.fewer, one.cell.proxies, one.claim, one.shown) for one in found] == [
        (1, 2, Claim.LESS, Shown.HOLDS),
        (2, 4, Claim.NOT_LESS, Shown.OPEN),
        (2, 8, Claim.NOT_LESS, Shown.CONTRADICTED),
        (2, 16, Claim.NOT_LESS, Shown.HOLDS),
        (8, 16, Claim.MORE, Shown.HOLDS),
    ]
    assert [one.figure for one in found] == ["about 70 ms less", "", "", "", ""]
    assert found[0].ratio == pytest.approx(221 / 301)
    (slower,) = steps([many("docker_nat", n, [n * 10.0, n * 11.0]) for n in (1, 2)])
    assert slower.shown is Shown.CONTRADICTED
    (once,) = steps([many("docker_nat", n, [n * 10.0]) for n in (1, 2)])
    assert once.shown is None


def test_a_figure_of_the_document_stands_beside_its_own_objects_clients_and_forms_alone() -> None:
    ten = {"experiment": "ten_clients", "clients": 10, "cache": False}
    for form, changes, figure in (
        ("docker_routed", ten, "about half"),
        ("native", ten, ""),
        ("docker_routed", {**ten, "experiment": "ten_clients_cached", "cache": True}, ""),
        ("docker_routed", {"object_octets": 100_000}, ""),
        ("docker_routed", {"clients": 16}, ""),
    ):
        (one,) = steps([many(form, n, [30.0 / n, 31.0 / n], **changes) for n in (1, 2)])
        assert (one.claim, one.figure, one.shown) == (Claim.LESS, figure, Shown.HOLDS)


def test_the_report_has_the_claims_on_several_proxies_also_of_one_form_alone() -> None:
    cells = [many("docker_nat", 1, [300.0, 301.0]), many("docker_nat", 2, [220.0, 221.0])]
    answers: list[Any] = [
        SimpleNamespace(
            spec=one.cell,
            values={"mean": 1.0},
            results=[SimpleNamespace(mean_request_ns=value) for value in one.values],
        )
        for one in cells
    ]
    words = {"docker_nat": "Docker, NAT"}
    page = restructured(order_section(answers, words, {})).replace("\\", "")
    for told in ("2 need less than 1", "-80 ± ", "73.4", "about 70 ms less", "as in the documents", "kB"):
        assert told in page
    assert "Order of the hosting forms" not in page
    assert order_section(answers[:1], words, {}) == []


def test_pods_of_a_cluster_have_no_claim_on_several_proxies() -> None:
    assert steps([many("kubernetes_service", n, [1.0, 2.0]) for n in (1, 2, 4, 16)]) == ()


def test_the_rows_that_are_said_to_show_the_other_way_are_those_of_the_documents_tables() -> None:
    contrary = set()
    for name, shown in tables().items():
        if not name.startswith("eiras2016-"):
            continue
        for item in {row for row, _ in shown.figures}:
            for first, second in itertools.pairwise(("native", "docker-routed", "docker-nat", "kvm")):
                a, b = shown.figures[(item, first)], shown.figures[(item, second)]
                if a.mean - b.mean > math.hypot(a.half_width_95 or 0, b.half_width_95 or 0):
                    contrary.add((name, item, first, second))
    assert contrary == {
        ("eiras2016-case2", "100 kB", "native", "docker-routed"),
        ("eiras2016-case3", "10 kB", "docker-routed", "docker-nat"),
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
