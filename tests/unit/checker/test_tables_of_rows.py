"""The graph and tables that catalogue rows ask for stand in the report of a run that holds what they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import runs
from cases_rfc2544 import RESETS
from cases_rfc9971 import CEILING
from cases_rfc9971 import GOOD as REGULAR
from testers import Silent

from bmwg.reports.render.blocks import Block, Grid
from bmwg.reports.render.facts import Facts, facts, option
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.plots.plots import plots
from bmwg.reports.render.sections import delay_tables, outage_tables, rfc9971_items, search_tables
from bmwg.reports.render.sections.latency_table import latency
from bmwg.reports.render.sections.results import summary, throughput
from bmwg.reports.render.sections.statements import statement
from bmwg.reports.render.text import NONE, unit
from bmwg.reports.store import read_run

SIZES = (64, 512)
GIGABIT = {"medium": {"kind": "ethernet", "line_rate_bps": 1_000_000_000}}
PROFILE = {
    "paths": runs.paths(*SIZES),
    "latency": {"frame_octets": list(SIZES)},
    "benchmarks": {
        name: {"frame_octets": list(SIZES), "streams": 2} for name in ("tagged_latency", "delay_variation")
    },
}


@pytest.fixture(scope="module")
def told() -> Facts:
    tests = (runs.TPUT, runs.LATENCY, runs.TAGGED, runs.LATENCY_8219, runs.PDV, runs.IPDV)
    evidence = runs.run(*tests, profile=PROFILE)()
    return facts(read_run(Path(evidence.files.where)))


def rows_in(section: list[Block]) -> list[list[str]]:
    """Return the rows of a section's first table, each with its cells; the head is the first."""
    grid = next(one for one in section if isinstance(one, Grid))
    return [[plain(cell) for cell in row] for row in (grid.head, *grid.rows)]


def with_size(rows: list[list[str]], size: int) -> list[list[str]]:
    return [row for row in rows if f"{size} octets" in row]


def test_the_graph_of_throughput_has_sizes_from_left_to_right_and_frames_per_second_upwards(told):
    graph = next(one for one in plots(told) if one.name == "throughput")
    assert "frame size, octets" in graph.svg
    assert "throughput, frames/s" in graph.svg


def test_a_line_rate_is_a_line_of_the_graph(told):
    graph = next(one for one in plots(told) if one.name == "throughput")
    assert "is dotted" not in graph.description
    medium = runs.run(runs.TPUT, profile=PROFILE, testbed=GIGABIT)()
    graph = next(one for one in plots(facts(read_run(Path(medium.files.where)))) if one.name == "throughput")
    assert "The theoretical maximum of the medium is dotted." in graph.description


def test_one_size_is_no_graph(told):
    one = replace(told, outcomes=tuple(o for o in told.outcomes if o.cell.frame_octets == SIZES[0]))
    assert [plot for plot in plots(one) if plot.name == "throughput"] == []


def test_protocol_size_and_medium_stand_beside_the_throughput(told):
    text = restructured([*statement(told), *summary(told)])
    for said in ("UDP over IPv4", "64 octets", "512 octets", told.run.medium_kind):
        assert said in plain(text)


def test_each_throughput_is_a_row_with_its_trials(told):
    rows = rows_in(throughput(told))
    assert "trials" in rows[0]
    for one in told.of_metric("throughput.rfc2544_26_1"):
        mine = with_size(rows, one.cell.frame_octets)
        assert any(row[rows[0].index("trials")].startswith(str(one.trials[0])) for row in mine)


@pytest.mark.parametrize(
    ("section", "metric", "columns"),
    [
        (delay_tables.rfc2544_latency, "latency.rfc2544_26_2", ("latency (mean)",)),
        (delay_tables.rfc8219_latency, "latency.rfc8219.typical", ("typical", "worst case")),
        (delay_tables.delay_variation, "pdv.rfc8219", ("PDV",)),
        (delay_tables.neighbours, "ipdv.rfc8219", ("least", "median", "largest")),
    ],
)
def test_a_table_of_delays_has_its_columns_and_a_row_for_each_size(told, section, metric, columns):
    head, *rows = rows_in(section(told))
    for column in ("frame size", "rate", "media", *columns):
        assert any(name.startswith(column) for name in head), (metric, column)
    for size in SIZES:
        assert with_size(rows, size)
        for row in with_size(rows, size):
            assert row[head.index("media")] == told.run.medium_kind
            assert row[head.index("rate")].endswith("frames/s")


def test_recoveries_and_resets_stand_beside_the_loads_that_they_are_of():
    evidence = runs.run(runs.RECOVERY, runs.RESET_LINK, profile=RESETS)()
    told = facts(read_run(Path(evidence.files.where)))
    throughput = next(one for one in told.of_metric("throughput.rfc2544_26_1") if one.cell.path == "node")
    load_fps = throughput.lower.load_fps
    head, *rows = rows_in(outage_tables.recoveries(told))
    loads = [load_fps, -(-load_fps * 110 // 100), -(-load_fps * 110 // 100) // 2]
    for name, load in zip(("throughput", "overload", "load after it"), loads, strict=True):
        assert [row[head.index(name)] for row in rows if row[0] == plain(option(throughput.cell))] == [
            plain(unit(load, "frames/s"))
        ]
    head, *rows = rows_in(outage_tables.resets(told))
    assert rows
    assert all(row[head.index("load")].endswith("frames/s") for row in rows)


@pytest.mark.parametrize(("made", "irregular"), [(REGULAR, False), (CEILING, True)])
def test_each_value_of_an_irregular_result_is_marked(made, irregular):
    told = facts(read_run(Path(made().files.where)))
    grids = [one for one in search_tables.mlrsearch(told) if isinstance(one, Grid)]
    head = grids[-1].head
    first, last = head.index("conditional throughput"), head.index("relevant upper bound")
    cells = [cell for row in grids[-1].rows for cell in row[first : last + 1] if cell != NONE]
    assert cells
    assert {cell.endswith(" (irregular)") for cell in cells} == {irregular}


@pytest.mark.parametrize(
    ("tester", "words"),
    [
        (runs.Tester, "duplicate: the model makes none; reordered: the model makes none"),
        (Silent, "the tester does not say"),
    ],
)
def test_how_duplicates_count_is_said_in_the_testers_words(tester, words):
    evidence = runs.run(runs.MLR, base="rfc9971", tester=tester)()
    items = rows_in(rfc9971_items.items(facts(read_run(Path(evidence.files.where)))))
    assert ["duplicate and reordered frames (4.9.1)", words] in items


def test_the_table_of_all_frames_has_no_medium(told):
    text = plain(restructured(latency(told)))
    assert "media" not in text
    assert told.run.medium_kind not in text


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\\", "")
