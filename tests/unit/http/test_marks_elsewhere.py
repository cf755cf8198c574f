"""What may bound a figure stands beside it in trends and on pages of registries and of fleets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made as cells
from tests.unit.http.phases import modelled
from tests.unit.http.test_transactions_report import USED, planned

from bmwg.cli.main import main
from bmwg.methodology.kinds.requests import profile
from bmwg.reports import rooms
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.compare.trend import told, trends
from bmwg.reports.compare.trend_page import trends_page
from bmwg.reports.fleet.attempts import Attempt, Found
from bmwg.reports.fleet.kept import Verified
from bmwg.reports.fleet.plan import Fleet, Shard
from bmwg.reports.fleet.report import page_of
from bmwg.reports.fleet.union import Union
from bmwg.reports.registry import Entry, Examined
from bmwg.reports.registry.pages import entry_page
from bmwg.reports.registry.site import compare_page
from bmwg.reports.render.blocks import Banner, Grid, flat
from bmwg.reports.render.sections.guest import GUEST
from bmwg.reports.store import Run, RunStore, read_run
from bmwg.reports.submissions.reproduction import candidate

BOUND = "tester limited"
METRIC = "connection_rate.met"


def bounded(folder: Path, name: str, limit: int = 900, **changes: Any) -> Run:
    """Make a run in which a function carries `limit` connections/s, clients and origin alone 1,900."""
    of = planned("https_connections_per_second")
    alone = next(
        one
        for one in USED.plan()
        if (one.spec.experiment, one.spec.function) == (of.spec.experiment, profile.DIRECT)
    )
    with RunStore.create(folder, name, cells.header(USED, [of, alone], **changes)) as store:
        for one, carried in ((of, limit), (alone, 1900)):
            told = [
                cells.record(store, replace(one, spec=tried.spec), number, tried.result, "d-1")
                for number, tried in enumerate(modelled(one, carried), start=1)
            ]
            store.add_outcome(cells.REQUESTS.answered(one, told))
        store.close(None, "complete")
    return read_run(folder / name)


def rows(blocks: Any, head: str) -> list[list[str]]:
    """Return the rows of the table with this word in its head."""
    (found,) = [block for block in flat(blocks) if isinstance(block, Grid) and head in map(str, block.head)]
    return [[str(cell) for cell in row] for row in found.rows]


def test_a_trend_says_how_many_of_its_numbers_something_else_may_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [bounded(tmp_path, name, limit) for name, limit in (("a", 300), ("b", 900), ("c", 900))]
    (made,) = trends([told(run) for run in runs])
    of = {one.cell.function: one for one in made.series if one.metric == METRIC}
    assert [point.mark for point in of["nginx"].points] == ["", BOUND, BOUND]
    assert [point.mark for point in of[profile.DIRECT].points] == ["", "", ""]
    counted = [row[2] for row in rows(trends_page((made,)), "plain numbers")]
    assert sorted(counted) == ["3", f"3 (2 of 3 {BOUND})"]
    assert main(["trend", "--unverified", str(tmp_path), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["trends"]
    marks = [[point["mark"] for point in series["points"]] for series in one["series"]]
    assert sorted(marks) == [["", "", ""], ["", BOUND, BOUND]]


def test_a_jump_says_of_which_level_the_numbers_may_be_bound(tmp_path: Path) -> None:
    runs = [bounded(tmp_path, f"r{number:02d}", 300 if number < 8 else 900) for number in range(16)]
    (made,) = trends([told(run) for run in runs])
    ((_, medians, *_),) = rows(trends_page((made,)), "medians")
    before, after = medians.split(" to ")
    assert BOUND not in before
    assert after.endswith(f" (8 of 8 {BOUND})")


def test_the_page_of_a_submission_shows_it(tmp_path: Path) -> None:
    entries = []
    for name, limit in (("a", 300), ("b", 900)):
        evidence = read_evidence(FolderFiles(bounded(tmp_path, name, limit).folder))
        assert evidence.findings == ()
        seen = Examined(
            findings=(),
            trusted=True,
            product="proxy",
            answers=evidence.outcomes,
            marks=rooms.marks_in(evidence),
            candidate=candidate(evidence, frozenset()),
        )
        entries.append(
            Entry(folder=tmp_path, toolkit_version="1", organization="o", name=name, examined=seen)
        )
    own, bound = (entry_page(entry).decode("utf-8") for entry in entries)
    assert BOUND not in own
    assert f"{BOUND}: met " in bound
    two = rows(compare_page(*entries), "A")  # no interval is stated: no number
    assert {end for row in two for end in row[2:4]} == {"too few trials to state an interval"}


def test_of_a_profile_that_nobody_can_plan_by_nothing_is_marked(tmp_path: Path) -> None:
    evidence = read_evidence(FolderFiles(bounded(tmp_path, "a").folder))
    assert set(rooms.marks_in(evidence).values()) == {BOUND}
    assert rooms.marks_in(evidence) == rooms.marks(read_run(tmp_path / "a"))
    broken = {**(evidence.run or {}), "profile": {**(evidence.run or {})["profile"], "experiments": 3}}
    assert rooms.marks_in(replace(evidence, run=broken)) == {}
    assert rooms.marks_in(replace(evidence, run=None)) == {}


@pytest.mark.parametrize("guest", [False, True])
def test_the_page_of_a_fleet_shows_it(tmp_path: Path, guest: bool) -> None:
    run = bounded(tmp_path, "a", drivers=({"name": GUEST, "accelerator": "tcg"},) if guest else ())
    tests = tuple({outcome.outcome_id.partition(":")[0] for outcome in run.outcomes})
    shard = Shard(
        number=1, tests=tests, calibration=(), plan_sha256="", cells=2, needed_cells=2, estimate_s=1,
        needed_s=1, calibration_s=0, needs={},
    )  # fmt: skip
    fleet = Fleet(
        sha256="0" * 64, toolkit={}, order_seed=1, profile=USED.name, profile_sha256="", narrowing={},
        suites=(), plan_sha256="", cells=2, estimate_s=1, shards=(shard,), data={},
    )  # fmt: skip
    attempt = Attempt(
        place=run.folder, run_id="a", shard=1, attempt=1, status=run.status, testbed="t", answers=2,
        planned=2, wrong="",
    )  # fmt: skip
    union = Union(
        fleet=fleet, found=Found(attempts=(attempt,), others=()), counting={1: attempt}, problems=(), alone=()
    )
    verified = Verified(run_id="a", findings=(), questions=(), trials=0, state=(), grades=(), verdicts=())
    page = page_of(union, {1: verified})
    values = [row[4] for row in rows(page, "value")]
    assert sorted(value.startswith(BOUND) for value in values) == [False, True]
    assert all(("run in a guest under TCG: function, no rate" in value) is guest for value in values)
    assert any(isinstance(block, Banner) and "TCG" in block.text for block in page) is guest
