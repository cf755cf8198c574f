"""The graph and tables that catalogue rows ask for stand in the report of a run that holds what they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import runs

from bmwg.reports.render.blocks import Block, Grid
from bmwg.reports.render.facts import Facts, facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.plots.plots import plots
from bmwg.reports.render.sections import delay_tables
from bmwg.reports.render.sections.latency_table import latency
from bmwg.reports.render.sections.results import summary, throughput
from bmwg.reports.render.sections.statements import statement
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


def test_the_table_of_all_frames_has_no_medium(told):
    text = plain(restructured(latency(told)))
    assert "media" not in text
    assert told.run.medium_kind not in text


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\\", "")
