"""An option that a command would not read is refused by name: whoever gave it believes that it counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bmwg.cli.main import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("verify . --key k.pub", "VER-38  verify --key"),
        ("verify . --trust t", "VER-38  verify --trust"),
        ("verify . --at 2026-01-01T00:00:00Z", "VER-38  verify --at"),
        ("verify . --reproduction b.bmwg.tar", "VER-38  verify --reproduction"),
        ("verify . --report r.html", "bmwg report"),
        ("compare --reproduce a b --waive x", "CMP-07  --waive"),
        ("compare --reproduce a b --unverified", "CMP-07  --unverified"),
        ("compare --reproduce a b --output o", "CMP-07  --output"),
        ("compare --published a --under-test x", "CMP-07  --under-test"),
        ("compare --published a --network x", "CMP-07  --network"),
        ("registry check . --bundle b.bmwg.tar", "REG-09  --bundle"),
        ("registry add . --log l.jsonl --readme r --bundle b", "REG-09  --readme"),
        ("trend a --newest 0", "CMP-05  --newest"),
    ],
)
def test_an_option_that_would_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bundle nowhere", "BND-01  nowhere: no run"),
        ("fleet status nowhere .", "bmwg fleet plan --output"),
        ("compare nowhere elsewhere", "nothing of that name"),
    ],
)
def test_what_is_not_there_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err
