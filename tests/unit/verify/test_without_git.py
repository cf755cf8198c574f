"""A copy of the toolkit without its repository says of a bundle what the repository says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import honest
import pytest
import released as made
import replayable

from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.render.page.report import write_report

PACKAGE = Path(__file__).parents[3] / "src" / "bmwg"
README = "# Forwarder\n\n## Reproduce\n\nRun it.\n"


@pytest.fixture(scope="module")
def bundles(place: Path, keys: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a bundle with its report, and a redacted one."""
    folder = tmp_path_factory.mktemp("bundles")
    whole = folder / "whole.tar"
    with made.listed(folder):  # the report says whether it knows the toolkit
        run = honest.copied(place, "ladder", folder / "copy")
        write_report(run)
        signer = load_private(keys["signer"])
        make_bundle(run, whole, evidence=folder_evidence(run), findings=[], signer=signer)
    return {
        "whole": whole,
        "redacted": honest.submitted(place, "ladder", folder / "redacted.tar", keys["signer"]),
    }


@pytest.fixture(scope="module", params=["noted", "bare"])
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return a copy of the package, with what a build notes of its commit or without."""
    root = tmp_path_factory.mktemp("toolkit")
    package = root / "bmwg"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "commit.json"))
    listed = json.dumps({"releases": [asdict(made.MINE)]})
    (package / "reports" / "releases.json").write_text(listed, encoding="ascii")
    if request.param == "noted":
        note = json.dumps({"commit": replayable.COMMIT, "dirty": False})
        (package / "commit.json").write_text(note, encoding="ascii")
    return request.param, root


def said(copy: tuple[str, Path], *words: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "bmwg", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(copy[1])},
        cwd=copy[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_release_is_known_and_its_report_made_anew_where_the_commit_was_noted(
    copy: tuple[str, Path], bundles: dict[str, Path], keys: dict[str, Path]
) -> None:
    trusted = ("verify", bundles["whole"], "--key", keys["signer.pub"], "--require")
    status, told = said(copy, *trusted, "known-toolkit")
    assert status == 0, told
    assert "unreleased toolkit" not in told
    status, told = said(copy, *trusted, "known-toolkit,checked-report")
    assert status == (0 if copy[0] == "noted" else 7), told


def test_a_registry_takes_a_bundle(
    copy: tuple[str, Path], bundles: dict[str, Path], keys: dict[str, Path], tmp_path: Path
) -> None:
    readme, root = tmp_path / "README.md", tmp_path / "registry"
    readme.write_text(README, encoding="ascii")
    root.mkdir()
    parts = ("--bundle", bundles["redacted"], "--key", keys["signer.pub"], "--readme", readme)
    status, told = said(copy, "registry", "add", root, *parts)
    assert status == 0, told
