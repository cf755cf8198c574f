"""Published figures: as data that keeps to its schema, and told only as ratios to native."""

from __future__ import annotations

from pathlib import Path

import pytest

from bmwg.cli.main import main
from bmwg.reports.published.figures import documents, tables
from bmwg.reports.published.ratios import ratios

CASE = "eiras2016-case1"


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
    assert not any(form == "native" for _, form in found)
    assert ratios(tables()["dcn00-alltoall"]) == ()
    assert ratios(tables()["eiras2018-table1"]) == ()


def test_the_command_shows_them(made_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--unverified", "--published", str(made_folder)]) == 0
    told = capsys.readouterr().out
    assert "1.324 +/- 0.039" in told
    assert "no native form" in told
    lines = " ".join(told.split())
    assert "figures in s; means of 10; ab, Squid 3, Apache 2, 12 fork stress processes" in lines
    assert "figures in 10^6 bit/s." in lines  # of which more is better, where less is of a time
    assert "The run has no ratio to native of any of these experiments." in told
    assert not {"6.98", "370.74"} & set(told.split())
    assert main(["compare", "--unverified", "--published", str(made_folder), "--format", "json"]) == 2
