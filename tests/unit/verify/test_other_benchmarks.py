"""The benchmarks of RFC 2544 26.3 to 26.6 beside their rules: families of metrics, a grade, a graph."""

from __future__ import annotations

from pathlib import Path

import documents_run
import pytest

from bmwg.reports.checker.judge import among, judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.facts import facts
from bmwg.reports.render.plots.frame_loss_plot import frame_loss_plot
from bmwg.reports.store import read_run


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    return read_evidence(FolderFiles(documents_run.make(tmp_path_factory.mktemp("others"))))


def test_a_family_ends_in_a_point_and_all_else_is_exact():
    assert among(("reset.rfc6201.",), "reset.rfc6201.container")
    assert not among(("throughput.rfc2544_26_1",), "throughput.rfc2544_26_1.broadcast")


def test_frame_loss_is_graded_on_its_own(evidence):
    grade = next(one for one in judge(evidence).grades if one.benchmark == "frame loss rate")
    assert dict(grade.counts)["MUST met"] >= 2


def test_the_graph_of_frame_loss_has_a_description_and_both_ends(evidence):
    plot = frame_loss_plot(facts(read_run(Path(evidence.files.where))))
    assert plot is not None
    assert 'role="img"' in plot.svg
    assert "both in percent from 0 to 100" in plot.description
    assert "of the highest load" in plot.svg
