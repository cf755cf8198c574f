"""Published figures: as data that keeps to its schema, and told only as ratios to native."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_parts import Maker, cell, header

from bmwg.cli.main import main
from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.reports.published.figures import documents, tables
from bmwg.reports.published.ratios import published_page, published_section, ratios
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store import Run, RunStore, read_run

CASE = "eiras2016-case1"


def run_of(results: Path, numbers: dict[str, float], unit: str = "s") -> Run:
    forms = {"native": ("baremetal", "none"), "docker-nat": ("container", "nat"), "kvm": ("vm", "bridge")}
    with RunStore.create(results, "proxy", header()) as store:
        maker = Maker(store)
        for form, number in numbers.items():
            hosting, network = forms[form]
            one = cell("proxy", network, hosting=hosting, function="squid")
            seq = maker.trial(one, 1000)
            value = Quantity(metric=f"{CASE}.1_kb", number=number, unit=unit)
            maker.outcome(one, CASE, OutcomeType.MEASURED, trials=(seq,), values=(value,))
    return read_run(store.folder)


def test_every_table_names_a_document_and_holds_its_numbers() -> None:
    assert len(tables()) == 8
    assert {one.document for one in tables().values()} == set(documents())
    case = tables()[CASE]
    assert case.figures["1 MB", "kvm"].mean == 370.74
    assert case.figures["1 MB", "kvm"].half_width_95 == 11.81
    assert tables()["ramalho2016-stream"].figures["triad", "kvm"].mean == 523.7
    assert ("VMP2VMP same host", "sr-iov") not in tables()["dcn00-alltoall"].figures


def test_ratios_are_to_native_with_the_width_of_both_means() -> None:
    found = {(one.item, one.form): one for one in ratios(tables()[CASE])}
    one = found["1 kB", "kvm"]
    assert one.published == pytest.approx(9.24 / 6.98)
    assert one.half_width_95 == pytest.approx(9.24 / 6.98 * ((0.27 / 9.24) ** 2 + (0.02 / 6.98) ** 2) ** 0.5)
    assert one.own is None
    assert not any(form == "native" for _, form in found)
    assert ratios(tables()["dcn00-alltoall"]) == ()
    assert ratios(tables()["eiras2018-table1"]) == ()


def test_a_run_of_the_same_experiment_stands_beside_as_ratio_only(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"native": 4.125, "docker-nat": 4.95, "kvm": 8.25})
    found = {(one.item, one.form): one.own for one in ratios(tables()[CASE], run.outcomes)}
    assert found["1 kB", "docker-nat"] == pytest.approx(1.2)
    assert found["1 kB", "kvm"] == pytest.approx(2.0)
    assert found["1 kB", "docker-routed"] is None
    assert found["1 MB", "kvm"] is None
    page = restructured(published_page(run)).replace("\\", "")
    for absolute in ("6.98", "370.74", "4.125", "8.25"):
        assert absolute not in page
    assert "2.000" in page
    report = write_report(run.folder).read_text("utf-8")
    assert "Beside published figures" in report
    assert "370.74" not in report


def test_a_number_of_another_unit_or_without_native_gives_no_ratio(tmp_path: Path) -> None:
    other = run_of(tmp_path / "a", {"native": 4.0, "kvm": 8.0}, unit="ms")
    alone = run_of(tmp_path / "b", {"kvm": 8.0})
    for run in (other, alone):
        assert all(one.own is None for one in ratios(tables()[CASE], run.outcomes))


def test_a_run_of_something_else_has_no_such_section(made_folder: Path) -> None:

    assert published_section(read_run(made_folder)) == []


def test_the_command_shows_them(made_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--unverified", "--published", str(made_folder)]) == 0
    told = capsys.readouterr().out
    assert "1.324 +/- 0.039" in told
    assert "no native form" in told
    assert main(["compare", "--unverified", "--published", str(made_folder), "--format", "json"]) == 2
