"""The computed pages: what they find in code, suites and profiles, and that a stale page is noticed."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import pytest

from bmwg.cli import sync
from bmwg.cli.coverage_page import coverage_page, owed_rules, place
from bmwg.cli.decisions_page import decisions, decisions_page, topics
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.requirements.rows import Basis, Level, Requirement
from bmwg.methodology.requirements.unjudged_rows import RowClass, Unjudged

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
    (root / "drivers" / "registry.py").write_text(SOURCE)
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
    assert "| CFG-01 | `ConfigError` | file … \\| cannot be read | check it | `drivers/registry.py` |" in (
        sync.errors_page(uses)
    )


def test_the_error_ids_of_the_toolkit_are_found() -> None:
    found = {use.error_id for use in sync.error_uses(sync.checkout())}
    assert {"CFG-01", "SYNC-01"} <= found


def test_citations_and_deviations_are_found(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    assert sync.citations(root) == {"RFC2544-26.1-01": ["CN-TPUT-1"]}
    told = sync.deviations()["RFC2544-24-01"]
    assert "quick" in told
    assert "rfc2544" not in told


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


TEXTS = (".py", ".md", ".yaml", ".toml", ".c", ".h", ".sh", ".robot", ".ini")
NAMED = re.compile(r"(?:\bADR |docs/adr/|#adr-)(\d{4})")
PAGE = """# Two

<a id="adr-0004"></a><a id="adr-0005"></a>

## ADR 0004, 0005: Both at once

Status: accepted. Goes on from 0003.

Text.

## History

- <a id="adr-0006"></a>ADR 0006, replaced by 0004: what it was
"""


def test_a_page_holds_decisions_beside_files_of_their_own(tmp_path):
    folder = tmp_path / "docs/adr"
    folder.mkdir(parents=True)
    decision(folder, 3)
    (folder / "two.md").write_text(PAGE)
    (folder / "topics.yaml").write_text("- Two: [3]\n- None yet:\n")
    text = decisions_page(tmp_path)
    assert "3 decisions in 2 topics" in text
    assert "## [Two](two.md)\n\n- [0003](0003-x.md) Title 3; see 0004, 0005\n" in text
    assert "- [0005](two.md#adr-0005) Both at once\n- [0006](two.md#adr-0006) replaced by 0004\n" in text
    for name, change in (
        ("topics.yaml", "- Two: [3, 4]\n"),  # stands on its page already
        ("topics.yaml", "- One: [3]\n"),  # no line for the page
        ("two.md", PAGE.replace('<a id="adr-0005"></a>', "")),
        ("two.md", PAGE.replace("Status: ", "State: ")),
        ("two.md", PAGE.replace("0005", "0003")),  # has a file of its own
    ):
        before = (folder / name).read_text()
        (folder / name).write_text(change)
        with pytest.raises(ConfigError, match="SYNC-02"):
            decisions_page(tmp_path)
        (folder / name).write_text(before)


def test_every_decision_of_the_tree_stands_once_and_every_number_in_the_tree_is_one():
    root = sync.checkout()
    known = decisions(root / "docs/adr")
    placed = [number for numbers in topics(root / "docs/adr", known).values() for number in numbers]
    assert sorted(placed) == sorted(known)
    assert not [one for one in known.values() if not all(later in known for later in one.replaced_by)]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    read = {name for name in listed.stdout.split("\0") if name.endswith(TEXTS) and (root / name).exists()}
    unknown = [
        f"{name}: {number}"
        for name in sorted(read - {"tests/unit/test_sync.py"})
        for number in NAMED.findall((root / name).read_text(encoding="utf-8"))
        if int(number) not in known
    ]
    assert not unknown


def test_links_between_pages_lead_somewhere():
    root = sync.checkout()
    dead = []
    for page in (*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "benchmarks").rglob("*.md")):
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            file, _, anchor = target.partition("#")
            if "://" in file or file.startswith("mailto:"):
                continue
            place = page.parent / file if file else page
            if not place.exists() or (
                anchor.startswith("adr-") and f'id="{anchor}"' not in place.read_text()
            ):
                dead.append(f"{page.relative_to(root)}: {target}")
    assert not dead
