"""`bmwg fleet run|shard`: each shard is answered once, whatever is killed; what does not fit is named."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet import made
from tests.waiting import eventually

from bmwg.cli import exits
from bmwg.drivers.undo.ledger import FILE_NAME, cleanup
from bmwg.methodology.errors import TestbedError
from bmwg.reports.fleet.attempts import attempts_in
from bmwg.reports.fleet.plan import read_fleet
from bmwg.resources.fleet.state import FleetState

KILLS = int(os.environ.get("FLEET_KILLS", "4"))  # FLEET_KILLS=100 for the long form
SHORTEST_S, LONGEST_S = 0.5, 4.0  # between two kills


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A fleet of three shards that two testbeds worked off: folder, plan and results."""
    at = tmp_path_factory.mktemp("fleet")
    first, second = made.testbed(at, "first"), made.testbed(at, "second")
    plan = made.plan(at, first)
    said = made.bmwg(
        *("fleet", "run", plan, "--testbed", first, "--testbed", second, "--results", at / "res"), at=at
    )
    assert "3 of 3 shards are complete" in said
    return at, plan, at / "res"


def test_a_fleet_answers_each_cell_once_and_its_runs_name_it(whole) -> None:
    _, plan, results = whole
    fleet = read_fleet(plan)
    made.require_once(plan, results)
    for told in made.runs(results):
        assert told["fleet"] == fleet.mark(told["fleet"]["shard"], 1)
        assert told["order_seed"] == fleet.order_seed
    assert {told["testbed"]["name"] for told in made.runs(results)} == {"first", "second"}


def test_a_complete_fleet_has_nothing_to_do(whole) -> None:
    at, plan, results = whole
    before = made.runs(results)
    said = made.bmwg("fleet", "run", plan, "--testbed", at / "first.yaml", "--results", results, at=at)
    assert "3 of 3 shards are complete" in said
    said = made.bmwg("fleet", "shard", plan, 1, "--testbed", at / "first.yaml", "--results", results, at=at)
    assert "shard 1 is complete" in said
    assert made.runs(results) == before


@pytest.fixture
def other(whole, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The plan in a folder of its own, without results; runs that were killed there leave nothing."""
    at, plan, _ = whole
    for file in (plan, at / "profile.yaml", at / "first.yaml", at / "second.yaml"):
        shutil.copy(file, tmp_path)
    yield tmp_path, tmp_path / plan.name
    for ledger in tmp_path.rglob(FILE_NAME):
        assert eventually(partial(undone, ledger.parent), 20)


def undone(folder: Path) -> bool:
    with suppress(TestbedError):  # its process may not have gone yet
        return cleanup(folder) == []
    return False


def shard(at: Path, plan: Path, bed: Path, status: int, number: int = 1) -> str:
    words = ("fleet", "shard", plan, number, "--testbed", bed, "--results", at / "res")
    return made.bmwg(*words, at=at, status=status)


def test_what_would_be_another_run_is_refused_for_good(other) -> None:
    at, plan = other
    refused = exits.SHARD_REFUSED
    assert "FLEET-02" in shard(at, plan, at / "first.yaml", refused, number=9)
    assert "CFG-01" in shard(at, plan, at / "absent.yaml", refused)
    told = json.loads(plan.read_text("ascii"))
    plan.write_text(json.dumps({**told, "order_seed": 5}))
    assert "FLEET-01" in shard(at, plan, at / "first.yaml", refused)
    assert made.runs(at / "res") == []


def test_a_testbed_of_another_kind_gets_no_shard_and_the_others_go_on(other) -> None:
    at, plan = other
    real = at / "real.yaml"
    text = (made.ROOT / "testbeds" / "embedded.yaml").read_text("utf-8")
    real.write_text(text.replace("name: embedded", "name: real"), encoding="utf-8")
    said = made.bmwg(
        *("fleet", "run", plan, "--testbed", real, "--testbed", at / "first.yaml", "--results", at / "res"),
        at=at,
    )
    assert "is not for real: " in said  # FLEET-05, or what this machine lacks for it
    assert "3 of 3 shards are complete" in said
    assert {told["testbed"]["name"] for told in made.runs(at / "res")} == {"first"}


def test_without_a_testbed_that_fits_each_shard_is_named(other) -> None:
    at, plan = other
    fast = made.testbed(at, "fast")
    fast.write_text(
        fast.read_text("utf-8") + "medium: {kind: ethernet, line_rate_bps: 10000000000}\n", "utf-8"
    )
    said = made.bmwg(
        *("fleet", "run", plan, "--testbed", fast, "--results", at / "res"), at=at, status=exits.FAILED
    )
    assert "0 of 3 shards are complete" in said
    assert "shard 3 is open: not for fast: FLEET-05" in said


def test_two_testbeds_of_one_name_are_refused(other) -> None:
    at, plan = other
    words = ("fleet", "run", plan, "--testbed", at / "first.yaml", "--testbed", at / "first.yaml")
    assert "FLEET-06" in made.bmwg(*words, "--results", at / "res", at=at, status=2)


def test_a_shard_or_a_testbed_that_somebody_works_on_is_taken(other) -> None:
    at, plan = other
    state = FleetState(at / "res", read_fleet(plan))
    state.make()
    with state.working(1, "first"):
        assert "LOCK-01" in shard(at, plan, at / "second.yaml", exits.SHARD_TAKEN)
        assert "LOCK-01" in shard(at, plan, at / "first.yaml", exits.SHARD_TAKEN, number=2)
    assert made.runs(at / "res") == []


def test_a_shard_that_died_goes_on_as_the_same_run(other) -> None:
    at, plan = other
    words = ("fleet", "shard", plan, 1, "--testbed", at / "first.yaml", "--results", at / "res")
    program = subprocess.Popen(
        made.command(*words), cwd=at, env=made.environment(), stdout=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: any(one.stat().st_size for one in (at / "res").glob("*/trials.jsonl")))
    finally:
        program.kill()
        program.wait()
    (cut_off,) = made.runs(at / "res")
    shard(at, plan, at / "first.yaml", exits.SHARD_COMPLETE)
    told = made.runs(at / "res")
    assert told[0]["run_id"] == cut_off["run_id"]
    if len(told) == 1:  # another program of the machine can make it another platform; then it begins anew
        assert len(told[0]["interruptions"]) == 1
    assert [one["status"] for one in told][-1] == "complete"


def test_a_shard_that_cannot_go_on_begins_another_attempt(other) -> None:
    at, plan = other
    words = ("fleet", "shard", plan, 1, "--testbed", at / "first.yaml", "--results", at / "res")
    program = subprocess.Popen(
        made.command(*words), cwd=at, env=made.environment(), stdout=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: any(one.stat().st_size for one in (at / "res").glob("*/trials.jsonl")))
    finally:
        program.kill()
        program.wait()
    (journal,) = (at / "res").glob("*/trials.jsonl")
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    shard(at, plan, at / "first.yaml", exits.SHARD_COMPLETE)
    first, second = made.runs(at / "res")
    assert (first["fleet"]["attempt"], first["status"]) == (1, "running")
    assert (second["fleet"]["attempt"], second["status"]) == (2, "complete")
    (events,) = (at / "res").glob("fleet-*/events.jsonl")
    told = [json.loads(line) for line in events.read_text("ascii").splitlines()]
    assert [one["event"] for one in told] == ["begun", "resumed", "stuck", "begun"]


def test_a_shard_without_an_end_is_ended_by_its_deadline_and_named(other) -> None:
    at, plan = other
    said = made.bmwg(
        *("fleet", "run", plan, "--testbed", at / "first.yaml", "--results", at / "res"),
        *("--tries", 1, "--shard-deadline", 0.2),
        at=at,
        status=exits.FAILED,
    )
    assert "no end within its deadline; it is ended" in said
    assert "is open: not complete after 1 tries" in said


def wait_for(what: Any) -> None:
    assert eventually(what, 120), "nothing came within its deadline"


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_whatever_is_killed_no_cell_is_lost_and_none_is_counted_twice(other) -> None:
    at, plan = other
    luck = random.Random(7)
    results = at / "res"
    beds = [word for name in ("first", "second") for word in ("--testbed", at / f"{name}.yaml")]
    words = ("fleet", "run", plan, *beds, "--results", results, "--tries", 1000)

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            made.command(*words), cwd=at, env=made.environment(), stdout=subprocess.DEVNULL
        )

    program, killed, ends_s = begin(), 0, time.monotonic() + 60 + 30 * KILLS
    try:
        while killed < KILLS:
            assert time.monotonic() < ends_s
            time.sleep(luck.uniform(SHORTEST_S, LONGEST_S))
            if program.poll() is not None:  # complete before all kills: take away a run, and begin again
                shutil.rmtree(attempts_in(results, read_fleet(plan)).attempts[0].place)
                program = begin()
                continue
            at_work = made.workers(results)
            if luck.random() < 0.3 or not at_work:
                program.kill()
                program.wait()
                program = begin()
            else:
                kill(luck.choice(at_work))
            killed += 1
        assert program.wait(made.DEADLINE_S) == 0
    finally:
        program.kill()
        program.wait()
        for pid in made.workers(results):
            kill(pid)
    made.require_once(plan, results)
