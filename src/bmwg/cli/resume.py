"""`bmwg resume RUN`: go on with a run that was killed, interrupted, or ran out of disk."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bmwg.cli import as_json, selection
from bmwg.cli.run import all_suites, answered, run_suites
from bmwg.resources import rooms
from bmwg.resources.run.continuation import begun, find_run, require_whole
from bmwg.resources.run.settings import Settings


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("resume", help="go on with a run that was cut off", description=__doc__)
    parser.add_argument("run", help="the run's folder, or its name below the results folder")
    parser.add_argument("suites", nargs="*", type=Path, help="suites (default: all of testcases)")
    parser.add_argument("--testbed", type=Path, help="testbed file, for a run whose guests have a disk image")
    parser.add_argument("--results", type=Path, help="folder of the runs (default: ./results)")
    parser.add_argument("--verbose", action="store_true", help="a line for each trial, not each cell only")
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Run the tests of that run again; what is answered stays, finished trials are used."""
    results = chosen.results or Path(os.environ.get("BMWG_RESULTS") or "results")
    folder = find_run(chosen.run, results).resolve()
    if chosen.testbed:
        os.environ["BMWG_TESTBED"] = str(chosen.testbed)
    if chosen.verbose:
        os.environ["BMWG_VERBOSE"] = "1"
    return answered(chosen, folder, lambda: go_on(folder, chosen.suites or all_suites()))


def go_on(folder: Path, suites: Sequence[Path]) -> int:
    """Go on with the run in a folder; raises before any suite starts what `begun` and the shares raise."""
    run = begun(folder)
    tests = sorted({planned.test_id for planned in run.plan})
    for kind in run.kinds:
        rooms.room(kind).share(Settings.from_environment(), tests, run.of_load(kind))
    tags = [f"id:{test_id}" for test_id in tests]
    require_whole(run, selection.selected(suites, tags, each=False))
    os.environ["BMWG_RUN"] = str(folder)
    os.environ.pop("BMWG_RUN_ID", None)
    robot = folder.parent / "robot"
    number = len(run.interruptions) + 1
    while (output := robot / f"{run.run_id}-resumed-{number}").exists():
        number += 1
    return run_suites(suites, folder.parent, output, tags, folder)
