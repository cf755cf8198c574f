"""The shell completes every verb; without the package that writes the script, one line says so."""

import sys

import pytest

from bmwg.cli.main import MODULES, main, parser_of


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_knows_every_verb_and_its_options(capsys, shell):
    pytest.importorskip("shtab", reason="the extra `completion` is not installed")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    verbs = parser_of(MODULES)[1].choices
    assert len(verbs) > 15
    assert [verb for verb in verbs if verb not in script] == []
    assert "--frame-size" in script
    assert "--run-id" not in script


def test_without_its_package_one_line_says_what_is_missing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 3
    out, error = capsys.readouterr()
    assert out == ""
    assert "CMPL-01" in error
    assert "bmwg-toolkit[completion]" in error


def test_the_manual_page_has_every_verb(capsys):
    pytest.importorskip("argparse_manpage", reason="the extra `completion` is not installed")
    assert main(["completion", "man"]) == 0
    page = capsys.readouterr().out
    assert page.startswith((".TH", "'\\\""))
    verbs = parser_of(MODULES)[1].choices
    assert [verb for verb in verbs if verb not in page.replace("\\-", "-")] == []
