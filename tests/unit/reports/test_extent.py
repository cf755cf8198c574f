"""The first figure: what is drawn are the outcome's own bounds, and only a plain number looks like one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_parts import ENVELOPE, THROUGHPUT, Maker, cell, header
from matplotlib.figure import Figure

from bmwg.methodology.answers.throughput import is_wide
from bmwg.methodology.records import Bound, OutcomeType, Quantity, Validity
from bmwg.reports.render.facts import Facts, facts, option
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.plots.extent import Extent, Known, extent
from bmwg.reports.render.plots.option_plot import _draw, option_plot, shown_rows
from bmwg.reports.render.plots.plots import measured_extents
from bmwg.reports.render.sections.results import answer, ladder_section
from bmwg.reports.store import RunStore, read_run

SOME_LOST = "conditional_throughput.rfc9971.1f3d0.5l50e"


def answered(
    folder: Path,
    kind: OutcomeType,
    low: int | None,
    high: int | None,
    metric: str = THROUGHPUT,
    **trials: Any,
) -> Facts:
    """Return a run of a wire at 1,000,000 frames/s and one option with such bounds.

    `loads` are (load, loss ratio) of further trials of the option.
    """
    with RunStore.create(folder, "one", header()) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        seq = maker.trial(cell("wire"), 1_000_000)
        envelope = Quantity(metric=ENVELOPE, number=1_000_000, unit="frames/s")
        bound = Bound(load_fps=1_000_000, trials=(seq,))
        maker.outcome(
            cell("wire"), ENVELOPE, OutcomeType.MEASURED, values=(envelope,), lower=bound, trials=(seq,)
        )
        seqs = [maker.trial(one, load, loss_ratio=loss) for load, loss in trials.get("loads", ())]
        lower = None if low is None else Bound(load_fps=low, trials=(maker.trial(one, low),))
        upper = (
            None if high is None else Bound(load_fps=high, trials=(maker.trial(one, high, loss_ratio=0.1),))
        )
        if kind is OutcomeType.UNSTABLE:
            lower = upper = None
        values = ()
        if kind is OutcomeType.MEASURED and low is not None:
            values = (Quantity(metric=metric, number=low, unit="frames/s"),)
        ends = [seq for bound in (lower, upper) if bound for seq in bound.trials]
        maker.outcome(
            one,
            metric,
            kind,
            values=values,
            lower=lower,
            upper=upper,
            trials=(*seqs, *ends),
            reason="made",
        )
    return facts(read_run(store.folder))


def the_extent(told: Facts) -> Extent:
    (outcome,) = told.of_metric(THROUGHPUT)
    return extent(told, outcome)


@pytest.mark.parametrize(
    ("kind", "low", "high", "known"),
    [
        (OutcomeType.MEASURED, 400_000, 410_000, Known.NUMBER),
        (OutcomeType.MEASURED, 400_000, 500_000, Known.INTERVAL),
        (OutcomeType.MEASURED, 400_000, None, Known.NUMBER),
        (OutcomeType.AT_CEILING, 1_000_000, None, Known.AT_LEAST),
        (OutcomeType.TESTER_LIMITED, 980_000, None, Known.AT_LEAST),
        (OutcomeType.AT_FLOOR, None, 10_000, Known.AT_MOST),
        (OutcomeType.NOT_ASSESSED, None, None, Known.NOTHING),
        (OutcomeType.INVALID, None, None, Known.NOTHING),
    ],
)
def test_the_ends_are_the_outcomes_own_bounds(
    tmp_path: Path, kind: OutcomeType, low: int | None, high: int | None, known: Known
) -> None:
    found = the_extent(answered(tmp_path, kind, low, high))
    assert found.known is known
    assert found.low_fps == low
    assert found.high_fps == high


def test_the_ends_of_an_unstable_answer_are_where_all_its_trials_agree(tmp_path: Path) -> None:
    loads = [
        (100_000, 0),
        (200_000, 0),
        (300_000, 0.1),
        (300_000, 0),
        (250_000, 0.2),
        (400_000, 0.1),
        (350_000, 0.3),
    ]
    found = the_extent(answered(tmp_path, OutcomeType.UNSTABLE, None, None, loads=loads))
    assert (found.known, found.low_fps, found.high_fps) == (Known.UNCONFIRMED, 200_000, 350_000)
    assert str(found) == "between 200,000 and 350,000, unstable"


@pytest.mark.parametrize(
    ("loads", "ends", "words"),
    [
        (
            [(100_000, 0), (200_000, 0.1), (200_000, 0)],
            (100_000, None),
            "no loss up to 100,000, unstable",
        ),
        (
            [(100_000, 0.1), (100_000, 0), (200_000, 0.1)],
            (None, 200_000),
            "loss from 200,000 on, unstable",
        ),
        ([(100_000, 0.1), (100_000, 0)], (None, None), "unstable"),
    ],
)
def test_an_end_that_nothing_shows_is_not_made_up(
    tmp_path: Path, loads: list[Any], ends: tuple[Any, Any], words: str
) -> None:
    found = the_extent(answered(tmp_path, OutcomeType.UNSTABLE, None, None, loads=loads))
    assert (found.low_fps, found.high_fps) == ends
    assert str(found) == words


@pytest.mark.parametrize(
    ("loads", "words"),
    [
        ([(100_000, 0.004)], "at most 0.5\u00a0% lost up to 100,000"),
        ([(100_000, 0.1), (200_000, 0.1)], "more than 0.5\u00a0% lost from 100,000 on"),
    ],
)
def test_an_end_of_a_goal_that_allows_loss_is_not_said_to_have_none(
    tmp_path: Path, loads: list[Any], words: str
) -> None:
    told = answered(tmp_path, OutcomeType.UNSTABLE, None, None, SOME_LOST, loads=loads)
    (outcome,) = told.of_metric(SOME_LOST)
    assert str(extent(told, outcome)) == f"{words}, unstable"


def test_a_wide_interval_of_a_goal_that_allows_loss_says_how_much(tmp_path: Path) -> None:
    told = answered(tmp_path, OutcomeType.MEASURED, 400_000, 500_000, SOME_LOST)
    (outcome,) = told.of_metric(SOME_LOST)
    words = "400,000\u00a0frames/s, more than 0.5\u00a0% lost from 500,000\u00a0frames/s on"
    assert answer(outcome) == words


def test_a_trial_that_was_not_valid_moves_no_end(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "one", header()) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        seqs = (
            maker.trial(one, 100_000),
            maker.trial(one, 50_000, loss_ratio=0.5, validity=Validity.HOST_STALLED, reason="made"),
            maker.trial(one, 300_000, loss_ratio=0.5),
        )
        maker.outcome(one, THROUGHPUT, OutcomeType.UNSTABLE, trials=seqs, reason="made")
    found = the_extent(facts(read_run(store.folder)))
    assert (found.low_fps, found.high_fps) == (100_000, 300_000)


EXTENTS = [
    Extent(known=Known.NUMBER, low_fps=400_000),
    Extent(known=Known.INTERVAL, low_fps=400_000, high_fps=500_000),
    Extent(known=Known.AT_LEAST, low_fps=400_000, word="tester limited"),
    Extent(known=Known.AT_MOST, high_fps=10_000, word="at floor"),
    Extent(known=Known.UNCONFIRMED, low_fps=200_000, high_fps=300_000, word="unstable"),
    Extent(known=Known.UNCONFIRMED, low_fps=200_000, word="unstable"),
    Extent(known=Known.UNCONFIRMED, high_fps=300_000, word="unstable"),
    Extent(known=Known.NOTHING, word="not assessed"),
]


@pytest.mark.parametrize("one", EXTENTS, ids=lambda one: f"{one.known.name}-{one.low_fps}-{one.high_fps}")
def test_what_is_drawn_ends_where_the_extent_ends(one: Extent) -> None:
    axes = Figure().subplots()
    _draw(axes, 0, one, 900_000)
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar) for bar in axes.patches]
    full = [bar for _, _, bar in bars if bar.get_alpha() is None and not bar.get_hatch()]
    assert bool(full) == (one.known is Known.NUMBER), "a full bar is a plain number, and nothing else is one"
    pale = [(low, high) for low, high, bar in bars if not bar.get_hatch()]
    assert pale == ([(0, one.low_fps)] if one.low_fps else [])
    hatched = [(low, high) for low, high, bar in bars if bar.get_hatch()]
    if one.known in (Known.INTERVAL, Known.AT_MOST, Known.UNCONFIRMED):
        assert hatched == [(one.low_fps or 0, one.high_fps or 900_000)]
        marks = [segment[0][0] for lines in axes.collections for segment in lines.get_segments()]
        assert marks == [
            end for end in (one.low_fps, one.high_fps) if end
        ]  # no mark at an end that is not known
    else:
        assert hatched == []
    arrows = [line.get_xdata()[0] for line in axes.lines]
    assert arrows == ([one.low_fps] if one.known is Known.AT_LEAST else [])


def test_confirmed_and_unconfirmed_differ_without_colours() -> None:
    axes = Figure().subplots()
    _draw(axes, 0, EXTENTS[1], 900_000)
    _draw(axes, 1, EXTENTS[4], 900_000)
    assert len({bar.get_hatch() for bar in axes.patches if bar.get_hatch()}) == 2


def test_every_option_has_a_row_with_its_words(made_folder: Path) -> None:
    told = facts(read_run(made_folder))
    plot = option_plot(told)
    assert plot is not None
    rows = shown_rows(told)
    options = {option(o.cell) for o in told.of_metric(THROUGHPUT)}
    lacking = {option(o.cell) for o in told.not_assessed()}
    assert {option(outcome.cell) for outcome in rows} == options - lacking
    for outcome in rows:
        assert option(outcome.cell)[:20] in plot.svg
        assert str(extent(told, outcome)) in plot.svg


def test_extents_of_a_whole_run_are_its_outcomes(made_folder: Path) -> None:
    told = facts(read_run(made_folder))
    for outcome in told.of_search():
        found = extent(told, outcome)
        if outcome.type is OutcomeType.MEASURED:
            assert outcome.lower is not None
            assert found.low_fps == outcome.values[0].number == outcome.lower.load_fps
            assert (found.known is Known.INTERVAL) == is_wide(outcome)
            assert found.high_fps == (outcome.upper.load_fps if outcome.upper else None)
        else:
            assert found.known not in (Known.NUMBER, Known.INTERVAL)
    drawn = {(size, one) for points in measured_extents(told).values() for size, one in points}
    assert all(one.known in (Known.NUMBER, Known.INTERVAL) for _, one in drawn)


def test_the_envelope_stands_behind_options_with_the_same_traffic_only(tmp_path: Path) -> None:
    told = answered(tmp_path, OutcomeType.MEASURED, 400_000, 410_000)
    assert told.envelope_fps(cell("pvp", "bridge")) == 1_000_000
    assert told.envelope_fps(cell("pvp", "bridge", octets=512)) is None


def test_layers_without_a_ratio_have_no_section(tmp_path: Path) -> None:
    without = answered(tmp_path / "without", OutcomeType.UNSTABLE, 400_000, 410_000)
    assert ladder_section(without) == []
    told = restructured(ladder_section(answered(tmp_path / "with", OutcomeType.MEASURED, 400_000, 410_000)))
    assert "Cost of each layer" in told


def test_the_page_begins_with_figure_and_table_and_leaves_empty_sections_out(
    made_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / made_folder.name
    shutil.copytree(made_folder, folder)
    page = write_report(folder).read_text(encoding="utf-8")
    places = [
        page.index(part)
        for part in (
            "<table",  # what was measured, on what
            'id="at-a-glance"',
            "<svg",
            'id="what-to-trust"',
            'id="what-next"',
            'id="contents"',
            'id="state-of-the-run"',
            'id="grades"',
        )
    ]
    assert places == sorted(places)
    with RunStore.create(tmp_path, "empty", header()) as store:
        pass
    empty = write_report(store.folder).read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*?)</h2>", empty)
    assert not {"At a glance", "Throughput", "Latency", "Cost of each layer", "Searches as they went"} & set(
        titles
    )
    assert not {"Not assessed", "Validity of the trials", "Matrices of RFC 8172 section 4.4"} & set(titles)
    assert "trials in the journal" not in empty
