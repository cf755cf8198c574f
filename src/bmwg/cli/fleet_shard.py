"""`bmwg fleet shard`: one shard on one testbed, as a whole run, begun or taken up again."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bmwg.cli import exits, selection
from bmwg.cli.fleet_run import why_not
from bmwg.cli.resume import go_on
from bmwg.cli.run import all_suites, run_suites
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ToolkitError
from bmwg.reports.fleet.attempts import COMPLETE, Attempt, attempts_in
from bmwg.reports.fleet.plan import Fleet, Shard, read_fleet
from bmwg.reports.store.read import RUN_FILE, load_document
from bmwg.resources.fleet.bound import variables
from bmwg.resources.fleet.leases import Leasing, leased
from bmwg.resources.fleet.state import STUCK, FleetState
from bmwg.resources.run import preflight
from bmwg.resources.run.settings import Settings

_OF_A_RUN = ("BMWG_RUN", "BMWG_RUN_ID", "BMWG_CHALLENGE", "BMWG_NETWORKS", "BMWG_PATHS", "BMWG_FRAME_SIZES")
_TAKEN = ("LOCK-01", "LEASE-01")


def handle(chosen: argparse.Namespace) -> int:
    """Work the shard off; the status says what whoever hands shards out may do."""
    try:
        number = chosen.shard if chosen.index is None else chosen.index + 1
        leasing = Leasing(namespace=chosen.lease, duration_s=chosen.lease_duration)
        return work_off(chosen.plan, number, chosen.testbed, chosen.results, leasing)
    except ToolkitError as error:
        print(error, file=sys.stderr)
        return exits.SHARD_TAKEN if error.error_id in _TAKEN else exits.of_shard(error)


def work_off(file: Path, number: int, testbeds: Sequence[Path], results: Path, leasing: Leasing) -> int:
    """Answer a shard on the testbed that began it, else on the first of these that is free and fits.

    Raises what reading plan and testbeds raises, TestbedError LOCK-01 or LEASE-01 where another works on the
    shard or on all of them, and what a run refuses before it starts.
    """
    fleet = read_fleet(file)
    fleet.shard(number)
    state = FleetState(results, fleet)
    state.make()
    found, stuck = attempts_in(results, fleet), state.stuck()
    if done := found.complete(number):
        print(f"shard {number} is complete: run {done[0].run_id}")
        return exits.SHARD_COMPLETE
    begun = {
        attempt.testbed for attempt in found.of(number) if not attempt.wrong and attempt.run_id not in stuck
    }
    named = [(bed, load_testbed(bed).name) for bed in testbeds]
    able = [one for one in named if one[1] in begun] or named
    if len(able) > 1:
        fitting = [one for one in able if not why_not(fleet, file, fleet.shard(number), one[0])]
        able = fitting or able
    *others, last = able
    for bed, name in others:
        try:
            return _answered(fleet, file, number, bed, name, results, leasing)
        except ToolkitError as error:
            if error.error_id not in _TAKEN:
                raise
    return _answered(fleet, file, number, *last, results, leasing)


def _answered(
    fleet: Fleet, file: Path, number: int, testbed: Path, name: str, results: Path, leasing: Leasing
) -> int:
    """Answer a shard by its own run: the one that was begun on this testbed, else another attempt."""
    shard, state = fleet.shard(number), FleetState(results, fleet)
    with state.working(number, name), _having(name, leasing, state, number):
        found = attempts_in(results, fleet)
        if done := found.complete(number):
            print(f"shard {number} is complete: run {done[0].run_id}")
            return exits.SHARD_COMPLETE
        suites = _suites(fleet, shard)
        mine = [one for one in found.of(number) if not one.wrong and one.testbed == name]
        if mine and mine[-1].run_id not in state.stuck() and _went_on(mine[-1], state, suites):
            return _status(mine[-1].place)
        run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{fleet.sha256[:6]}-s{number}-{secrets.token_hex(3)}"
        attempt = 1 + max((one.attempt for one in found.of(number)), default=0)
        for variable in _OF_A_RUN:
            os.environ.pop(variable, None)
        os.environ.update(variables(fleet, file.resolve(), number, attempt, testbed))
        os.environ.update({"BMWG_RESULTS": str(results), "BMWG_RUN_ID": run_id})
        tags = [f"id:{test_id}" for test_id in sorted(shard.selected)]
        selection.selected(suites, tags)
        preflight.check(Settings.from_environment(), shard.selected)
        state.note("begun", shard=number, run=run_id, testbed=name)
        run_suites(suites, results, results / "robot" / run_id, tags, results / run_id)
        return _status(results / run_id)


@contextmanager
def _having(testbed: str, leasing: Leasing, state: FleetState, number: int) -> Iterator[None]:
    """Have the testbed's lease while the block runs; say whose it was, and whether it was lost."""
    with leased(testbed, leasing) as lease:
        if lease is not None:
            why = f"transition {lease.transitions}"
            if lease.taken_over:
                why += f"; {lease.taken_over} had it and did not renew it: dead, frozen or cut off"
            state.note("lease", shard=number, testbed=testbed, why=why)
            print(f"lease {lease.name}: {why}")
        yield
        if lease is not None:
            lease.require()


def _suites(fleet: Fleet, shard: Shard) -> list[Path]:
    """Return the files of the shard's tests, of the shipped suites and of those of the plan that are none.

    Robot reads every file that it is given, and what selects tests does so once more.
    """
    shipped = all_suites()
    others = (selection.found(name) for name in fleet.suites)
    every = [
        *shipped,
        *(other for other in others if not other.resolve().is_relative_to(shipped[0].resolve())),
    ]
    files = [
        one for suite in every for one in (sorted(suite.rglob("*.robot")) if suite.is_dir() else [suite])
    ]
    wanted = {f"id:{test_id}" for test_id in shard.selected}
    holding = [file for file in files if wanted & set(file.read_text("utf-8").split())]
    return holding or every


def _went_on(attempt: Attempt, state: FleetState, suites: list[Path]) -> bool:
    """Go on with a run; whether that brought anything. One that cannot go on is never tried again."""
    before = _progress(attempt.place)
    state.note("resumed", shard=attempt.shard, run=attempt.run_id, testbed=attempt.testbed)
    why = "nothing was measured when it was to go on"
    for variable in _OF_A_RUN:
        os.environ.pop(variable, None)
    try:
        go_on(attempt.place.resolve(), suites)
    except ToolkitError as error:
        why = f"{error.error_id} {error.found}"
        print(error, file=sys.stderr)
    if _progress(attempt.place) != before:
        return True
    state.note(STUCK, shard=attempt.shard, run=attempt.run_id, testbed=attempt.testbed, why=why)
    print(f"run {attempt.run_id} cannot go on ({why}); the shard begins another attempt")
    return False


def _progress(folder: Path) -> tuple[str, int, int]:
    document = load_document(folder / RUN_FILE, "run")
    return (
        document["status"] if document["status"] == COMPLETE else "",
        len(document["outcomes"]),
        document["journal"]["trials"],
    )


def _status(folder: Path) -> int:
    """Return the shard's status by what its run says of itself."""
    try:
        ended = load_document(folder / RUN_FILE, "run")["status"] == COMPLETE
    except ToolkitError as error:
        print(error, file=sys.stderr)
        ended = False
    return exits.SHARD_COMPLETE if ended else exits.SHARD_OPEN
