"""The report is read through; what is looked up stands beside it, and only where there is something."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_parts import THROUGHPUT, Maker, cell, header

from bmwg.methodology.records import Bound, OutcomeType
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.first_page import following, measured, trust
from bmwg.reports.render.page.report import PAGES, write_form, write_report
from bmwg.reports.render.sections.grades import read_judged
from bmwg.reports.render.sections.guest import translated
from bmwg.reports.store import RunStore, read_run

MOST_WORDS = 8_000  # promised to readers


@pytest.fixture
def folder(made_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_folder, tmp_path / made_folder.name))


def words(page: Path) -> int:
    text = re.sub(r"<(style|svg)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return len(re.sub(r"<[^>]+>", " ", text).split())


def titles(page: Path) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page.read_text(encoding="utf-8"))


def test_the_report_is_short_and_leads_to_the_pages_that_lead_back(folder: Path) -> None:
    page = write_report(folder)
    assert words(page) < MOST_WORDS
    text = page.read_text(encoding="utf-8")
    for name in PAGES[1:]:
        assert f'href="{name}"' in text
        assert 'href="report.html"' in (folder / name).read_text(encoding="utf-8")
    assert "Searches as they went" in titles(folder / "report-searches.html")
    assert "Searches as they went" not in titles(page)
    assert {"Platform", "Matrices of RFC 8172 section 4.4", "Definitions"}.isdisjoint(titles(page))
    assert "Definitions" in titles(folder / "report-definitions.html")


def test_a_page_of_which_there_is_nothing_is_not_written_and_an_older_one_taken_away(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "empty", header()) as store:
        pass
    stale = store.folder / "report-searches.html"
    stale.write_text("of an earlier rendering")
    page = write_report(store.folder)
    assert not stale.exists()
    assert "report-searches.html" not in page.read_text(encoding="utf-8")


def test_the_text_holds_all_pages_in_one(folder: Path) -> None:
    write_report(folder)
    text = (folder / "report.rst").read_text(encoding="utf-8")
    for title in (
        "Searches as they went",
        "Platform",
        "Verdicts on clauses",
        "Trials that are not valid",
    ):
        assert title in text


def test_a_matrix_without_a_number_is_named_and_left_out(folder: Path) -> None:
    write_report(folder)
    page = (folder / "report-matrices.html").read_text(encoding="utf-8")
    assert "Capacity: pvp bridge, one direction, 1 flow" in page
    assert "no plain number</" not in page
    assert "so without a matrix:" in page


def test_the_first_page_says_what_was_measured_and_how_far_to_trust_it(folder: Path) -> None:
    told = facts(*read_judged(folder))
    first = restructured(measured(told)).replace("\\", "")
    assert "testbed embedded, medium veth" in first
    assert "profile quick" in first
    said = restructured(trust(told)).replace("\\", "")
    assert "trials were valid" in said
    assert "the medium is virtual" in said
    assert re.search(r"Of \d+ answers: \d+ measured, ", said)
    assert "No figure is a measurement" not in said
    simulated = replace(told, run=replace(told.run, simulated=True))
    assert "No figure is a measurement" in restructured(trust(simulated))
    assert f"bmwg verify {told.run.run_id}" in restructured(following(told)).replace("\\", "")


def test_a_record_that_is_hidden_or_of_another_form_leaves_its_words_out(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, "odd", header()) as store:
        store.set_platform(before={"fields": {"cpu": {"online": {"unknown": "hidden"}}, "memory": 3}})
        Maker(store).outcome(cell("pvp", "bridge"), THROUGHPUT, OutcomeType.UNSTABLE, reason="x")
    text = restructured(measured(facts(read_run(store.folder))))
    assert "CPU" not in text
    assert "GiB" not in text


@pytest.mark.parametrize(
    ("told", "apart"),
    [
        ({"machine": {"accelerator": "tcg"}}, True),
        ({"machine": {"accelerator": "kvm"}}, False),
        ({"machines": {"a": {"accelerator": "kvm"}, "b": {}}}, True),
        ({"hosting": {"form": "vm_full", "machine": {"accelerator": "tcg"}}}, True),
        ({"hosting": {"form": "vm_full"}}, True),  # nobody told what ran it
        ({"hosting": {"form": "docker_nat"}}, False),
        ({"hosting": "kvm"}, False),
        ({}, False),
    ],
)
def test_what_ran_a_machine_is_found_wherever_a_deployment_tells_it(
    tmp_path: Path, told: dict[str, object], apart: bool
) -> None:
    with RunStore.create(tmp_path, "guests", header()) as store:
        store.add_deployment("here", told)
    assert translated(read_run(store.folder), "here") is apart


def test_what_the_first_figure_shows_is_folded_on_the_page_and_open_in_text(folder: Path) -> None:
    page = write_report(folder).read_text(encoding="utf-8")
    glance = page[page.index('id="at-a-glance"') : page.index('id="what-to-trust"')]
    assert glance.index("<svg") < glance.index("These numbers as a table") < glance.index("<table")
    text = write_form(folder, "text").read_text("ascii")
    first = text[text.index("At a glance") : text.index("What to trust")]
    assert "317,187 to 339,843" in first
    assert "left out of this form: These numbers" not in text


def test_cpu_time_that_nobody_could_count_is_no_zero(tmp_path: Path) -> None:
    used = {"host.dut.pod0.cpu_ns": 1_000, "host.dut.pod0.window_ns": 1_000_000}
    with RunStore.create(tmp_path, "blind", header()) as store:
        maker, one = Maker(store), cell("pvp", "bridge")
        seq = maker.trial(one, 300_000, used=used)
        bound = Bound(load_fps=300_000, trials=(seq,))
        maker.outcome(one, THROUGHPUT, OutcomeType.UNSTABLE, reason="x", lower=bound, trials=(seq,))
    told = facts(read_run(store.folder))
    (answer,) = told.of_search()
    assert told.use(answer) is not None
    unseen = {"data_plane": {"parts": ["pod0"], "not_counted": {"device_queues": "no thread was seen"}}}
    blind = replace(told, run=replace(told.run, deployments={told.run.trial(seq).deployment_id: unseen}))
    assert blind.use(answer) is blind.use_over_all(answer) is None


def test_threads_that_ran_on_any_cpu_are_told_where_answers_are_trusted(folder: Path) -> None:
    told = facts(*read_judged(folder))
    assert "ran on any CPU" not in restructured(trust(told))
    queue = {
        "device_queue": "threaded",
        "cpu": None,
        "cpu_reason": "outside this PID namespace",
        "threads": [],
    }
    loose = replace(told, run=replace(told.run, deployments={"a": {"device_queues": [queue, queue]}}))
    assert restructured(trust(loose)).count("outside this PID namespace") == 1
