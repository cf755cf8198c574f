"""Comparisons: differences only where repeats carry them, waivers, sides and the command."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from compared_runs import BEGIN, FAST, SLOW, record, run_of, side, throughput_row
from made_parts import ENVELOPE, LATENCY, THROUGHPUT, Maker, cell, header

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Bound, Cell, OutcomeType, Quantity
from bmwg.reports.compare import Side, compare, comparison_page, read_side
from bmwg.reports.compare.comparison import _check_under_test
from bmwg.reports.compare.frames_column import FRAMES_COLUMN
from bmwg.reports.compare.page import sample_text
from bmwg.reports.compare.rows import _row, wanting
from bmwg.reports.compare.samples import Sample
from bmwg.reports.compare.screen import COLUMNS, _fitted, comparison_screen
from bmwg.reports.compare.statistics import ALPHA, difference_p
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import RunStore, read_run


def test_equal_platforms_show_a_difference_that_repeats_carry(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, FAST)])
    assert made.confounders == ()
    row = throughput_row(made)
    assert row.p_value == pytest.approx(2 / 70)
    assert row.ratio == pytest.approx(110_100 / 100_250)
    assert row.verdict == "B is higher than A (p = 0.0286)"
    assert made.order == ()
    page = restructured(comparison_page(made))
    assert "+9.83" in page
    assert "exact permutation test" in page


def test_one_run_a_side_shows_numbers_and_no_difference(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, [100_000]), side("B", tmp_path, [900_000])])
    row = throughput_row(made)
    assert row.ratio is None
    assert row.verdict.startswith("not compared: too few repeats (1 and 1")
    assert made.order == ("All runs of A began before all runs of B.",)


def test_three_repeats_a_side_are_too_few_and_the_page_says_so(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW[:3]), side("B", tmp_path, FAST[:3])])
    assert "too few repeats (3 and 3" in restructured(comparison_page(made))


def test_overlapping_repeats_show_no_difference(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, [100_100, 99_500, 101_500, 100_000])])
    assert throughput_row(made).verdict.startswith("no difference shown (p = ")


def with_unstable(results: Path, name: str, numbers: list[int], unstable: int) -> Side:
    """Return a side whose last repeats have no number."""
    plain = side(name, results, numbers)
    odd = [
        run_of(results, f"{name}-odd{n}", 1, hour=40 + 2 * n + (name == "B"), bad=OutcomeType.UNSTABLE)
        for n in range(unstable)
    ]
    return Side(name=name, runs=(*plain.runs, *odd))


def test_a_repeat_without_a_number_counts_as_the_other_sides_median(tmp_path: Path) -> None:
    many = [*SLOW, 99_500, 100_700], [*FAST, 110_500]
    made = compare([side("A", tmp_path, many[0]), with_unstable(tmp_path, "B", many[1], 1)])
    row = throughput_row(made)
    assert row.p_value == pytest.approx(difference_p(many[0], [*many[1], 100_250]))
    told = f"B is higher than A (p = {row.p_value:.3g})"
    assert row.verdict == f"{told}; 1 of 6 of B without a number, counted as the median of A"
    assert (row.shows, row.ratio) == (True, None)
    latency = next(row for row in made.rows if row.metric == f"{LATENCY}.p50")
    assert latency.samples["B"].others == ("not reached",)


@pytest.mark.parametrize(
    ("numbers", "unstable", "verdict"),
    [
        (
            3,
            1,
            "too few repeats (4 and 4, 1 of them without a number; 5 and 5 are the least of equal numbers)",
        ),
        (2, 2, "2 of 4 of B: unstable"),
        (0, 4, "4 of 4 of B: unstable"),
    ],
)
def test_too_many_repeats_without_a_number_are_not_judged(
    tmp_path: Path, numbers: int, unstable: int, verdict: str
) -> None:
    made = compare([side("A", tmp_path, SLOW), with_unstable(tmp_path, "B", FAST[:numbers], unstable)])
    assert throughput_row(made).verdict == f"not compared: {verdict}"


@pytest.mark.parametrize(
    ("first", "numbers", "unstable", "lacks"),
    [
        (SLOW, 4, 0, ""),
        ([*SLOW, 99_500, 100_700], 5, 1, ""),
        (SLOW[:3], 3, 0, "too few repeats (3 and 3;"),
        (SLOW, 3, 1, "too few repeats (4 and 4, 1 of them"),
        (SLOW, 0, 4, ""),
    ],
)
def test_more_repeats_are_wanted_while_one_that_both_sides_have_cannot_be_judged(
    tmp_path: Path, first: list[int], numbers: int, unstable: int, lacks: str
) -> None:
    """More repeats are no help where a side has no number at all."""
    made = [
        side("A", tmp_path, first),
        with_unstable(tmp_path, "B", [*FAST, 110_500][:numbers], unstable),
    ]
    assert wanting(made).partition(": ")[2].startswith(lacks)
    assert bool(wanting(made)) is bool(lacks)


def test_latencies_at_different_loads_are_not_compared(tmp_path: Path) -> None:
    slow = side("A", tmp_path, SLOW)
    fast = side("B", tmp_path, FAST, p50_ns=24_000)
    row = next(row for row in compare([slow, fast]).rows if row.metric == f"{LATENCY}.p50")
    assert "taken at different loads (100,250 and 110,100 frames/s)" in row.verdict
    (tmp_path / "same").mkdir()
    slow = side("A", tmp_path / "same", SLOW, load=50_000)
    fast = side("B", tmp_path / "same", FAST, p50_ns=24_000, load=50_000)
    row = next(row for row in compare([slow, fast]).rows if row.metric == f"{LATENCY}.p50")
    assert row.verdict.startswith("B is higher than A")


def test_the_load_of_a_latency_is_that_of_its_first_stream(tmp_path: Path) -> None:
    """The wire's own latency is told at many loads, which differ from run to run: its streams' do not."""

    def told(name: str, floors: tuple[int, ...], hour: float, p50_ns: int) -> Side:
        runs = []
        for number in range(4):
            moment = BEGIN + timedelta(hours=hour + 2 * number)
            with RunStore.create(tmp_path, f"{name}{number}", header(), clock=lambda m=moment: m) as store:
                store.set_platform(before=record())
                maker, wire = Maker(store), cell("wire")
                trials = tuple(maker.trial(wire, load, metric=LATENCY) for load in (50_000, *floors))
                value = Quantity(metric=f"{LATENCY}.p50", number=p50_ns + number, unit="ns")
                maker.outcome(wire, LATENCY, OutcomeType.MEASURED, values=(value,), trials=trials)
            runs.append(read_run(store.folder))
        return Side(name=name, runs=tuple(runs))

    made = compare([told("A", (100_000, 200_000), 0, 9_000), told("B", (400_000, 800_000), 1, 12_000)])
    (row,) = made.rows
    assert row.samples["A"].loads_fps == (50_000,) * 4
    assert row.verdict.startswith("B is higher than A")


def test_which_side_is_higher_is_told_by_what_is_tested() -> None:
    """The test is of mean logarithms; where medians say nothing, or the contrary, there is no ratio."""
    numbers = {"A": (100.0, *[1_000.0] * 5) * 4, "B": (*[1_000.0] * 5, 10_000.0) * 4}
    p_value = difference_p(*numbers.values())
    assert p_value < ALPHA
    pair = {name: Sample(numbers=told, others=()) for name, told in numbers.items()}
    row = _row("A", (THROUGHPUT, "frames/s", cell("pvp"), "B", pair, ""), (p_value, True))
    assert row.verdict.startswith("B is higher than A (p = ")
    assert row.verdict.endswith("no ratio: the medians do not differ that way")
    assert row.ratio is None


def test_names_of_cells_stay_whole_where_repeats_have_ranges(tmp_path: Path) -> None:
    long = [600_000, 610_000, 700_000, 650_000]
    screen = comparison_screen(compare([side("A", tmp_path, long), side("B", tmp_path, SLOW)]))
    assert "pvp bridge 64  " in screen
    assert (_fitted("pvp bridge 1518", 15), _fitted("pvp bridge 1518", 14)) == (
        "pvp bridge 1518",
        "pvp bridge 1..",
    )
    assert max(map(len, screen.splitlines())) <= COLUMNS


def test_the_number_of_a_wide_interval_is_never_told_alone_and_gives_no_ratio(tmp_path: Path) -> None:
    def wide(name: str, numbers: list[int], hour: float) -> Side:
        runs = []
        for number, fps in enumerate(numbers):
            moment = BEGIN + timedelta(hours=hour + 2 * number)
            with RunStore.create(tmp_path, f"{name}{number}", header(), clock=lambda m=moment: m) as store:
                store.set_platform(before=record())
                maker, one = Maker(store), cell("pvp", "bridge")
                clean, lossy = maker.trial(one, fps), maker.trial(one, fps * 5 // 4)
                maker.outcome(
                    one,
                    THROUGHPUT,
                    OutcomeType.MEASURED,
                    values=(Quantity(metric=THROUGHPUT, number=fps, unit="frames/s"),),
                    lower=Bound(load_fps=fps, trials=(clean,)),
                    upper=Bound(load_fps=fps * 5 // 4, trials=(lossy,)),
                    trials=(clean, lossy),
                )
            runs.append(read_run(store.folder))
        return Side(name=name, runs=tuple(runs))

    made = compare([wide("A", SLOW, 0), wide("B", FAST, 1)])
    row = throughput_row(made)
    assert row.shows
    assert row.ratio is None
    assert "no ratio: 8 of these answers have a wide interval" in row.verdict
    assert row.samples["B"].wide_ends == tuple(fps * 5 // 4 for fps in FAST)
    screen = comparison_screen(made)
    assert "100,250 [99k-126k]" in screen
    single = [Side(name=one.name, runs=one.runs[:1]) for one in made.sides]
    assert "100,000..125,000" in comparison_screen(compare(single))
    assert "loss from 125" in restructured(comparison_page(compare(single)))


@pytest.mark.parametrize(("ends", "shows"), [((140_000, 141_000), False), ((120_000, 150_000), True)])
def test_a_wide_interval_is_higher_only_where_both_of_its_ends_are(
    tmp_path: Path, ends: tuple[int, int], shows: bool
) -> None:
    """Numbers that differ say little where the loads at which frames are lost do not."""

    def wide(name: str, numbers: list[int], end: int, hour: float) -> Side:
        runs = []
        for number, fps in enumerate(numbers):
            moment = BEGIN + timedelta(hours=hour + 2 * number)
            with RunStore.create(tmp_path, f"{name}{number}", header(), clock=lambda m=moment: m) as store:
                store.set_platform(before=record())
                maker, one = Maker(store), cell("pvp", "bridge")
                upper = end + (-1) ** number * 1_500
                clean, lossy = maker.trial(one, fps), maker.trial(one, upper)
                maker.outcome(
                    one,
                    THROUGHPUT,
                    OutcomeType.MEASURED,
                    values=(Quantity(metric=THROUGHPUT, number=fps, unit="frames/s"),),
                    lower=Bound(load_fps=fps, trials=(clean,)),
                    upper=Bound(load_fps=upper, trials=(lossy,)),
                    trials=(clean, lossy),
                )
            runs.append(read_run(store.folder))
        return Side(name=name, runs=tuple(runs))

    row = throughput_row(compare([wide("A", SLOW, ends[0], 0), wide("B", FAST, ends[1], 1)]))
    assert row.shows is shows
    assert row.verdict.startswith("B is higher than A" if shows else "no difference shown (p = ")


def test_what_no_buffer_carried_is_told_beside_the_number() -> None:
    sample = Sample(numbers=(100_000.0,), others=(), wide_ends=(126_000.0,), wide_lows=(80_000.0,))
    row = _row("A", (THROUGHPUT, "frames/s", cell("pvp"), "B", {"A": sample, "B": sample}, "made"), None)
    said = sample_text(sample, row).replace("\u00a0", " ")
    assert said == "100,000 frames/s, sustained 80,000 frames/s, loss from 126,000 frames/s on"
    assert FRAMES_COLUMN.number(sample, row) == "100,000 [80k-126k]"


def test_the_screen_says_what_the_ends_beside_the_number_of_one_run_are(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW[:1]), side("B", tmp_path, FAST[:1])])
    assert "no buffer carried" not in comparison_screen(made)
    row = throughput_row(made)
    buffered = replace(row.samples["A"], wide_ends=(126_000.0,), wide_lows=(80_000.0,))
    screen = comparison_screen(replace(made, rows=(replace(row, samples=row.samples | {"A": buffered}),)))
    assert "[80k-126k]" in screen
    assert "n [a-b]: the number of one run; a is what no buffer carried of it, loss from b on" in screen


def test_a_waived_confounder_lets_the_numbers_through_and_stays_on_the_page(tmp_path: Path) -> None:
    sides = [side("A", tmp_path, SLOW), side("B", tmp_path, FAST, platform=record(release="6.18.0"))]
    for name in ("platform/kernel/release", "platform/kernel"):
        made = compare(sides, waive=[name])
        assert throughput_row(made).ratio is not None
        assert [one.waived for one in made.confounders] == [True]
    assert "1 field that confounds was waived by name" in restructured(comparison_page(made))


def test_waivers_are_checked(tmp_path: Path) -> None:
    sides = [side("A", tmp_path, SLOW), side("B", tmp_path, FAST, platform=record(release="6.18.0"))]
    with pytest.raises(ConfigError, match=r"^CMP-03 ") as caught:
        compare(sides, waive=["platform/kernel/releas"])
    assert "platform/kernel/release" in caught.value.hint
    with pytest.raises(ConfigError, match="CMP-04"):
        compare(sides, waive=["simulated"])
    with pytest.raises(ConfigError, match="CMP-01"):
        compare(sides[:1])
    with pytest.raises(ConfigError, match="CMP-02"):
        compare([sides[0], sides[0]])


def test_sides_are_folders_of_runs_or_lists(tmp_path: Path) -> None:
    for place, name in itertools.product(("x", "y"), ("r1", "r2")):
        run_of(tmp_path / place, name, 1000, hour=(place == "y") + 2 * (name == "r2"))
    (tmp_path / "x" / "robot").mkdir()
    assert [run.run_id for run in read_side("A", str(tmp_path / "x")).runs] == ["r1", "r2"]
    both = f"{tmp_path / 'x' / 'r1'},{tmp_path / 'y'}"
    assert len(read_side("A", both).runs) == 3
    for wrong in (
        str(tmp_path / "none"),
        f"{tmp_path / 'x'},{tmp_path / 'x' / 'r1'}",
        f"{both},{tmp_path / 'nowhere'}",
        f"{both},{tmp_path / 'x' / 'robot'}",
    ):
        with pytest.raises(ConfigError, match="CMP-02"):
            read_side("A", wrong)


def test_the_command_prints_writes_and_says_by_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side("A", tmp_path / "a", SLOW)
    side("B", tmp_path / "b", FAST, platform=record(release="6.18.0"))
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["compare", *names]) == 2  # made files: nothing follows from their trials
    assert "CMP-08" in capsys.readouterr().err
    assert main(["compare", "--unverified", *names]) == 1
    assert "Not a fair comparison" in capsys.readouterr().out
    waived = ["compare", "--unverified", *names, "--waive", "platform/kernel/release"]
    for form in ("screen", "text", "md", "rst", "html", "rfcxml", "json"):
        assert main([*waived, "--format", form, "--output", str(tmp_path / form)]) == 0
    data = json.loads((tmp_path / "json").read_text())
    assert next(row for row in data["rows"] if row["metric"] == THROUGHPUT)["ratio"] == pytest.approx(
        1.0983, abs=1e-4
    )
    assert "<script" not in (tmp_path / "html").read_text()
    for place, status, said in (("json", 2, "CMP-06"), ("no-folder/json", 3, "STORE-08")):
        assert main([*waived, "--output", str(tmp_path / place)]) == status
        assert said in capsys.readouterr().err


def test_the_tester_itself_is_a_row(tmp_path: Path) -> None:
    runs = []
    for name in ("A", "B"):
        with RunStore.create(tmp_path, name, header(), clock=lambda: BEGIN) as store:
            store.set_platform(before=record())
            Maker(store).measured(cell("wire"), 1_400_000 + len(runs), 1_600_000)
        runs.append(Side(name=name, runs=(read_run(store.folder),)))
    assert {row.metric for row in compare(runs).rows} >= {ENVELOPE, f"{LATENCY}.p99"}


def test_a_model_and_a_device_are_never_what_is_compared() -> None:
    with pytest.raises(ConfigError, match="CMP-04"):
        _check_under_test(("simulated",))


def test_a_table_that_mixes_kinds_of_load_says_which_numbers_have_no_unit(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, SLOW), side("B", tmp_path, FAST)])
    row = throughput_row(made)
    proxied = Cell(
        path="row",
        hosting="native",
        function="squid",
        network="none",
        kind="requests",
        name="one_client/native",
    )
    other = replace(row, metric="processing_time.mean", unit="ns", cell=proxied)
    alone, mixed = (comparison_screen(one) for one in (made, replace(made, rows=(*made.rows, other))))
    assert "throughput in frames/s per port and direction; a..b" in alone
    assert "answers without a unit" not in alone
    assert "answer A" in mixed
    assert "answers without a unit: throughput in frames/s per port and direction; a..b" in mixed
    assert "one_client/native" in mixed
    others = comparison_screen(replace(made, rows=(other,)))
    assert "frames/s" not in others


def test_where_nothing_could_be_compared_no_sentence_says_that_nothing_differs(tmp_path: Path) -> None:
    made = compare([side("A", tmp_path, [100_000]), side("B", tmp_path, [900_000])])
    page, screen = restructured(comparison_page(made)), comparison_screen(made)
    for told in (page, screen):
        assert f"Nothing could be compared, of {len(made.rows)} numbers." in told
        assert "too few repeats (1 and 1" in told
        assert "0 of" not in told


def test_what_could_be_compared_is_counted_beside_why_the_rest_could_not(tmp_path: Path) -> None:
    told = comparison_screen(compare([side("A", tmp_path, SLOW), side("B", tmp_path, FAST)]))
    whole = " ".join(told.split())
    assert "numbers could be compared:" in whole
    results = tmp_path / "x"
    told = comparison_screen(compare([side("A", results, SLOW), with_unstable(results, "B", FAST, 2)]))
    assert "a side has no plain number" in " ".join(told.split())
