"""A registry of real bundles: `add`, `check --against` a commit, and lies of organizations about runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import evidence
import pytest

from bmwg.cli.main import main


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


@pytest.fixture(scope="session")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = evidence.unpacked(tmp_path_factory.mktemp("kept"), "packets")
    return next(folder.glob("packets.redacted*.tar"))


def run(*words: object) -> int:
    return main(["registry", *map(str, words)])


def test_a_bundle_is_added_checked_and_never_changed(redacted, tmp_path, capsys):
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    readme.write_text("# Forwarder\n\n## Reproduce\n\nRun it.\n", encoding="ascii")
    add = ("add", root, "--bundle", redacted, "--key", evidence.SIGNER, "--readme", readme)
    assert run(*add) == 0, capsys.readouterr().out
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    assert run("check", root, "--against", "HEAD") == 0
    capsys.readouterr()
    next(root.glob("published/*/*/*/README.md")).write_text("## Reproduce\n\nx\n", encoding="ascii")
    assert run("check", root) == 0
    assert run("check", root, "--against", "HEAD") == 1
    assert "REG-14" in capsys.readouterr().out


def test_a_bundle_that_shows_the_machine_is_refused(redacted, tmp_path, capsys):
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    shown = redacted.with_name(redacted.name.replace("redacted", "signed"))
    assert run("add", root, "--bundle", shown, "--key", evidence.SIGNER, "--readme", readme) == 1
    said = capsys.readouterr().out
    assert "REG-12" in said
    assert "REG-10" in said
