"""Comparisons of throughputs that several documents define: which one stands on the screen."""

from __future__ import annotations

from pathlib import Path

from compared_runs import FAST, SLOW, record, side
from made_parts import THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.methodology.search import tst009
from bmwg.reports.compare import Side, compare
from bmwg.reports.compare.screen import comparison_screen
from bmwg.reports.store import RunStore, read_run


def test_the_screen_tells_the_search_that_both_sides_have(tmp_path: Path) -> None:
    """One run may find a cell's throughput by two documents, the other by one of them."""
    goal, told = "conditional_throughput.rfc9971.1f2d0l50e", {}
    for name, metrics in (("A", (goal,)), ("B", (THROUGHPUT, goal))):
        with RunStore.create(tmp_path, name, header()) as store:
            store.set_platform(before=record())
            maker, one = Maker(store), cell("pvp", "bridge")
            for metric in metrics:
                load = 788_046 if metric == goal else 797_057
                seq = maker.trial(one, load, metric=metric)
                number = Quantity(metric=metric, number=load, unit="frames/s")
                maker.outcome(one, metric, OutcomeType.MEASURED, trials=(seq,), values=(number,))
            store.set_platform(after=record())
        told[name] = Side(name=name, runs=(read_run(store.folder),))
    screen = comparison_screen(compare([*told.values()]))
    (line,) = (one for one in screen.splitlines() if one.startswith("pvp bridge 64"))
    assert line.split()[3:5] == ["788,046", "788,046"]


def test_a_throughput_of_tst009_is_compared_and_the_screen_says_by_what(tmp_path: Path) -> None:
    """TST009-12.3.3: such runs had no row of throughput."""
    slow, fast = (side(name, tmp_path, of, metric=tst009.METRIC) for name, of in (("A", SLOW), ("B", FAST)))
    made = compare([slow, fast])
    row = next(row for row in made.rows if row.metric == tst009.METRIC)
    assert row.verdict.startswith("B is higher than A")
    told = " ".join(comparison_screen(made).split())
    assert "bridge 64 100,250 [99k-101k] 110,100 [110k-111k]" in told
    assert "Throughput by TST009 where not both sides have one by RFC 2544" in told
    others = comparison_screen(compare([side("C", tmp_path, SLOW), side("D", tmp_path, FAST)]))
    assert "TST009" not in others
