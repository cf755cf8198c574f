"""Both ends of an answer leave with it, whatever search found it, and so does why it is no number."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from made_parts import LATENCY, THROUGHPUT, Clock, Maker, cell, header
from matplotlib.figure import Figure

from bmwg.methodology.benchmarks import match_action
from bmwg.methodology.records import Bound, Outcome, OutcomeType, Quantity
from bmwg.reports.exported import as_csv, as_junit
from bmwg.reports.opened import opened
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.first_page import trust
from bmwg.reports.render.plots.extent import Extent, Known
from bmwg.reports.render.sections.chain_section import draw_throughput
from bmwg.reports.render.sections.matrices import matrices
from bmwg.reports.render.sections.results import answer
from bmwg.reports.render.sections.search_tables import mlrsearch
from bmwg.reports.render.sections.statements import statement
from bmwg.reports.store import RunStore, read_run

ONE = cell("pvp", "bridge")


@pytest.fixture
def run(tmp_path):
    metric = f"{match_action.METRIC}.made"
    with RunStore.create(tmp_path, "made", header(), clock=Clock()) as store:
        maker = Maker(store)
        clean, lossy = maker.trial(ONE, 100_000), maker.trial(ONE, 150_000, loss_ratio=0.1)
        bounds = {
            "lower": Bound(load_fps=100_000, trials=(clean,)),
            "upper": Bound(load_fps=150_000, trials=(lossy,)),
        }
        value = Quantity(metric=metric, number=100_000, unit="frames/s")
        kind, trials = OutcomeType.MEASURED, (clean, lossy)
        maker.outcome(ONE, metric, kind, values=(value,), trials=trials, **bounds)
        ceiling = {"lower": bounds["lower"], "trials": (clean,), "reason": "the highest load of the search"}
        maker.outcome(ONE, THROUGHPUT, OutcomeType.AT_CEILING, **ceiling)
    return read_run(tmp_path / "made")


def test_a_wide_interval_goes_out_with_its_number(run):
    """The number of a wide interval never stands alone: nor where no search for a throughput found it."""
    answer = opened(run).answers[0]
    assert (answer.number, answer.low_fps, answer.high_fps) == (100_000, 100_000, 150_000)
    assert "100000,150000" in as_csv(opened(run)).replace("frames/s,", "")


def test_an_answer_without_a_number_keeps_its_reason_in_junit(run):
    suite = ElementTree.fromstring(as_junit(opened(run)))
    told = [
        {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in suite.iter("testcase")
        if case.get("name", "").startswith(THROUGHPUT)
    ]
    assert [(one["type"], one["reason"]) for one in told] == [
        ("at_ceiling", "the highest load of the search")
    ]


def test_an_interval_is_drawn_from_what_no_buffer_carried():
    axes = Figure().subplots()
    one = Extent(known=Known.INTERVAL, low_fps=100, high_fps=120, least_fps=80)
    draw_throughput(axes, [(1, one, None)], "C0", "o", "made")
    assert [list(line.get_ydata()) for line in axes.lines[1:]] == [[80, 120]]


def test_no_table_tells_the_number_of_a_wide_interval_alone(tmp_path):
    """Each has where loss begins beside the number, and what no buffer carried of it where that was tried."""
    goal = "60f60d0l0e"
    with RunStore.create(tmp_path, "wide", header(), clock=Clock()) as store:
        maker = Maker(store)
        clean, lossy = maker.trial(ONE, 100_000), maker.trial(ONE, 150_000, loss_ratio=0.1)
        both = {
            "lower": Bound(load_fps=100_000, trials=(clean,)),
            "upper": Bound(load_fps=150_000, trials=(lossy,)),
            "trials": (clean, lossy),
        }
        found = Quantity(metric=THROUGHPUT, number=100_000, unit="frames/s")
        maker.outcome(ONE, THROUGHPUT, OutcomeType.MEASURED, values=(found,), **both)
        metric = f"conditional_throughput.rfc9971.{goal}"
        sustained = Quantity(metric=f"sustained_load.rfc9971.{goal}", number=80_000, unit="frames/s")
        values = (replace(found, metric=metric), sustained)
        maker.outcome(ONE, metric, OutcomeType.MEASURED, values=values, **both)
    told = facts(read_run(tmp_path / "wide"))
    said = [
        restructured(section(told)).replace("\u00a0", " ") for section in (statement, matrices, mlrsearch)
    ]
    assert all("100,000 frames/s, loss from 150,000 frames/s on" in one for one in said[:2])
    assert "100,000 frames/s, sustained 80,000 frames/s, loss from 150,000 frames/s on" in said[2]


def test_of_several_values_each_has_its_name():
    """Percentiles in a row without names are numbers that nobody can hold against another's."""
    values = tuple(
        Quantity(metric=f"{LATENCY}.{name}", number=number, unit="ns")
        for name, number in (("p50", 9), ("p99", 12))
    )
    one = Outcome(
        outcome_id="T", metric=LATENCY, cell=ONE, type=OutcomeType.MEASURED, values=values, trials=(1,)
    )
    assert answer(one).replace("\u00a0", " ") == "p50 9 ns; p99 12 ns"
    assert answer(replace(one, values=values[:1])).replace("\u00a0", " ") == "9 ns"


def test_every_wide_interval_is_counted_as_a_range(run):
    """Not those of the throughput's first search alone."""
    assert "1 measured as a range, 1 bounded from one side" in restructured(trust(facts(run)))
