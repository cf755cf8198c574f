"""The registry to begin with: the lines of its README and of its check are run in a copy of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import parties
import pytest
import yaml
from parties import World

from bmwg.cli.main import main

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "docs" / "registry-template"
WORKFLOW = Path(".github") / "workflows" / "check.yml"
COMMAND = "/tmp/bmwg/bin/bmwg"


def checks(root: Path) -> list[tuple[list[str], dict[str, str]]]:
    """Return the words of each line of the check that runs the toolkit, and the variables that it has."""
    jobs = yaml.safe_load((root / WORKFLOW).read_text("ascii"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"] if "run" in step]
    return [
        (shlex.split(line), step.get("env", {}))
        for step in steps
        for line in step["run"].splitlines()
        if line.startswith(COMMAND + " ")
    ]


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


def test_a_registry_begins_with_the_template(
    fresh: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, root = tmp_path / "home", tmp_path / "begun"
    home.mkdir()
    shutil.copytree(TEMPLATE, root)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BASE", "main")
    monkeypatch.chdir(root)
    lines = [
        line.strip() for line in (root / "README.md").read_text("ascii").splitlines() if line[:4] == " " * 4
    ]
    assert len(lines) == 2
    for line in lines:
        words = [os.path.expanduser(word) for word in shlex.split(line)]
        assert words[0] == "bmwg"
        assert main(words[1:]) == 0, line
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begun")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert not list(root.rglob("*.key"))  # no private key in it
    key = ["--key", str(home / "body.key"), "--public", str(fresh.public("vendor")), "--role", "vendor"]
    valid = ["--from", "2026-01-01T00:00:00Z", "--until", "2099-12-31T00:00:00Z"]
    assert main(["keys", "add", ".", *key, "--organization", parties.VENDOR, *valid]) == 0
    bundle = fresh.bundle(fresh.run("first", None), salt=parties.SALT)
    (tmp_path / "how.md").write_text("# It\n\n## Reproduce\n\nRun it.\n", encoding="ascii")
    assert main(["registry", "add", ".", "--bundle", str(bundle), "--readme", str(tmp_path / "how.md")]) == 0
    assert main(["registry", "index", "."]) == 0
    capsys.readouterr()
    found = checks(root)
    assert [words[1:3] for words, _ in found] == [["keys", "show"], ["registry", "check"]]
    for words, variables in found:
        assert set(variables) <= {"BASE"}
        status = main([os.path.expandvars(word) for word in words[1:]])
        assert status == 0, capsys.readouterr().out
    assert "1 submissions, 0 findings" in capsys.readouterr().out


def test_the_check_installs_extras_that_there_are() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"bmwg-toolkit\[([a-z,]+)\]==", (TEMPLATE / WORKFLOW).read_text("ascii"))
    assert named is not None
    assert set(named[1].split(",")) <= set(known)
