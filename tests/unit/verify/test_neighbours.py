"""Neighbours as an axis: planned once for each, read back, verified, and held against the same cell alone."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from jobs_run import made_run
from repeated_run import forged

from bmwg.drivers.nodes import neighbour
from bmwg.methodology.cells import neighbours
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts.kind import ACTS
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import PROFILES
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.reports.store.codec import cell_from_json, cell_to_json
from bmwg.reports.verify.verify import verify_folder

PROFILE = PROFILES.load("neighbours")
SAID = """
---
system-info:
      stress-ng-version: 0.15.06
metrics:
    - stressor: cpu
      bogo-ops: 887
      wall-clock-time: 1.193941
...
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_run(tmp_path_factory.mktemp("beside"), PROFILE)


@pytest.mark.parametrize("kind", [ACTS, JOBS, STREAMS], ids=lambda one: one.name)
def test_every_kind_with_repetitions_plans_each_cell_beside_each_neighbour_and_reads_it_back(kind) -> None:
    bare = kind.profiles.load("quick")
    names = ["none", "cpu-on-pods"]
    both = replace(bare, data={**bare.data, "neighbours": names})
    assert kind.wrong_profile(both.data) == ""
    assert len(both.plan()) == 2 * len(bare.plan())
    assert [one.cell for one in both.plan()][::2] == [one.cell for one in bare.plan()]
    for one in both.plan()[1::2]:
        assert neighbours.of(one.cell) == "cpu-on-pods"
        assert one.cell.cell_id.endswith("/beside-cpu-on-pods")
        assert cell_from_json(cell_to_json(one.cell)) == one.cell
        assert neighbours.of(neighbours.alone(one.cell)) == "none"


@pytest.mark.parametrize("names", [[], ["cpu-on-pods"], ["none", "disco-on-pods"], ["none", "cpu-on-moon"]])
def test_a_list_without_its_baseline_or_with_a_neighbour_that_is_none_is_refused(names) -> None:
    assert JOBS.wrong_profile({**PROFILE.data, "neighbours": names})


def test_a_run_beside_neighbours_verifies(made) -> None:
    assert verify_folder(made).findings == ()


def test_the_report_holds_a_cell_beside_a_neighbour_against_itself_alone(made) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", " ", (made / "report.html").read_text()))
    assert "Beside neighbours" in text
    words = " ".join(text[text.index("Measured alone and beside a neighbour") :].split())
    row = words[words.index("host/pod/sysbench_cpu/1t/10000n cpu-on-pods") :][:350]
    assert re.search(r"0\.500 \(0\.\d+ to 0\.\d+\)", row), row  # what the victim loses
    assert "0.600 (0.600 to 0.600)" in row  # and what its neighbour does


def test_the_neighbours_own_work_is_read_or_named() -> None:
    assert neighbour.read(SAID, "cpu") == {"operations": 887, "elapsed_ns": 1_193_941_000}
    for text in (
        "",
        SAID.replace("bogo-ops: 887", ""),
        SAID.replace("887", "many"),
        SAID[: SAID.index("metr")],
    ):
        with pytest.raises(DriverError, match="NEIGH-02"):
            neighbour.read(text, "cpu")
    with pytest.raises(DriverError, match="NEIGH-02"):
        neighbour.read(SAID, "stream")
    assert neighbours.share(dict(zip(neighbours.COUNTS, (6, 2, 10, 2), strict=True))) == pytest.approx(0.6)
    assert neighbours.share({}) is None


def test_an_execution_without_its_neighbours_work_is_found(made, tmp_path) -> None:
    run = Path(shutil.copytree(made, tmp_path / "j"))

    def change(lines, document) -> None:
        next(line for line in lines if "/beside-" in line.get("cell", ""))["host"] = {}

    assert "VER-58" in forged(run, change)


def test_executions_that_ran_beside_another_neighbour_are_found(made, tmp_path) -> None:
    run = Path(shutil.copytree(made, tmp_path / "j"))
    other = {"memory-on-tester": "disk-on-tester", "disk-on-tester": "memory-on-tester"}

    def exchange(lines, document) -> None:
        for line in lines:
            cell, _, name = line.get("cell", "").partition("/beside-")
            if name in other:
                line["cell"] = f"{cell}/beside-{other[name]}"

    assert "VER-58" in forged(run, exchange)
