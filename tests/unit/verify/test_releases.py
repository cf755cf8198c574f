"""Which releases and profiles the toolkit knows, and the command that adds a release to the list."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import released as made
import yaml

import bmwg
from bmwg.cli import release
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.profiles.reading import builtin_names
from bmwg.reports import releases
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.verify.trust import unmet
from bmwg.reports.verify.verify import verify_folder

ROOT = Path(__file__).parents[3]
COMMIT = "00112233445566778899aabbccddeeff00112233"


def test_the_profiles_of_the_installed_toolkit_are_known() -> None:
    for name in builtin_names():
        assert sha256_of(load_profile(name).data) in releases.profiles()[name]
    others = [
        file
        for file in (ROOT / "methodology").rglob("profiles/*.yaml")
        if file.parent.parent.name != "methodology"
    ]
    assert others
    for file in others:
        assert sha256_of(yaml.safe_load(file.read_text("utf-8"))) in releases.profiles()[file.stem], file


def test_a_run_of_no_release_says_so_first_and_where_the_report_names_the_toolkit(run_copy: Path) -> None:
    found = verify_folder(run_copy)
    assert found.strangers[0].startswith("unreleased toolkit: commit 0123456789ab")
    assert [line.split(":")[1] for line in unmet(found, ("known-toolkit",))] == [" known-toolkit"]
    write_report(run_copy)
    assert "an unreleased toolkit" in (run_copy / "report.rst").read_text("utf-8")


@pytest.mark.usefixtures("released")
def test_a_run_of_a_release_is_of_a_known_toolkit(run_copy: Path) -> None:
    assert not any(said.startswith("unreleased") for said in verify_folder(run_copy).strangers)
    write_report(run_copy)
    assert "an unreleased toolkit" not in (run_copy / "report.rst").read_text("utf-8")
    assert "1" * 64 in releases.profiles()["quick"]  # of a release that shipped another one


def test_one_version_is_told_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"]
    assert cited == bmwg.__version__


@pytest.mark.usefixtures("released")
def test_the_command_adds_this_commit_to_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "toolkit_state", lambda: ("1.0.0", COMMIT, False))
    listed = json.loads(release.written())["releases"]
    assert listed[:2] == [asdict(made.MINE), asdict(made.OTHER)]
    mine = listed[2]
    assert (mine["version"], mine["commit"]) == ("1.0.0", COMMIT)
    assert {name: frozenset(hashes) for name, hashes in mine["profiles"].items()} == releases.shipped()


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(
    "state",
    [
        ("1.0.0", None, None),
        ("1.0.0", COMMIT, True),
        (made.OTHER.version, COMMIT, False),
        ("1.0.0", made.MINE.commit, False),
        ("1.0.0.dev0", COMMIT, False),
    ],
)
def test_what_can_be_no_release_is_refused(
    monkeypatch: pytest.MonkeyPatch, state: tuple[str, str | None, bool | None]
) -> None:
    monkeypatch.setattr(release, "toolkit_state", lambda: state)
    with pytest.raises(ConfigError, match="REL-01"):
        release.written()
