"""`docs/submitting.md` word by word: its files are written and its lines run, as a vendor and as a body."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import honest
import pytest

from bmwg.cli.main import main

pytestmark = pytest.mark.usefixtures("released")
DOCUMENT = Path(__file__).parents[3] / "docs" / "submitting.md"
VENDOR, BODY = "vendor", "body"
SECTIONS = {"Hand in": VENDOR, "Check": BODY, "A registry": BODY}
SAMPLES = ("unreleased toolkit: ",)  # blocks that show what a command says
_FILE = re.compile(r"`([\w./-]+\.(?:yaml|md))` ")
_STATUS = re.compile(r"#\s*status (\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """An indented block: where it is done, and the file that it is or the commands that it holds."""

    folder: str
    file: str
    lines: tuple[str, ...]


def blocks() -> list[Block]:
    """Return the indented blocks of the sections that a reader walks through, in their order."""
    found, lines, before, section = [], [], "", ""
    for line in [*DOCUMENT.read_text("utf-8").splitlines(), "end"]:
        if line.startswith("    ") or (lines and not line):
            lines.append(line[4:])
            continue
        if lines and section in SECTIONS:
            while not lines[-1]:
                lines.pop()
            named = _FILE.match(before)
            found.append(Block(folder=SECTIONS[section], file=named[1] if named else "", lines=tuple(lines)))
        lines = []
        if line.startswith("## "):
            section = line[3:]
        if line:
            before = line
    return found


def handed_over(vendor: Path, body: Path) -> None:
    for path in (*vendor.glob("*.bmwg.tar"), vendor / "my.key.pub"):
        if not (body / path.name).exists():
            shutil.copy(path, body)


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


def test_every_block_of_the_walk_is_a_file_commands_or_a_sample() -> None:
    found = blocks()
    for block in found:
        commands = all(line.startswith("bmwg ") for line in block.lines)
        assert block.file or commands or block.lines[0].startswith(SAMPLES), block
    assert {block.file for block in found} >= {"submission.yaml", "results/RUN/deviations.yaml", "README.md"}
    acts = {tuple(line.split()[1:3]) for block in found if not block.file for line in block.lines}
    assert acts >= {
        ("bundle", "--make-key"),
        ("registry", "add"),
        ("registry", "index"),
        ("registry", "check"),
    }


def test_the_document_does_what_it_says(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {name: tmp_path / name for name in (VENDOR, BODY)}
    (tmp_path / VENDOR / "results").mkdir(parents=True)
    made = honest.run(place, "ladder")
    run_id = json.loads((made / "run.json").read_text("ascii"))["run_id"]
    shutil.copytree(made, tmp_path / VENDOR / "results" / run_id)
    registry = tmp_path / BODY / "registry"
    registry.mkdir(parents=True)
    git(registry, "init", "-q")
    (registry / "README.md").write_text("A registry without a submission.\n", encoding="ascii")
    git(registry, "add", "-A")
    git(registry, "commit", "-q", "-m", "first")
    git(registry, "update-ref", "refs/remotes/origin/main", "HEAD")
    for block in blocks():
        folder = folders[block.folder]
        if block.folder == BODY:
            handed_over(folders[VENDOR], folder)
        monkeypatch.chdir(folder)
        text = "\n".join(block.lines).replace("RUN", run_id)
        if block.file:
            Path(block.file.replace("RUN", run_id)).write_text(text + "\n", encoding="utf-8")
        elif not block.lines[0].startswith(SAMPLES):
            for line in text.splitlines():
                expected = int(found[1]) if (found := _STATUS.search(line)) else 0
                words = shlex.split(line, comments=True)
                assert words[0] == "bmwg"
                status = main(words[1:])
                said = capsys.readouterr()
                assert status == expected, f"{line}\n{said.out}\n{said.err}"
    assert list(registry.glob("pages/*/*/*.html"))
    assert not list((tmp_path / BODY).rglob("my.key"))  # the private key was never handed over
    assert run_id in (registry / "index.html").read_text("utf-8")
