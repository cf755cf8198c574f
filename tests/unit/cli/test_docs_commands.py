"""Each command that a page names is one that there is: verb, options, words of the set-up, files, suites."""

import argparse
import configparser
import re
import shlex
from pathlib import Path

import pytest

from bmwg.cli.main import MODULES, parser_of

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "docs/registry-template/*.md", "schemas/*.md")
    for page in ROOT.glob(pattern)
)
INLINE = re.compile(r"`((?:sudo )?(?:\.venv/bin/)?(?:bmwg|sh setup/[a-z0-9-]+\.sh|robot|tox) [^`\n]+)`")
SEPARATORS = {"&&", "||", "|", ";", ">", "<", "then", "and"}
PLACEHOLDER = re.compile(r"[A-Z][A-Z_.]*|\.\.\.|\[.*\]?|<.*>|\$.*")  # RUN, N, FILE: what a reader fills in


def lines_of(page: Path) -> list[str]:
    """Return the lines of code blocks, continued ones joined, and code within sentences."""
    text = page.read_text(encoding="utf-8")
    found, fenced = [], False
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            found.append(line.strip())
    return found + INLINE.findall(text)


def commands(line: str) -> list[list[str]]:
    """Return the commands of a line as words, without sudo, settings before them and comments."""
    try:
        words = shlex.split(line.removeprefix("$ "), comments=True)
    except ValueError:  # a sentence with an apostrophe, or a sample of output
        return []
    made: list[list[str]] = [[]]
    for word in words:
        if word in SEPARATORS:
            made.append([])
        elif made[-1] or (word != "sudo" and not re.fullmatch(r"[A-Z_]+=.*", word)):
            made[-1].append(word.removeprefix(".venv/bin/") if not made[-1] else word)
    return [one for one in made if one]


def everywhere(program: str) -> list[tuple[str, list[str]]]:
    return [
        (str(page.relative_to(ROOT)), words)
        for page in PAGES
        for line in lines_of(page)
        for words in commands(line)
        if words[0] == program
    ]


def nested(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the verbs below a parser; empty where there are none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def wrong(words: list[str], verbs: dict[str, argparse.ArgumentParser]) -> str:
    """Say what of a command there is not; empty when all is."""
    if len(words) < 2 or PLACEHOLDER.fullmatch(words[1]) or words[1] in ("--help", "--version"):
        return ""
    if words[1] not in verbs:
        return f"no verb {words[1]}"
    parser = verbs[words[1]]
    if (below := nested(parser)) and len(words) > 2 and not words[2].startswith("-"):
        if words[2] not in below and not PLACEHOLDER.fullmatch(words[2]):
            return f"no verb {words[1]} {words[2]}"
        parser = below.get(words[2], parser)
    known = {option for action in parser._actions for option in action.option_strings}
    unknown = [
        word.partition("=")[0].rstrip(".,;:)")
        for word in words
        if word.startswith("--") and word.partition("=")[0].rstrip(".,;:)") not in known
    ]
    return f"no option {unknown[0]} of {words[1]}" if unknown else ""


def test_a_wrong_command_would_be_seen() -> None:
    verbs = dict(parser_of(MODULES)[1].choices)
    assert wrong(["bmwg", "runn"], verbs) == "no verb runn"
    assert wrong(["bmwg", "run", "--profil", "x"], verbs) == "no option --profil of run"
    assert wrong(["bmwg", "verify", "RUN", "--require=signed"], verbs) == ""
    assert commands("sudo X=1 .venv/bin/bmwg run # all && tox -e unit") == [["bmwg", "run"]]
    assert commands("sh setup/install.sh && .venv/bin/bmwg run") == [
        ["sh", "setup/install.sh"],
        ["bmwg", "run"],
    ]


def test_verbs_and_options_of_bmwg() -> None:
    verbs = dict(parser_of(MODULES)[1].choices)
    found = everywhere("bmwg")
    assert len(found) > 100
    assert [(page, " ".join(words), said) for page, words in found if (said := wrong(words, verbs))] == []


def test_files_that_options_name() -> None:
    places = ("testbeds/", "testcases/", "docs/", "setup/", "benchmarks/", "tests/")
    missing = [
        (page, word)
        for program in ("bmwg", "robot", "sh", "python3", "python")
        for page, words in everywhere(program)
        for word in (one.rstrip(".,;:)") for one in words)
        if word.startswith(places) and not re.search(r"[A-Z*<$]|\.\.\.", word) and not (ROOT / word).exists()
    ]
    assert missing == []


def test_words_of_the_set_up() -> None:
    script = (ROOT / "setup" / "install.sh").read_text(encoding="utf-8")
    known = set(re.search(r"^words='(.+)'$", script, re.MULTILINE)[1].split()) | {"--undo", "--help"}
    found = [(page, words) for page, words in everywhere("sh") if words[1:2] == ["setup/install.sh"]]
    assert len(found) > 8
    assert [(page, words) for page, words in found if not set(words[2:]) <= known | {"[WORD...]"}] == []


def test_environments_of_tox() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    known = {name.removeprefix("testenv:") for name in tox.sections()}
    named = {
        name
        for _, words in everywhere("tox")
        if "-e" in words
        for name in words[words.index("-e") + 1].rstrip(".,;").split(",")
    }
    assert named
    assert named <= known, named - known


def test_the_walk_takes_lines_of_the_pages() -> None:
    script = (ROOT / "tests" / "cold" / "walk.sh").read_text(encoding="utf-8")
    taken = re.findall(r"^line (\S+) '([^']+)'", script, re.MULTILINE)
    assert len(taken) > 5
    assert [line for page, line in taken if line not in lines_of(ROOT / page)] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "docs"], ids=lambda page: page.name
)
def test_every_page_is_listed(page: Path) -> None:
    if page.name != "README.md":
        assert f"]({page.name})" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
