"""VER-55: what a cell varies is what stood for its trials, as the deployment tells it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import liar
import pytest
import runs

from bmwg.methodology.cells import neighbours, vnics
from bmwg.methodology.kinds.streams.profile import PROFILES
from bmwg.methodology.records import FRAMES, Cell
from bmwg.reports.verify.frames_told import stood_as_varied
from bmwg.reports.verify.places import ran_where_asked
from bmwg.reports.verify.verify import verify_folder

MEMORY, SETTING = "pods.memory", "networks.bridge.options.names"
HIDDEN = "redacted-named-" + "0" * 32
LINE = {
    "path": "pvp",
    "hosting": "pod",
    "function": "kernel-l3",
    "networks": ["bridge"],
    "frame_octets": [64],
    "axes": {MEMORY: ["128MiB", "256MiB"]},
}


def swapped(files: liar.Files) -> None:
    """Have the trials of each of two cells answer for the other one."""
    first, second = sorted({one["cell"] for one in files.trials if MEMORY in one["cell"]})
    for trial in files.trials:
        trial["cell"] = {first: second, second: first}.get(trial["cell"], trial["cell"])


def untold(files: liar.Files) -> None:
    """Leave out what settings the deployments had."""
    for told in files.platform["deployments"].values():
        told.pop("settings", None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runs, "ROOT", [tmp_path_factory.mktemp("varied")])
        yield Path(runs.run(runs.TPUT, profile={"suites": {"rfc2544": {"paths": [LINE]}}})().files.where)


@pytest.mark.parametrize("lie", [swapped, untold], ids=lambda lie: lie.__name__)
def test_trials_of_one_setting_are_not_taken_for_those_of_another(
    made: Path, tmp_path: Path, lie: liar.Lie
) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    assert "VER-55" not in {one.rule_id for one in verify_folder(folder).findings}
    found = [one for one in verify_folder(liar.told(folder, lie)).findings if one.rule_id == "VER-55"]
    assert len(found) == 2
    assert all(MEMORY in one.where for one in found)


def shortfalls(cell: Cell, described: dict[str, Any]) -> list[str]:
    """Return what differs between a cell and the one deployment of its trials."""
    evidence = SimpleNamespace(
        run={"testbed": {}},
        platform={"deployments": {"one": described}},
        plan=[SimpleNamespace(cell=cell)],
        outcomes=(),
        loads=(),
        lines=[SimpleNamespace(cell_id=cell.cell_id, deployment_id="one")],
        trials=[SimpleNamespace(cell_id=cell.cell_id, deployment_id="one")] if cell.kind == FRAMES else [],
    )
    rules = (ran_where_asked, stood_as_varied)
    return [where for rule in rules for where, _, _ in rule.check(evidence)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "wrong"),
    [("cpu-on-dut", 0), ("memory-on-dut", 1), (HIDDEN, 0), (None, 1)],
)
def test_the_neighbour_of_frames_is_the_one_that_the_cell_names(told: str | None, wrong: int) -> None:
    cell = Cell(
        path="pvp",
        hosting="pod",
        function="kernel-l3",
        network="bridge",
        frame_octets=64,
        axes=((neighbours.AXIS, "cpu-on-dut"),),
    )
    assert len(shortfalls(cell, {"neighbour": {"name": told}} if told else {})) == wrong


@pytest.mark.parametrize(
    ("told", "wrong"), [(["a", "b"], 0), (["a", HIDDEN], 0), (HIDDEN, 0), (["a", "c"], 1)]
)
def test_a_setting_with_a_hidden_text_is_not_compared(told: object, wrong: int) -> None:
    cell = Cell(
        path="pvp",
        hosting="pod",
        function="kernel-l3",
        network="bridge",
        frame_octets=64,
        axes=((SETTING, '["a", "b"]'),),
    )
    assert len(shortfalls(cell, {"settings": {SETTING: told}})) == wrong


def test_pods_in_guests_were_reached_by_the_nic_that_the_cell_names() -> None:
    planned = next(one for one in PROFILES.load("vm-pods").plan() if vnics.AXIS in dict(one.cell.axes))
    asked = str(dict(planned.cell.axes)[vnics.AXIS])
    other = next(kind for kind in vnics.KINDS if kind != asked)
    assert shortfalls(planned.cell, {"machines": {"g0": {"vnic": {"kind": asked}}}}) == []
    (found,) = shortfalls(planned.cell, {"machines": {"g0": {"vnic": {"kind": other}}}})
    assert vnics.AXIS in found
