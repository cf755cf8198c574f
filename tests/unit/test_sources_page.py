"""The page on the source documents names tests, profiles and files that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
IDS = re.compile(r"`([A-Z0-9]{2,}(?:-[A-Z0-9.]+)+)`")


def test_each_test_that_the_page_names_is_in_a_suite() -> None:
    there = {
        tag
        for suite in (ROOT / "testcases").rglob("*.robot")
        for tag in re.findall(r"id:(\S+)", suite.read_text(encoding="utf-8"))
    }
    named = set(IDS.findall(PAGE))
    assert len(named) > 40
    assert named - there == set()


def test_each_file_and_profile_that_the_page_names_is_there() -> None:
    files = re.findall(r"`((?:docs|drivers|testcases)/[\w./-]+)`", PAGE)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
    profiles = {path.stem for path in (ROOT / "methodology").rglob("profiles/*.yaml")}
    assert set(re.findall(r"profile `([\w-]+)`", PAGE)) <= profiles
