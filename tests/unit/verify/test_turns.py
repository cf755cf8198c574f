"""A run that says its options took turns is held against its plan and against the order of its trials."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import liar
import pytest
import replayable

from bmwg.reports.verify.verify import verify_folder

SIZES = (64, 512)


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose options took turns by seed 3."""
    return made(tmp_path_factory.mktemp("turned"))


@pytest.fixture(scope="module")
def in_a_row(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that claims nothing: one option after the other."""
    return made(tmp_path_factory.mktemp("row"), order_seed=None)


def said(folder: Path) -> list[tuple[str, ...]]:
    """Return what VER-40 finds."""
    found = verify_folder(folder).findings
    return [(one.where, one.expected, one.found) for one in found if one.rule_id == "VER-40"]


def made(place: Path, *, order_seed: int | None = 3) -> Path:
    return replayable.make_run(
        place, simulated=False, paths=("wire", "pvp"), sizes=SIZES, order_seed=order_seed
    )


def rewritten(run: Path, to: Path, change: Any) -> Path:
    """Return a copy of a run with its trials changed, and its hashes made anew."""
    folder = Path(shutil.copytree(run, to / "changed"))
    files = liar.read(folder)
    change(files)
    replayable.forge(folder, files.run, files.trials)
    return folder


def test_a_run_whose_options_took_turns_is_accepted(turned: Path) -> None:
    assert said(turned) == []


def test_a_run_that_claims_nothing_may_have_any_order(in_a_row: Path) -> None:
    assert said(in_a_row) == []


def test_a_run_that_was_cut_off_within_a_cell_is_accepted(turned: Path, tmp_path: Path) -> None:
    def cut(files: liar.Files) -> None:
        begun = [trial["cell"] for trial in files.trials]
        middle = len(begun) // 2
        files.trials[:] = files.trials[:middle]
        kept = {trial["seq"] for trial in files.trials}
        files.run["outcomes"] = [
            one for one in files.run["outcomes"] if one["trials"] and set(one["trials"]) <= kept
        ]
        files.run |= {"status": "interrupted"}

    assert said(rewritten(turned, tmp_path, cut)) == []


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("lie", list(liar.TURNS))
def test_each_lie_is_told_by_this_rule(turned: Path, tmp_path: Path, lie: liar.Lie, seed: int) -> None:
    folder = Path(shutil.copytree(turned, tmp_path / "lie"))
    assert said(liar.told(folder, lie, seed))


def test_a_seed_put_on_a_run_that_measured_option_after_option_is_refused(
    in_a_row: Path, tmp_path: Path
) -> None:
    def claim(files: liar.Files) -> None:
        files.run["order_seed"] = 3

    assert said(rewritten(in_a_row, tmp_path, claim))


def test_a_cell_before_its_turn_is_named(turned: Path, tmp_path: Path) -> None:
    def last_first(files: liar.Files) -> None:
        files.trials.sort(key=lambda trial: (not trial["cell"].startswith("wire/"), trial["cell"] != last))

    last = json.loads((turned / "trials.jsonl").read_bytes().splitlines()[-1])["cell"]
    (found,) = said(rewritten(turned, tmp_path, last_first))
    assert found[0] == f"{last}: its first trial"
    assert found[2] == "before it"
