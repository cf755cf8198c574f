"""Answers of frames beside a neighbour stand beside the same cell alone, with the neighbour's own work."""

from made_parts import Maker, cell, header

from bmwg.methodology.benchmarks.beside_neighbour import STRESS
from bmwg.methodology.cells import neighbours
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.render.blocks import Grid, flat
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.sections.neighbour_table import beside
from bmwg.reports.render.text import NONE
from bmwg.reports.store import RunStore, read_run

NS = 1_000_000_000
ALONE, LOADED = cell("node", axes=(("neighbour", "none"),)), cell("node", axes=(("neighbour", "cpu-on-dut"),))
COUNTS = (  # 300 operations/s beside, 1,000 alone; a fifth of each of two CPUs
    (neighbours.WORK, 300),
    (neighbours.WORK_NS, NS),
    (neighbours.BEFORE, 2000),
    (neighbours.BEFORE_NS, 2 * NS),
    (neighbours.CPU_NS, 2 * NS // 5),
    (neighbours.CPUS, 2),
)


def measured(maker, one, capacity_fps, behind="", **how):
    how = {"steps": 9, **how}  # each interval is narrow enough for a ratio
    seqs, low, high = maker.search(one, capacity_fps, 1_000_000, metric=STRESS.metric, **how)
    metric = f"{STRESS.metric}{behind}"
    parts = ("", ".relevant_lower_bound") if behind else ("",)
    maker.outcome(
        one,
        metric,
        OutcomeType.MEASURED,
        values=tuple(
            Quantity(metric=f"{metric}{part}", number=capacity_fps, unit="frames/s") for part in parts
        ),
        lower=low,
        upper=high,
        trials=tuple(seqs),
    )


def rows(tmp_path, *cells, **how):
    with RunStore.create(tmp_path, "beside", header()) as store:
        for one, capacity_fps in cells:
            told = {"used": dict(COUNTS)} if one == LOADED else {}
            measured(Maker(store), one, capacity_fps, **told, **how)
    found = [one for one in flat(beside(facts(read_run(store.folder)))) if isinstance(one, Grid)]
    return [dict(zip(one.head, row, strict=True)) for one in found for row in one.rows]


def test_an_answer_stands_beside_the_same_cell_alone_with_the_neighbours_own_work(tmp_path):
    (row,) = rows(tmp_path, (ALONE, 400_000), (LOADED, 100_000))
    assert row["ratio"] == "0.250"
    assert row["its own work, beside / alone"] == "0.300"
    assert row["its share of its CPUs"].startswith("20")


def test_answers_of_a_goal_have_their_ratio_and_their_condition(tmp_path):
    (row,) = rows(tmp_path, (ALONE, 400_000), (LOADED, 100_000), behind=".0.1f1.5d0l50e")
    assert row["ratio"] == "0.250"
    assert row["metric"] == f"{STRESS.metric}.0.1f1.5d0l50e"
    assert str(row["beside it"]).replace("\u00a0", " ") == "100,000 frames/s"
    text = restructured(beside(facts(read_run(tmp_path / "beside"))))
    assert "RFC 9971's conditional one" in text


def test_without_the_cell_alone_there_is_no_ratio_and_without_a_neighbour_no_section(tmp_path):
    (row,) = rows(tmp_path / "a", (LOADED, 100_000))
    assert row["alone"] == row["ratio"] == NONE
    assert rows(tmp_path / "b", (ALONE, 100_000)) == []


def test_no_ratio_is_taken_of_a_wide_interval(tmp_path):
    """As in the ladder and in comparisons: the number alone is the lower end of it."""
    (row,) = rows(tmp_path, (ALONE, 400_000), (LOADED, 100_000), steps=5)
    assert row["ratio"] == NONE
    assert "loss from" in row["beside it"]
