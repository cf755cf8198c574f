"""What is told first: one number a cell whatever search found it, and why a cell has none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from made_parts import ENVELOPE, THROUGHPUT, Maker, cell, header

from bmwg.methodology.answers.throughput import SUSTAINED
from bmwg.methodology.records import Bound, OutcomeType, Quantity
from bmwg.methodology.search.sustained import FILLS
from bmwg.reports.render import searches
from bmwg.reports.render.facts import GLANCE_ROWS, Facts, facts
from bmwg.reports.render.forms.mail import mail_text
from bmwg.reports.render.page.first_page import following
from bmwg.reports.render.page.glance import glance
from bmwg.reports.render.page.report import PAGES, write_report
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.render.plots.extent import Known, measured_extent
from bmwg.reports.render.plots.option_plot import option_plot
from bmwg.reports.render.sections.unanswered import unanswered
from bmwg.reports.store import RunStore, read_run

GOAL = "conditional_throughput.rfc9971.0.1f1.5d"
NONE_LOST, SOME_LOST = f"{GOAL}0l50e", f"{GOAL}0.5l50e"
TST009 = "throughput.tst009_12_3"


def found(folder: Path, *answers: tuple[str, int]) -> Facts:
    """Return a run in which searches by these metrics found these loads on one option."""
    with RunStore.create(folder, "one", header()) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        for metric, load in answers:
            lower, upper = maker.trial(one, load), maker.trial(one, load + 9_000, loss_ratio=0.1)
            maker.outcome(
                one,
                metric,
                OutcomeType.MEASURED,
                values=(Quantity(metric=metric, number=load * 0.997, unit="frames/s"),),
                lower=Bound(load_fps=load, trials=(lower,)),
                upper=Bound(load_fps=load + 9_000, trials=(upper,)),
                trials=(lower, upper),
            )
    return facts(read_run(store.folder))


@pytest.mark.parametrize("metric", [THROUGHPUT, TST009, NONE_LOST])
def test_whatever_search_found_it_the_first_screen_has_its_number(tmp_path: Path, metric: str) -> None:
    told = found(tmp_path, (metric, 300_000))
    rows = [line for line in summary_lines(told) if line.startswith("pvp bridge 64")]
    assert [" ".join(row.split()) for row in rows] == ["pvp bridge 64 300,000 to 309,000"]
    plot = option_plot(told)
    assert plot is not None
    assert "300,000\u00a0to\u00a0309,000" in plot.svg
    write_report(told.run.folder)
    page = (told.run.folder / "report.rst").read_text()
    assert "300,000\u00a0to\u00a0309,000" in page.partition("At a glance")[2].partition("State of the run")[0]


def test_of_two_goals_the_one_without_loss_comes_first_and_both_are_told(tmp_path: Path) -> None:
    told = found(tmp_path, (SOME_LOST, 320_000), (NONE_LOST, 300_000))
    (first,) = told.of_search()
    assert first.metric == NONE_LOST
    assert [one.metric for one in told.beside(first)] == [SOME_LOST]
    lines = [" ".join(line.split()) for line in summary_lines(told)]
    assert "path, option, octets no loss loss up to 0.5 % p50 / p99 latency" in lines
    assert "pvp bridge 64 300,000 to 309,000 320,000 to 329,000" in lines
    assert any("of the trials of 0.1 s at a load at most 50 % may lose more" in line for line in lines)
    plot = option_plot(told)
    assert plot is not None
    assert "the same with loss up to 0.5\u00a0%, by RFC 9971" in plot.svg


def test_what_no_buffer_carried_is_the_lower_end_of_the_interval_beside_the_number(tmp_path: Path) -> None:
    told = found(tmp_path, (NONE_LOST, 300_000))
    (one,) = told.of_search()
    held = Quantity(metric=f"{SUSTAINED}.0.1f1.5d0l50e", number=250_000, unit="frames/s")
    said = measured_extent(replace(one, values=(*one.values, held)))
    assert str(said) == "300,000\u00a0(250,000\u00a0to\u00a0309,000)"
    assert said.known is Known.INTERVAL


def test_an_unstable_goal_is_between_loads_that_its_trials_agree_on(tmp_path: Path) -> None:
    """Not between the bounds of its search, where loads above them held after it (docs/adr/0610)."""
    with RunStore.create(tmp_path, "one", header()) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        told = [(300_000, 0), (309_000, 0.1), (309_000, 0.1), (400_000, 0), (500_000, 0.2)]
        seqs = [maker.trial(one, load, metric=GOAL, duration_s=0.1, loss_ratio=loss) for load, loss in told]
        maker.outcome(
            one,
            NONE_LOST,
            OutcomeType.UNSTABLE,
            lower=Bound(load_fps=300_000, trials=(seqs[0],)),
            upper=Bound(load_fps=309_000, trials=tuple(seqs[1:3])),
            trials=tuple(seqs),
            reason="made",
        )
    run = read_run(store.folder)
    assert any("between 300,000 and 500,000, unstable" in line for line in summary_lines(facts(run)))


def test_documents_and_goals_that_allow_the_same_are_told_apart() -> None:
    strict = "conditional_throughput.rfc9971.60f60d0l0e"
    assert searches.order("latency.all_frames") is None
    heads = searches.heads([THROUGHPUT, TST009, strict, NONE_LOST])
    assert len(set(heads)) == 4
    assert heads[:2] == ["RFC 2544, no loss", "TST009, no loss"]


def test_cells_without_a_number_are_told_once_a_reason_with_what_helps(made_folder: Path) -> None:
    told = facts(read_run(made_folder))
    lines = unanswered(told)
    named = [name for one in lines for name in one.cells]
    lacking = [one for one in told.of_search() if one.type is not OutcomeType.MEASURED]
    assert len(named) == len(set(named)) >= len(lacking) > 3
    assert len({(one.why, one.helps) for one in lines}) == len(lines)
    assert all(one.why for one in lines)
    (ipvlan,) = (one for one in lines if any("ipvlan" in name for name in one.cells))
    assert (ipvlan.why, ipvlan.helps) == ("the kernel has no ipvlan module", "modprobe ipvlan")
    said = summary_lines(told)
    assert {f"  {one}" for one in lines} <= set(said)


def test_longer_trials_help_where_a_buffer_fills(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "one", header()) as store:
        Maker(store).outcome(
            cell("pvp", "bridge"),
            NONE_LOST,
            OutcomeType.UNSTABLE,
            reason=f"{FILLS}: 200000 frames/s passes for 0.1 s and no longer",
        )
    (line,) = unanswered(facts(read_run(store.folder)))
    assert "longer trials" in line.helps


def test_the_first_page_shows_some_reasons_and_folds_the_others_and_text_has_all(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "one", header()) as store:
        maker = Maker(store)
        for number in range(9):
            reason = f"the machine lacks part {number}"
            maker.outcome(cell("pvp", f"option-{number}"), NONE_LOST, OutcomeType.NOT_ASSESSED, reason=reason)
        maker.outcome(cell("p2p", "bridge"), NONE_LOST, OutcomeType.UNSTABLE, reason="it moves")
    assert unanswered(facts(read_run(store.folder)))[0].why == "unstable, it moves"
    page = write_report(store.folder).read_text(encoding="utf-8")
    first = page[page.index('id="at-a-glance"') : page.index('id="what-to-trust"')]
    assert first.index("it moves") < first.index("7 further reasons") < first.index("lacks part 2")
    text = (store.folder / "report.rst").read_text(encoding="utf-8").partition("What to trust")[0]
    assert all(f"lacks part {number}" in text for number in range(9))


def test_a_ladder_without_ratios_is_one_line(tmp_path: Path) -> None:
    told = found(tmp_path, (THROUGHPUT, 300_000))
    write_report(told.run.folder)
    page = (told.run.folder / "report.rst").read_text()
    assert "Ratio of throughput" not in page
    assert ENVELOPE not in page


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another group: root")
def test_who_called_root_by_sudo_reads_the_pages_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = found(tmp_path, (THROUGHPUT, 300_000))
    monkeypatch.setenv("SUDO_GID", "54321")
    page = write_report(told.run.folder)
    pages = [page.with_name(name) for name in PAGES if page.with_name(name).exists()]
    assert len(pages) > 1
    for one in pages:
        assert (one.stat().st_gid, one.stat().st_mode & 0o777) == (54321, 0o640)
    assert (page.parent.stat().st_gid, page.parent.stat().st_mode & 0o777) == (54321, 0o710)
    others = [file for file in page.parent.iterdir() if file.is_file() and file not in pages]
    assert others
    assert all(file.stat().st_mode & 0o077 == 0 for file in others)


@pytest.mark.parametrize(
    ("changes", "axes", "said", "unsaid"),
    [
        ({}, (), ["bmwg run --profile hour", "bmwg run --repeat 5"], "--testbed"),
        (
            {},
            (("pattern", "full-mesh-4"),),
            ["bmwg run --testbed FILE --profile rfc2889 testcases/rfc2889"],
            "hour",
        ),
        (
            {"testbed": {"name": "lab"}},
            (),
            ["bmwg run --testbed FILE --profile hour", "bmwg run --testbed FILE --repeat 5"],
            "bmwg run --profile",
        ),
        ({"simulated": True}, (), ["Measure with frames", "bmwg run"], "bmwg run --"),
    ],
)
def test_what_is_next_is_of_the_runs_own_testbed_and_cells_and_measures(
    tmp_path: Path, changes: dict, axes: tuple, said: list[str], unsaid: str
) -> None:
    with RunStore.create(tmp_path, "run", replace(header(), **changes)) as store:
        maker = Maker(store)
        one = cell("switch", axes=axes)
        seqs, low, high = maker.search(one, 400_000, 1_000_000)
        value = Quantity(metric=THROUGHPUT, number=low.load_fps, unit="frames/s")
        maker.outcome(
            one,
            THROUGHPUT,
            OutcomeType.MEASURED,
            values=(value,),
            lower=low,
            upper=high,
            trials=tuple(seqs),
        )
    words = str(following(facts(read_run(store.folder))))
    assert [one for one in said if one not in words] == []
    assert unsaid not in words


def test_a_table_of_the_first_answers_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    def told(count: int) -> str:
        with RunStore.create(tmp_path, f"of{count}", header()) as store:
            maker = Maker(store)
            for number in range(count):
                one = cell("pvp", f"option{number}")
                seq = maker.trial(one, 300_000)
                maker.outcome(
                    one,
                    THROUGHPUT,
                    OutcomeType.MEASURED,
                    values=(Quantity(metric=THROUGHPUT, number=300_000, unit="frames/s"),),
                    lower=Bound(load_fps=300_000, trials=(seq,)),
                    trials=(seq,),
                )
        return mail_text(glance(facts(read_run(store.folder)), []))

    assert "Not among these" not in told(GLANCE_ROWS)
    assert "Not among these: 2 answers, in the chapters below." in told(GLANCE_ROWS + 2)
