"""The computed pages: what they find in code, suites and profiles, and that a stale page is noticed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bmwg.cli import sync
from bmwg.cli.coverage_page import coverage_page, owed_rules, place
from bmwg.cli.decisions_page import decisions, decisions_page, topics
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.requirements import Basis, Level, Requirement
from bmwg.methodology.unjudged_rows import RowClass, Unjudged

SOURCE = """
def read(path):
    raise ConfigError("CFG-01", f"file {path} | cannot be read", expected="a file", hint="check " "it")

def helper():
    return refuse("CFG-02", "text of a helper")

NOT_AN_ERROR = "CFG-03"
"""


def checkout(root: Path) -> Path:
    for folder in (*sync.SOURCES, "docs/adr", "testcases", "methodology/profiles"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "drivers" / "testbed.py").write_text(SOURCE)
    (root / "testcases" / "a.robot").write_text(
        "*** Test Cases ***\nOne\n    [Tags]    id:CN-TPUT-1    req:RFC2544-26.1-01\n    No Operation\n"
    )
    (root / "methodology" / "profiles" / "quick.yaml").write_text(
        "name: quick\ndeviations:\n  - {requirement: RFC2544-24-01, what: a, why: b}\n"
    )
    return root


def row(row_id: str, level: Level = Level.MUST) -> Requirement:
    return Requirement(
        id=row_id, document="RFC2544", section="1", level=level, requirement="r", check="c", basis=Basis.TEXT
    )


def test_error_ids_are_found_with_class_text_and_hint(tmp_path: Path) -> None:
    uses = sync.error_uses(checkout(tmp_path))
    assert [(use.error_id, use.kind) for use in uses] == [("CFG-01", "ConfigError"), ("CFG-02", "")]
    assert uses[0].what == "file … | cannot be read"
    assert uses[0].hint == "check it"
    assert "| CFG-01 | `ConfigError` | file … \\| cannot be read | check it | `drivers/testbed.py` |" in (
        sync.errors_page(uses)
    )


def test_the_error_ids_of_the_toolkit_are_found() -> None:
    found = {use.error_id for use in sync.error_uses(sync.checkout())}
    assert {"CFG-01", "SYNC-01"} <= found


def test_citations_and_deviations_are_found(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    assert sync.citations(root) == {"RFC2544-26.1-01": ["CN-TPUT-1"]}
    assert sync.deviations(root) == {"RFC2544-24-01": ["quick"]}


def test_a_page_counts_each_row_once_and_a_tag_for_nothing() -> None:
    rows = [row("RFC2544-26.1-01"), row("RFC2544-24-01", Level.SHOULD), row("RFC2544-9"), row("RFC2544-1")]
    entries = {
        one.id: Unjudged(
            row=one.id,
            row_class=row_class,
            group="RFC2544/a",
            group_says="what rows have in common",
            reason=f"why {one.id} has no rule",
            by=("tests/unit/test_sync.py",) if row_class is RowClass.CARRIED_OUT else (),
            never_applies=False,
            by_construction=False,
        )
        for one, row_class in zip(rows[2:], (RowClass.NOT_HERE, RowClass.CARRIED_OUT), strict=True)
    }
    placed = place(rows, {"RFC2544-26.1-01", "RFC2544-24-01"}, {"RFC2544-24-01"}, entries)
    page = coverage_page(placed, {"RFC2544-9": ["CN-TPUT-1"]}, {"RFC2544-9": ["quick"]})
    assert "| RFC2544 | 4 | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 0 |" in page
    assert "| **all** | 4 | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 0 |" in page
    assert "- RFC2544-9 (MUST): why RFC2544-9 has no rule; deviation of quick" in page
    assert "what rows have in common (`tests/unit/test_sync.py`)" in page
    with pytest.raises(KeyError):
        place([row("RFC2544-8")], set(), set(), {})


def test_rules_that_no_run_tried_yet_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit" / "checker"
    folder.mkdir(parents=True)
    (folder / "cases_a.py").write_text(
        'NOT_YET: frozenset[str] = frozenset({"RFC2544-9-01"})\nOTHER: str = "no"\n'
    )
    (folder / "cases_b.py").write_text("NOT_YET: frozenset[str] = frozenset()\n")
    assert owed_rules(tmp_path) == {"RFC2544-9-01"}
    assert "RFC2544-24-01" not in owed_rules(sync.checkout())


def test_a_fault_of_a_reason_stops_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "shipped", lambda: ())
    with pytest.raises(ConfigError, match="SYNC-02"):
        sync.coverage(sync.checkout())


def test_a_stale_page_is_noticed_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sync, "checkout", lambda: checkout(tmp_path))
    monkeypatch.setattr(sync, "row_faults", lambda root: [])  # the made checkout has none of the tests named
    check, write = argparse.Namespace(check=True), argparse.Namespace(check=False)
    assert sync.handle(check) == 1
    assert "docs/errors.md is stale" in capsys.readouterr().out
    assert sync.handle(write) == 0
    assert sync.handle(check) == 0
    (tmp_path / "drivers" / "new.py").write_text('raise TestbedError("NEW-01", "what")')
    assert sync.handle(check) == 1
    assert "+| NEW-01 | `TestbedError` | what |" in capsys.readouterr().out


def decision(folder, number, status=""):
    (folder / f"{number:04}-x.md").write_text(f"# {number:04} Title {number}\n\n{status}\n")


def test_the_index_of_decisions_has_each_page_once_with_what_later_ones_say(tmp_path):
    folder = tmp_path / "docs/adr"
    folder.mkdir(parents=True)
    decision(folder, 1, "Status: replaced by 0002; what it describes is read.")
    decision(folder, 2, "Status: accepted. Replaces 0001.")
    decision(folder, 3)
    (folder / "topics.yaml").write_text("- One: [2, 1]\n")
    text = decisions_page(tmp_path)
    assert "- [0001](0001-x.md) Title 1 **(replaced by 0002)**; see 0002" in text
    assert (
        text.index("[0001]") < text.index("[0002]") < text.index("## In no topic yet") < text.index("[0003]")
    )
    for wrong in ("- One: [1, 1]\n", "- One: [9]\n"):
        (folder / "topics.yaml").write_text(wrong)
        with pytest.raises(ConfigError, match="SYNC-02"):
            decisions_page(tmp_path)


def test_every_decision_of_the_tree_has_a_topic():
    folder = sync.checkout() / "docs/adr"
    known = decisions(folder)
    assert len(known) == len(list(folder.glob("[0-9]*.md")))
    assert sum(map(len, topics(folder, known).values())) == len(known)
