"""Options of the same runs against each other: each run is a repeat of all of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from compared_runs import BEGIN, FAST, SLOW, record, throughput_row
from made_parts import ENVELOPE, LATENCY, TESTBED, THROUGHPUT, Maker, cell, header

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.compare import Side, compare, comparison_page
from bmwg.reports.compare.options import EACH, by_option
from bmwg.reports.compare.screen import COLUMNS, comparison_screen
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import Run, RunStore, read_run

OWN, RIVAL = "own", "own-rival"  # the name of one begins as the other's
NETWORKS = {OWN: {"driver": "cni", "model": "kernel"}, RIVAL: {"driver": "cni", "model": "combination"}}


def run_of(results: Path, number: int, numbers: dict[str, int | OutcomeType], **how: Any) -> Run:
    """Write a run that measured the tester and these options, in this order."""
    moment = BEGIN + timedelta(hours=number)
    said = header(**{"testbed": {**TESTBED, "networks": NETWORKS}, **how})
    with RunStore.create(results, f"r{number}", said, clock=lambda: moment) as store:
        maker = Maker(store)
        store.set_platform(before=record())
        wire = cell("wire")
        seq = maker.trial(wire, 500_000, metric=ENVELOPE)
        value = Quantity(metric=ENVELOPE, number=500_000, unit="frames/s")
        maker.outcome(wire, ENVELOPE, OutcomeType.MEASURED, trials=(seq,), values=(value,))
        for turn, (option, found) in enumerate(numbers.items(), start=1):
            one = cell("pvp", option)
            store.add_deployment(f"pvp-{option}", {"plugin": {"name": option}, "turn": turn})
            seq = maker.trial(one, found if isinstance(found, int) else 1000)
            if isinstance(found, OutcomeType):
                maker.outcome(one, THROUGHPUT, found, trials=(seq,), reason="made")
                continue
            value = Quantity(metric=THROUGHPUT, number=found, unit="frames/s")
            maker.outcome(one, THROUGHPUT, OutcomeType.MEASURED, trials=(seq,), values=(value,))
            seq = maker.trial(one, 50_000, phase="latency", metric=LATENCY)
            p50 = Quantity(metric=f"{LATENCY}.p50", number=found // 10, unit="ns")
            maker.outcome(one, LATENCY, OutcomeType.MEASURED, trials=(seq,), values=(p50,))
        store.set_platform(after=record())
    return read_run(store.folder)


def runs_of(results: Path, own: list[Any], rival: list[Any]) -> Side:
    """Return one side of runs, whose options took turns."""
    runs = []
    for number, pair in enumerate(zip(own, rival, strict=True)):
        both = list(zip((OWN, RIVAL), pair, strict=True))
        runs.append(run_of(results, number, dict(both[:: 1 if number % 2 else -1])))
    return Side(name="A", runs=tuple(runs))


def test_four_runs_show_a_difference_of_their_options(tmp_path: Path) -> None:
    made = compare(by_option([runs_of(tmp_path, SLOW, FAST)], [OWN, RIVAL]))
    row = throughput_row(made)
    assert row.verdict == f"{RIVAL} is higher than {OWN} (p = 0.0286)"
    assert row.ratio == pytest.approx(110_100 / 100_250)
    assert row.samples[OWN].numbers == tuple(SLOW)
    assert row.samples[RIVAL].numbers == tuple(FAST)
    assert [row.cell.network for row in made.rows] == [EACH] * 2  # the tester alone is of no option
    assert made.confounders == ()
    assert made.order == ()  # they took turns
    told = {one.path: one.values for one in made.under_test}
    assert told[f"testbed/networks/{EACH}/model"] == {OWN: ("kernel",), RIVAL: ("combination",)}
    assert told[f"deployment/pvp-{EACH}/plugin/name"] == {OWN: (OWN,), RIVAL: (RIVAL,)}


def test_screen_and_page_name_the_options(tmp_path: Path) -> None:
    made = compare(by_option([runs_of(tmp_path, SLOW, FAST)], [OWN, RIVAL]))
    screen = comparison_screen(made)
    assert max(map(len, screen.splitlines())) <= COLUMNS
    assert f"throughput {RIVAL}" in screen
    assert f"pvp {EACH} 64" in screen
    assert f"{RIVAL} is higher than {OWN}" in restructured(comparison_page(made))


def test_equal_options_show_none_and_an_answer_that_is_no_number_counts(tmp_path: Path) -> None:
    (tmp_path / "equal").mkdir()
    near = [100_100, 99_500, 101_500, 100_000]
    made = compare(by_option([runs_of(tmp_path / "equal", SLOW, near)], [OWN, RIVAL]))
    assert throughput_row(made).verdict.startswith("no difference shown (p = ")
    made = compare(by_option([runs_of(tmp_path, SLOW, [*FAST[:3], OutcomeType.UNSTABLE])], [OWN, RIVAL]))
    assert throughput_row(made).verdict.startswith("not compared: too few repeats (4 and 4, 1 of them")


def test_an_order_that_fell_the_same_way_each_time_is_told(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, n, {RIVAL: FAST[n], OWN: SLOW[n]}) for n in range(4)]
    made = compare(by_option([Side(name="A", runs=tuple(runs))], [OWN, RIVAL]))
    assert made.order == (f"In each run {RIVAL} was measured before {OWN}.",)
    assert "A change with time would look alike." in comparison_screen(made)


def test_what_cannot_be_held_against_each_other_is_refused(tmp_path: Path) -> None:
    side = runs_of(tmp_path, SLOW[:1], FAST[:1])
    for sides, options, said in (
        ([side], [OWN], "1 options"),
        ([side], [OWN, OWN], "1 options"),
        ([side, side], [OWN, RIVAL], "2 sides"),
        ([side], [OWN, "own-rivl"], "own-rivl"),
    ):
        with pytest.raises(ConfigError) as caught:
            by_option(sides, options)
        assert (caught.value.error_id, said in caught.value.found) == ("CMP-10", True)
    assert RIVAL in str(caught.value.hint)
    twice = Side(name="A", runs=side.runs * 2)
    with pytest.raises(ConfigError, match="named twice"):
        compare(by_option([twice], [OWN, RIVAL]))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs_of(tmp_path, SLOW, FAST)
    options = ["--network", OWN, "--network", RIVAL]
    assert main(["compare", str(tmp_path), "--unverified", *options]) == 0
    assert f"{RIVAL} is higher than {OWN}" in capsys.readouterr().out
    assert main(["compare", str(tmp_path), "--published", *options]) == 2
    assert "CMP-07" in capsys.readouterr().err
    assert main(["compare", str(tmp_path), "--unverified"]) == 2
    assert "--network" in capsys.readouterr().err
