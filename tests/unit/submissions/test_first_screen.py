"""What a stranger is told by `bmwg verify` on one screen: what was proven, by whom, and why no more."""

from __future__ import annotations

from pathlib import Path

import parties
import pytest
from parties import WITHIN, World

from bmwg.cli.main import main
from bmwg.reports.submissions.countersign import countersigned
from bmwg.reports.submissions.standing import PROVES, Level

SCREEN = 24  # lines
DOCUMENT = Path(__file__).parents[3] / "docs" / "submitting.md"


def screen(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the first screen of what the command says."""
    assert main(["verify", *words]) == status
    return capsys.readouterr().out.splitlines()[:SCREEN]


def test_one_screen_says_what_was_proven_and_by_whom(fresh: World, capsys) -> None:
    bundle = fresh.bundle(fresh.run("seen", fresh.challenge()))
    seen = bundle.with_name("seen.tar")
    countersigned(bundle, seen, parties.load_private(fresh.key("witness")))
    told = screen([str(seen), "--trust", str(fresh.trust), "--at", WITHIN], 0, capsys)
    assert f"level: witnessed: {PROVES[Level.WITNESSED]}" in told
    assert "not reproduced: no run of another party stands beside it" in told
    assert f"body: {parties.BODY}" in told
    for beginning in (
        "challenge: within: ",
        f"signed by: {parties.VENDOR} (vendor), key ",
        f"signed by: {parties.WITNESS} (witness), key ",
        "submission says: organization ",
        "measured: 2026-01-31",
        "nobody can show by a bundle alone that the trials took place",
    ):
        assert any(line.startswith(beginning) for line in told), beginning


def test_a_bundle_without_any_of_it_is_self_declared(fresh: World, capsys) -> None:
    bundle = str(fresh.bundle(fresh.run("plain", None)))
    told = screen([bundle], 6, capsys)
    assert f"level: self-declared: {PROVES[Level.SELF_DECLARED]}" in told
    assert "not challenged: challenge none: the run took none" in told
    assert "challenge: none: the run took none" in told
    assert screen([bundle, "--key", str(fresh.public("vendor"))], 0, capsys)
    screen([bundle, "--key", str(fresh.public("vendor")), "--require", "challenged"], 7, capsys)


def test_the_document_tells_of_each_level() -> None:
    rows = [line.split("|")[1].strip() for line in DOCUMENT.read_text("utf-8").splitlines() if "|" in line]
    assert [name for name in rows if name in list(Level)] == [level.value for level in Level]
