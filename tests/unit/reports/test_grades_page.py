"""The page's grades are the checker's: none is better, none is left out, and none hides why."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "verify"))

import replayable

from bmwg.reports.bundle.make import folder_evidence
from bmwg.reports.checker.judge import judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.trials import TakenLines
from bmwg.reports.checker.verdicts import Verdict
from bmwg.reports.render.blocks import Block, Fold, Grid, Heading, Items, Paragraph
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.report import write_form
from bmwg.reports.render.sections import grades as module
from bmwg.reports.store import read_run


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that is neither simulated nor indicative, and so is graded."""
    return replayable.make_run(
        tmp_path_factory.mktemp("graded"), simulated=False, indicative=False, stall_every=17, seed=1
    )


def section(folder: Path) -> list[Block]:
    told = facts(read_run(folder))
    return [*module.grades(told), *module.clauses(told)]


def grids(folder: Path) -> dict[str, Grid]:
    flat = [inner for one in section(folder) for inner in (one.inside if isinstance(one, Fold) else (one,))]
    return {one.caption: one for one in flat if isinstance(one, Grid)}


def test_each_benchmark_has_the_checkers_grade(run_folder: Path) -> None:
    told = grids(run_folder)["RFC 2544 section 5, for each of its benchmarks"]
    expected = {
        one.benchmark: one.grade.value
        for one in judge(folder_evidence(run_folder)).grades
        if one.document == "RFC2544"
    }
    assert {row[0]: row[1] for row in told.rows} == expected
    assert expected["throughput"] == "not compliant"  # no theoretical maximum to state, RFC2544-26.1-10


def test_what_decides_a_grade_stands_beside_it(run_folder: Path) -> None:
    reasons = grids(run_folder)["What decides these grades"].rows
    assert any(row[0] == "throughput" and "MUST RFC2544-26.1-10" in row[1] for row in reasons)
    assert not any(row[1].startswith("SHOULD") for row in reasons)


def test_every_verdict_is_told_or_named(run_folder: Path) -> None:
    verdicts = [one for one in judge(folder_evidence(run_folder)).verdicts if one.benchmark == "throughput"]
    fold = next(
        one for one in section(run_folder) if isinstance(one, Fold) and "RFC 2544, throughput" in one.summary
    )
    grid = next(one for one in fold.inside if isinstance(one, Grid))
    silent = next(one.text for one in fold.inside if isinstance(one, Paragraph))
    names = silent.removeprefix("No rule assesses: ").removesuffix(".").split(", ")
    assert sorted([*(row[0] for row in grid.rows), *names]) == sorted(one.requirement for one in verdicts)
    order = [module.WORDS[one] for one in (Verdict.NOT_MET, Verdict.DEVIATED, Verdict.MET)]
    found = [row[2].removesuffix(", as declared") for row in grid.rows if row[2] in order]
    assert found == sorted(found, key=order.index)


def test_counts_and_coverage_stand_apart_from_grades(run_folder: Path) -> None:
    told = grids(run_folder)
    counts = next(grid for name, grid in told.items() if name.startswith("Documents with the words"))
    assert counts.head == (
        "document",
        "clauses with MUST",
        "clauses with SHOULD",
        "met without a measurement",
    )
    assert [row[0] for row in counts.rows] == ["RFC 6815", "vsperf test design"]
    coverage = next(grid for name, grid in told.items() if name.startswith("Coverage"))
    for row in coverage.rows:
        answered, _, missing = map(int, row[1:4])
        assert row[4] == module.percent(answered / (answered + missing), 1)


def test_a_run_that_cannot_be_graded_says_why_first(tmp_path: Path) -> None:
    simulated = replayable.make_run(tmp_path)
    first = [one.text for one in section(simulated) if isinstance(one, Paragraph)]
    assert "No benchmark of this run can be graded as compliant, for the state of the run:" in first
    (states,) = [one.texts for one in section(simulated) if isinstance(one, Items)]
    assert any(text.startswith("simulated: no frame") for text in states)
    told = grids(simulated)["RFC 2544 section 5, for each of its benchmarks"]
    assert not any("compliant" in row[1] for row in told.rows)


def test_a_run_without_such_a_benchmark_says_so(run_folder: Path) -> None:
    run = read_run(run_folder)
    lines = module.benchmarks([one for one in judge(folder_evidence(run_folder)).grades if not one.counts])
    assert lines == [Paragraph(text=module._NONE_HELD)]
    assert run.outcomes


def test_what_cannot_be_judged_is_no_grade(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_evidence: object) -> object:
        raise KeyError("a path that is not the run's")

    monkeypatch.setattr(module, "judge", broken)
    told = section(run_folder)
    assert [type(one) for one in told] == [Heading, Paragraph]
    assert "could not be judged (KeyError)" in told[1].text  # type: ignore[attr-defined]


def test_the_verified_journal_gives_the_verdicts_of_the_strict_reader(run_folder: Path) -> None:
    lines = TakenLines("the journal")
    read_run(run_folder, lines.take)
    quick = read_evidence(FolderFiles(run_folder), taken=lines)
    assert quick.findings == ()
    assert judge(quick) == judge(folder_evidence(run_folder))
    assert [dataclasses.replace(one.trial) for one in quick.trials] == [
        one.trial for one in folder_evidence(run_folder).trials
    ]


def test_a_declaration_of_the_run_is_in_the_verdict(run_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(run_folder, tmp_path / "run"))
    row = "RFC2544-9.1"
    (folder / "deviations.yaml").write_text(
        f"schema: deviations/1.0\ndeviations:\n  - requirement: {row}\n"
        "    what: 64 octets only\n    why: sold for that size\n    by: the lab\n"
    )
    verdict = {
        cells[0]: cells[2] for grid in grids(folder).values() for cells in grid.rows if len(cells) == 6
    }
    assert verdict[row] == "deviated, as declared"


@pytest.mark.parametrize("form", ["text", "md", "rfcxml"])
def test_the_other_forms_have_the_grades_too(run_folder: Path, tmp_path: Path, form: str) -> None:
    folder = Path(shutil.copytree(run_folder, tmp_path / "run"))
    text = write_form(folder, form).read_text(encoding="utf-8")
    assert "not compliant" in text
    assert json.loads((folder / "run.json").read_text())["run_id"] in text
