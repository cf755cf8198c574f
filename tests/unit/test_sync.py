"""The computed pages: what they find in code, suites and profiles, and that a stale page is noticed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bmwg.cli import sync
from bmwg.methodology.requirements import Basis, Level, Requirement, catalogue

SOURCE = """
def read(path):
    raise ConfigError("CFG-01", f"file {path} | cannot be read", expected="a file", hint="check " "it")

def helper():
    return refuse("CFG-02", "text of a helper")

NOT_AN_ERROR = "CFG-03"
"""


def checkout(root: Path) -> Path:
    for folder in (*sync.SOURCES, "docs", "testcases", "methodology/profiles"):
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


def test_coverage_counts_citations_deviations_and_what_nothing_touches(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    cited, deviated = sync.citations(root), sync.deviations(root)
    assert cited == {"RFC2544-26.1-01": ["CN-TPUT-1"]}
    assert deviated == {"RFC2544-24-01": ["quick"]}
    rows = [
        row("RFC2544-26.1-01"),
        row("RFC2544-24-01", Level.SHOULD),
        row("RFC2544-9"),
        row("RFC2544-1", Level.INFO),
    ]
    page = sync.coverage_page(rows, cited, deviated, {"RFC2544-1"}, {"RFC2544-*": "no such thing here"})
    assert "| RFC2544 | 4 | 2 | 1 | 1 | 1 | 1 |" in page
    assert "| RFC2544-9 | no such thing here |" in page
    assert "| RFC2544-9 | no reason is given |" in sync.coverage_page(rows, cited, deviated)


def test_every_must_row_is_covered_or_has_the_reason_why_not() -> None:
    root = sync.checkout()
    rows = [row for row in catalogue().values() if row.level in (Level.MUST, Level.MUST_NOT)]
    covered = {*sync.citations(root), *sync.deviations(root), *sync.judged(root)}
    why = sync.reasons(root)
    assert [row.id for row in rows if row.id not in covered and not sync.reason_of(row.id, why)] == []
    ids = {row.id for row in rows}
    families = [key[:-1] for key in why if key.endswith("*")]
    stale = [key for key in why if key not in ids and not key.endswith("*")]
    stale += [family for family in families if not any(one.startswith(family) for one in ids)]
    assert stale == []
    assert [key for key in why if key in covered] == []


def test_a_stale_page_is_noticed_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sync, "checkout", lambda: checkout(tmp_path))
    check, write = argparse.Namespace(check=True), argparse.Namespace(check=False)
    assert sync.handle(check) == 1
    assert "docs/errors.md is stale" in capsys.readouterr().out
    assert sync.handle(write) == 0
    assert sync.handle(check) == 0
    (tmp_path / "drivers" / "new.py").write_text('raise TestbedError("NEW-01", "what")')
    assert sync.handle(check) == 1
    assert "+| NEW-01 | `TestbedError` | what |" in capsys.readouterr().out
