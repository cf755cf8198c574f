"""A verb that reads a run looks for unreachable objects seldom, and only while it runs."""

import gc
from pathlib import Path

import pytest

import bmwg.cli.plan
import bmwg.cli.verify
from bmwg.cli.main import main

RUN = next((Path(__file__).parents[2] / "data" / "runs").glob("*/run.json")).parent


@pytest.mark.parametrize(
    ("words", "module", "seldom"),
    [(["verify", str(RUN)], bmwg.cli.verify, True), (["plan"], bmwg.cli.plan, False)],
    ids=["verify", "plan"],
)
def test_only_verbs_that_read_a_run_and_end_collect_seldom(words, module, seldom, monkeypatch):
    before = gc.get_threshold()
    seen = []
    monkeypatch.setattr(module, "handle", lambda chosen: seen.append(gc.get_threshold()) or 0)
    assert main(words) == 0
    assert [one > before for one in seen] == [seldom]
    assert gc.get_threshold() == before


@pytest.mark.parametrize("words", [["verify", "--help"], ["verify"]])
def test_a_verb_that_leaves_early_leaves_collecting_as_it_was(words, capsys):
    before = gc.get_threshold()
    with pytest.raises(SystemExit):
        main(words)
    capsys.readouterr()
    assert gc.get_threshold() == before
