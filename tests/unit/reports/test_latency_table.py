"""Latency on the page: each percentile with its interval, and the tester's own with its load beside it."""

import pytest
from made_parts import LATENCY, Clock, Maker, cell, header

from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.latency_table import latency, own_latency
from bmwg.reports.store import RunStore, read_run

POD, WIRE = cell("pvp"), cell("wire")


def written(folder, told):
    """Write a run with one latency for each cell: `told` are its load, its values in ns and its type."""
    with RunStore.create(folder, "made", header(), clock=Clock()) as store:
        maker = Maker(store)
        for one, (load_fps, numbers, kind) in told.items():
            seq = maker.trial(one, load_fps, phase="stream 1", metric=LATENCY)
            values = tuple(
                Quantity(metric=f"{LATENCY}.{name}", number=ns, unit="ns") for name, ns in numbers.items()
            )
            maker.outcome(one, LATENCY, kind, values=values, trials=(seq,))
    return facts(read_run(folder / "made"))


@pytest.fixture
def told(tmp_path):
    pod = {"p50": 24_000, "p99": 90_000, "p50.low": 23_000, "p50.high": 27_000, "p99.low": 70_000}
    wire = {"p50": 9_000, "p99": 15_000}
    kinds = (OutcomeType.MEASURED,) * 2
    return written(tmp_path, {WIRE: (150_000, wire, kinds[0]), POD: (100_000, pod, kinds[1])})


def test_each_percentile_has_its_interval(told):
    page = restructured(latency(told))
    assert "24 µs (23 µs to 27 µs)" in page.replace("\u00a0", " ")
    assert "90 µs (at least 70 µs)" in page.replace("\u00a0", " ")


def test_the_testers_own_stands_beside_it_with_its_load(told):
    assert own_latency(told, told.latency_of(POD), "").replace("\u00a0", " ").replace("\u202f", " ") == (
        "9 µs / 15 µs at 150,000 frames/s"
    )
    assert own_latency(told, told.latency_of(WIRE), "") == ""


@pytest.mark.parametrize(
    ("load_fps", "beside"),
    [
        (20_000, "7 µs / 11 µs at 45,000 frames/s"),
        (45_000, "7 µs / 11 µs at 45,000 frames/s"),
        (100_000, "7 µs / 11 µs at 45,000 frames/s, 9 µs / 15 µs at 150,000 frames/s"),
        (200_000, "9 µs / 15 µs at 150,000 frames/s, 30 µs / 90 µs at 450,000 frames/s"),
        (900_000, "30 µs / 90 µs at 450,000 frames/s"),
    ],
)
def test_the_testers_own_is_that_of_the_loads_next_to_the_devices(tmp_path, load_fps, beside):
    """What the tester takes at a load far from the device's says nothing of it."""
    floors = {"floor.45000.p50": 7_000, "floor.45000.p99": 11_000}
    floors |= {"floor.450000.p50": 30_000, "floor.450000.p99": 90_000}
    wire = {"p50": 9_000, "p99": 15_000} | floors
    numbers = {"p50": 24_000, "p99": 90_000}
    measured = OutcomeType.MEASURED
    found = written(tmp_path, {WIRE: (150_000, wire, measured), POD: (load_fps, numbers, measured)})
    told = own_latency(found, found.latency_of(POD), "")
    assert told.replace("\u00a0", " ").replace("\u202f", " ") == beside


def test_a_tester_without_a_plain_latency_has_none_beside_it(tmp_path):
    numbers = {"p50": 9_000, "p99": 15_000}
    found = written(
        tmp_path,
        {WIRE: (150_000, {}, OutcomeType.UNSTABLE), POD: (100_000, numbers, OutcomeType.MEASURED)},
    )
    assert own_latency(found, found.latency_of(POD), "") == ""


def test_a_run_without_latency_has_no_section(tmp_path):
    assert latency(written(tmp_path, {})) == []
