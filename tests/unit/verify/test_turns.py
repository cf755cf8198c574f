"""A run that says its options took turns is held against its plan and against the order of its trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import liar
import pytest
import replayable

from bmwg.reports.verify.verify import verify_folder

SIZES = (64, 512, 1518)


def said(folder: Path) -> list[tuple[str, ...]]:
    """Return what VER-40 finds."""
    found = verify_folder(folder).findings
    return [(one.where, one.expected, one.found) for one in found if one.rule_id == "VER-40"]


def made(place: Path, *, order_seed: int | None = 3) -> Path:
    return replayable.make_run(
        place, simulated=False, paths=("wire", "pvp"), sizes=SIZES, order_seed=order_seed
    )


def rewritten(folder: Path, change: Any) -> Path:
    """Change run and trials of a folder, and make its hashes anew."""
    files = liar.read(folder)
    change(files)
    replayable.forge(folder, files.run, files.trials)
    return folder


@pytest.mark.parametrize("seed", [0, 1, 3, 2544])
def test_a_run_whose_options_took_turns_is_accepted(tmp_path: Path, seed: int) -> None:
    assert said(made(tmp_path, order_seed=seed)) == []


def test_a_run_that_claims_nothing_may_have_any_order(tmp_path: Path) -> None:
    assert said(made(tmp_path, order_seed=None)) == []


def test_a_run_that_went_on_is_accepted(tmp_path: Path) -> None:
    """It was cut off within a cell, which then comes to its end after nothing else."""
    folder = made(tmp_path)

    def cut(files: liar.Files) -> None:
        begun = [trial["cell"] for trial in files.trials]
        middle = len(begun) // 2
        files.trials[:] = files.trials[:middle]
        kept = {trial["seq"] for trial in files.trials}
        files.run["outcomes"] = [
            one for one in files.run["outcomes"] if one["trials"] and set(one["trials"]) <= kept
        ]
        files.run |= {"status": "interrupted"}

    assert said(rewritten(folder, cut)) == []


@pytest.mark.parametrize("lie", list(liar.TURNS))
def test_each_lie_is_told_by_this_rule(tmp_path: Path, lie: liar.Lie) -> None:
    folder = made(tmp_path)
    for seed in range(5):
        found = said(liar.told(Path(made(tmp_path / f"{lie.__name__}{seed}")), lie, seed))
        assert found, seed
    assert said(folder) == []


def test_a_seed_put_on_a_run_that_measured_option_after_option_is_refused(tmp_path: Path) -> None:
    def claim(files: liar.Files) -> None:
        files.run["order_seed"] = 3

    assert said(rewritten(made(tmp_path, order_seed=None), claim))


def test_a_cell_before_its_turn_is_named(tmp_path: Path) -> None:
    folder = made(tmp_path)

    def last_first(files: liar.Files) -> None:
        last = files.trials[-1]["cell"]
        files.trials.sort(key=lambda trial: (not trial["cell"].startswith("wire/"), trial["cell"] != last))

    last = json.loads((folder / "trials.jsonl").read_bytes().splitlines()[-1])["cell"]
    (found,) = said(rewritten(folder, last_first))
    assert found[0] == f"{last}: its first trial"
    assert found[2] == "before it"
