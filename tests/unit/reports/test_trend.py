"""`bmwg trend`: where a series jumped, what changed there, which testbeds stand together, what fails CI."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compared_runs import BEGIN, record, run_of
from made_parts import LATENCY, TESTBED, THROUGHPUT, Maker, cell, header

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import VM, Bound, OutcomeType, Quantity
from bmwg.methodology.search import tst009
from bmwg.reports.compare import trend
from bmwg.reports.compare.trend import Series, Trend
from bmwg.reports.compare.trend_page import plots_of, trends_page, verdict
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.store import PlannedCell, Run, RunStore, read_run

NOISE = (0, 150, -120, 60, -90, 120, -150, 90)  # of 100,000: well below one per cent


def nightly(results: Path, levels: list[int], *, testbed: str = "embedded", **how: Any) -> list[Run]:
    """A run a day; the record's kernel changes with the level."""
    return [
        run_of(
            results,
            f"{testbed}{number:02d}",
            level + NOISE[number % len(NOISE)],
            hour=24 * number + (testbed != "embedded"),
            platform=record(release=f"6.{level // 1000}"),
            testbed={**TESTBED, "name": testbed},
            **how,
        )
        for number, level in enumerate(levels)
    ]


def trends(runs: list[Run]) -> tuple[Trend, ...]:
    """Return the trends of runs, of each of which is kept what a trend takes."""
    return trend.trends([trend.told(run) for run in runs])


def of(made: Trend, metric: str = THROUGHPUT) -> Series:
    (found,) = [one for one in made.series if one.metric == metric]
    return found


def test_a_jump_names_the_run_the_levels_and_the_fields(tmp_path: Path) -> None:
    runs = nightly(tmp_path, [100_000] * 10 + [92_000] * 10)
    (made,) = trends(list(reversed(runs)))
    series = of(made)
    (change,) = series.changes
    assert change.run_id == "embedded10"
    assert change.ratio == pytest.approx(0.92, abs=0.005)
    assert [field.path for field in change.fields] == ["platform/kernel/release"]
    assert change.worse
    assert change.width < 0.01
    assert series.levels == pytest.approx((100_000, 92_000), abs=200)
    page = restructured(trends_page((made,)))
    assert "platform/kernel/release" in page
    assert "embedded10" in page
    assert "1 of 2 series became worse" in page


@pytest.mark.parametrize(
    ("levels", "worse"),
    [
        ([100_000] * 10 + [92_000] * 10, True),
        ([92_000] * 10 + [100_000] * 10, False),
        ([100_000] * 20, False),
        ([100_000] * 10 + [92_000] * 10 + [100_000] * 10, False),  # mended
        ([100_000] * 10 + [92_000] * 5 + [100_000] * 5, False),  # mended among the newest
        ([100_000] * 10 + [96_000] * 5 + [92_000] * 5, True),  # in two steps
    ],
)
def test_only_a_new_jump_to_the_worse_fails(tmp_path: Path, levels: list[int], worse: bool) -> None:
    nightly(tmp_path, levels)
    assert main(["trend", "--unverified", str(tmp_path), "--output", str(tmp_path / "told.txt")]) == worse


def test_how_new_a_jump_must_be_is_asked_for(tmp_path: Path) -> None:
    runs = nightly(tmp_path, [100_000] * 10 + [92_000] * 14)
    series = of(trends(runs)[0])
    assert not series.worsened()
    assert series.worsened(14)


def test_of_times_more_is_worse(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path, f"run{n:02d}", 100_000, hour=n, p50_ns=(12_000 if n < 10 else 14_000) + 10 * (n % 4))
        for n in range(20)
    ]
    (made,) = trends(runs)
    assert not of(made).worsened()
    assert of(made, f"{LATENCY}.p50").worsened()


@pytest.mark.parametrize(("load", "judged"), [(100_900, True), (110_000, False)])
def test_a_latency_at_another_load_is_not_called_worse(tmp_path: Path, load: int, judged: bool) -> None:
    runs = [
        run_of(
            tmp_path,
            f"run{n:02d}",
            100_000,
            hour=n,
            load=100_000 if n < 10 else load,
            p50_ns=(12_000 if n < 10 else 14_000) + 10 * (n % 4),
        )
        for n in range(20)
    ]
    made = trends(runs)
    series = of(made[0], f"{LATENCY}.p50")
    (change,) = series.changes
    assert (series.worsened(), change.worse) == (judged, judged)
    assert bool(change.unlike) is bool(series.not_judged()) is not judged
    page = str(trends_page(made))
    assert ("taken at different loads (100,000 and 110,000 frames/s)" in page) is not judged
    assert verdict(made).startswith("1 of 2 series" if judged else "None of 1 series")
    assert ("nobody can tell" in verdict(made)) is not judged


def test_what_nobody_can_judge_is_not_among_what_became_no_worse(tmp_path: Path) -> None:
    (made,) = trends([run_of(tmp_path, f"run{n}", 1_000, hour=n) for n in range(2)])
    unknown = replace(made, series=tuple(replace(one, sign=0, unit="ratio") for one in made.series))
    assert verdict((unknown,)).startswith("None of 0 series")
    assert " Of 2 more nobody can tell" in verdict((unknown,))


@pytest.mark.parametrize(
    ("unit", "sign"), [("frames/s", 1), ("connections", 1), ("index", 1), ("ns", -1), ("ratio", 0)]
)
def test_which_way_is_worse_is_told_by_the_unit(unit: str, sign: int) -> None:
    assert trend._sign(unit) == sign


def test_runs_through_translated_machines_have_a_trend_and_its_numbers_their_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command keeps no trials of a run, by which it is known on what an answer stood."""
    for name in ("a", "b"):
        with RunStore.create(tmp_path, name, header()) as store:
            Maker(store).measured(cell("pvp-vm", hosting=VM), 4_000, 1_600_000)
            store.add_deployment("pvp-vm-none", {"machine": {"accelerator": "tcg"}})
    assert main(["trend", "--unverified", str(tmp_path), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["trends"]
    marks = {point["mark"] for series in one["series"] for point in series["points"]}
    assert marks == {"machine under TCG: function, no rate"}


def wide(results: Path, name: str, fps: int, upper: int, hour: float) -> Run:
    """A run whose answer lies between two bounds."""
    one = cell("pvp", "bridge")
    with RunStore.create(results, name, header(), clock=lambda: BEGIN.replace(day=1 + int(hour))) as store:
        maker = Maker(store)
        store.set_platform(before=record())
        store.add_deployment("pvp-bridge-1", {})
        seqs = (maker.trial(one, fps), maker.trial(one, upper, loss_ratio=0.1))
        maker.outcome(
            one,
            THROUGHPUT,
            OutcomeType.MEASURED,
            values=(Quantity(metric=THROUGHPUT, number=fps, unit="frames/s"),),
            lower=Bound(load_fps=fps, trials=seqs[:1]),
            upper=Bound(load_fps=upper, trials=seqs[1:]),
            trials=seqs,
        )
        store.set_platform(after=record())
    return read_run(store.folder)


@pytest.mark.parametrize(("share", "worse"), [(1.02, True), (1.15, False)])
def test_what_lies_within_the_intervals_is_no_worse(tmp_path: Path, share: float, worse: bool) -> None:
    runs = []
    for number in range(20):
        fps = (100_000 if number < 10 else 92_000) + NOISE[number % len(NOISE)]
        runs.append(wide(tmp_path, f"run{number:02d}", fps, round(fps * share), number))
    (change,) = of(trends(runs)[0]).changes
    assert change.worse is worse
    assert change.width == pytest.approx(share - 1, abs=0.005)


def calibrated(
    results: Path, name: str, testbed: str, hour: int, *, native: int, pod: int, platform: Any = None
) -> Run:
    """A run that measured bare metal beside a pod."""
    with RunStore.create(
        results, name, header(testbed={**TESTBED, "name": testbed}), clock=lambda: BEGIN.replace(hour=hour)
    ) as store:
        maker = Maker(store)
        store.set_platform(before=platform or record())
        for one, fps in ((cell("node"), native), (cell("pvp", "bridge"), pod)):
            store.add_deployment(f"{one.path}-{one.network}", {})
            seq = maker.trial(one, fps)
            value = Quantity(metric=THROUGHPUT, number=fps, unit="frames/s")
            maker.outcome(one, THROUGHPUT, OutcomeType.MEASURED, trials=(seq,), values=(value,))
        store.set_platform(after=record())
    return read_run(store.folder)


@pytest.mark.parametrize(
    ("natives", "beds"),
    [
        ((600_000, 610_000), [("a", "b")]),
        ((600_000, 650_000), [("a",), ("b",)]),
    ],
)
def test_testbeds_stand_together_where_their_calibrations_agree(
    tmp_path: Path, natives: tuple[int, int], beds: list[tuple[str, ...]]
) -> None:
    runs = [
        calibrated(
            tmp_path, f"{bed}{n}", bed, 2 * n + (bed == "b"), native=natives[bed == "b"], pod=100_000 + n
        )
        for bed in ("a", "b")
        for n in range(4)
    ]
    made = trends(runs)
    assert [one.testbeds for one in made] == beds
    assert {len(one.points) for each in made for one in each.series} == {8 // len(beds)}


def on_cpu(model: str) -> dict[str, Any]:
    fields = record()["fields"]
    return {
        **record(),
        "fields": {**fields, "cpu": {"model": {**fields["kernel"]["release"], "value": model}}},
    }


@pytest.mark.parametrize(("natives", "trends_made"), [((600_000, 610_000), 1), ((600_000, 900_000), 2)])
def test_testbeds_of_one_name_share_no_calibration(
    tmp_path: Path, natives: tuple[int, int], trends_made: int
) -> None:
    """The embedded testbed on two machines: each of them has a calibration of its own."""
    runs = [
        calibrated(
            tmp_path, f"{cpu}{n}", "embedded", 2 * n + cpu, native=natives[cpu], pod=1_000, platform=one
        )
        for cpu, one in enumerate((on_cpu("a"), on_cpu("b")))
        for n in range(4)
    ]
    made = trends(runs)
    assert len(made) == trends_made
    told = [name for one in made for name in one.testbeds]
    assert len(set(told)) == 2
    assert all(re.fullmatch(r"embedded \([0-9a-f]{8}\)", name) for name in told)


def test_a_network_option_more_makes_no_other_testbed(tmp_path: Path) -> None:
    other = {**TESTBED, "networks": {**TESTBED["networks"], "ptp": {"driver": "cni"}}}
    runs = [run_of(tmp_path, "a", 1_000), run_of(tmp_path, "b", 1_000, hour=1, testbed=other)]
    assert [one.testbeds for one in trends(runs)] == [("embedded",)]


def test_testbeds_that_calibrated_nothing_stand_apart(tmp_path: Path) -> None:
    runs = nightly(tmp_path, [100_000] * 2) + nightly(tmp_path, [100_000] * 2, testbed="lab")
    made = trends(runs)
    assert [one.testbeds for one in made] == [("embedded",), ("lab",)]
    assert "calibrations" in restructured(trends_page(made))


def test_models_and_other_profiles_stand_apart(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path, "measured", 1000),
        run_of(tmp_path, "simulated", 1000, hour=1, simulated=True),
        run_of(tmp_path, "another", 1000, hour=2, profile={"name": "rfc2544", "deviations": []}),
    ]
    assert sorted((one.simulated, one.profile) for one in trends(runs)) == [
        (False, "quick"),
        (False, "rfc2544"),
        (True, "quick"),
    ]


def test_one_run_is_no_trend_and_none_stands_twice(tmp_path: Path) -> None:
    run = run_of(tmp_path, "a", 1000)
    with pytest.raises(ConfigError, match="CMP-05"):
        trends([run])
    with pytest.raises(ConfigError, match="CMP-02"):
        trends([run, run])


def test_the_page_has_a_plot_of_each_series_and_no_script(tmp_path: Path) -> None:
    nightly(tmp_path / "runs", [100_000] * 10 + [92_000] * 10)
    place = tmp_path / "trend.html"
    given = ["trend", "--unverified", str(tmp_path / "runs"), "--format", "html", "--output", str(place)]
    assert main(given) == 1
    page = place.read_text("utf-8")
    assert len(re.findall("<svg", page)) == 2
    assert "<script" not in page
    assert main(given) == 1  # a nightly page is written anew
    made = trends([read_run(one.parent) for one in (tmp_path / "runs").glob("*/run.json")])
    assert set(plots_of(made)) == {"trend-0-0", "trend-0-1"}


def test_runs_that_do_not_verify_are_left_out_and_named(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nightly(tmp_path / "runs", [100_000] * 2)
    assert main(["trend", str(tmp_path / "runs")]) == 2  # made files: nothing follows from their trials
    said = capsys.readouterr().err
    assert said.count("CMP-08") == 2
    assert "CMP-05" in said
    assert main(["trend", str(tmp_path / "nowhere")]) == 2
    assert "STORE-11" in capsys.readouterr().err
    assert main(["trend", "--unverified", str(tmp_path / "runs"), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trends"]
    assert told["runs"] == ["embedded00", "embedded01"]


def test_the_sentence_for_ci(tmp_path: Path) -> None:
    made = trends(nightly(tmp_path, [100_000] * 2))
    assert verdict(made) == "None of 2 series became worse by more than its width among the newest 10 runs."


def test_a_series_that_fell_silent_is_said_and_is_no_pass_by_the_way(tmp_path: Path) -> None:
    runs = nightly(tmp_path, [100_000] * 3)
    *outcomes, last = runs[-1].outcomes
    silent = replace(runs[-1], outcomes=(*outcomes, replace(last, type=OutcomeType.UNSTABLE, values=())))
    said = verdict(trends([*runs[:-1], silent]))
    assert said.endswith("1 have no plain number from the newest run that asked for one.")


def test_a_run_that_ended_before_it_reached_a_cell_is_silent_of_it(tmp_path: Path) -> None:
    runs = nightly(tmp_path, [100_000] * 3)
    one = runs[-1].outcomes[0].cell
    plan = tuple(PlannedCell(test_id="CN-TPUT-1.1", metric=name, cell=one) for name in (THROUGHPUT, LATENCY))
    cut_off = replace(runs[-1], outcomes=(), plan=plan, status="interrupted")
    (made,) = trends([*runs[:-1], cut_off])
    assert {series.metric: (series.gaps, series.silent) for series in made.series} == {
        THROUGHPUT: (1, 1),
        f"{LATENCY}.p50": (1, 1),
    }
    (made,) = trends([*runs[:-1], replace(cut_off, plan=())])  # one that was not asked for them
    assert {series.silent for series in made.series} == {0}


@pytest.mark.parametrize(
    ("levels", "bad", "status"),
    [
        ([100_000] * 3, [], 0),
        ([100_000] * 3, [OutcomeType.UNSTABLE], 6),
        ([100_000] * 3, [OutcomeType.NOT_ASSESSED, OutcomeType.UNSTABLE], 6),
        ([], [OutcomeType.UNSTABLE] * 2, 6),  # no run gave a number
        ([100_000] * 10 + [92_000] * 10, [OutcomeType.UNSTABLE], 1),
    ],
)
def test_a_pipeline_reads_of_silence_that_nobody_can_tell(
    tmp_path: Path, levels: list[int], bad: list[OutcomeType], status: int
) -> None:
    nightly(tmp_path, levels)
    for number, one in enumerate(bad, start=30):
        run_of(tmp_path, f"bad{number}", 1, hour=24 * number, bad=one)
    assert main(["trend", "--unverified", str(tmp_path), "--output", str(tmp_path / "told.txt")]) == status
    assert ("No run gave a plain number" in (tmp_path / "told.txt").read_text()) is (not levels)


def test_a_number_after_a_silent_run_is_no_silence(tmp_path: Path) -> None:
    nightly(tmp_path, [100_000] * 3)
    run_of(tmp_path, "bad", 1, hour=30, bad=OutcomeType.UNSTABLE)
    assert main(["trend", "--unverified", str(tmp_path), "--output", str(tmp_path / "told.txt")]) == 0


def test_a_run_that_is_left_out_ends_in_a_status_of_its_own(tmp_path: Path, monkeypatch, capsys) -> None:
    """Nobody knows whether it is worse: a pipeline that asks whether must not read that none is."""
    nightly(tmp_path / "runs", [100_000] * 3)
    finding = SimpleNamespace(rule_id="VER-01", where="trial 1")

    def verified(folder: Path, _keys: object) -> SimpleNamespace:
        return SimpleNamespace(findings=[finding] if folder.name.endswith("02") else [])

    monkeypatch.setattr("bmwg.cli.trend.verified", verified)
    assert main(["trend", str(tmp_path / "runs")]) == 4
    assert capsys.readouterr().err.count("CMP-08") == 1


def test_a_throughput_of_tst009_is_a_series(tmp_path: Path) -> None:
    """TST009-12.3.3: it had none, so nothing told that it fell."""
    (made,) = trends(nightly(tmp_path, [100_000] * 10 + [92_000] * 10, metric=tst009.METRIC))
    assert of(made, tst009.METRIC).worsened()
