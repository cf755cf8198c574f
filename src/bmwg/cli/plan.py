"""`bmwg plan`: what a profile would measure on a testbed, in which order, and how long it takes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.cli import as_json, selection
from bmwg.methodology import suites
from bmwg.resources import rooms
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.run.challenged import planned_sha256
from bmwg.resources.run.narrowing import narrowed_tests
from bmwg.resources.run.progress import clock_text
from bmwg.resources.run.schedule import Schedule
from bmwg.resources.run.settings import Settings


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "plan", help="print the schedule of a run; nothing is started", description=__doc__
    )
    selection.add_arguments(parser)
    selection.add_narrowing(parser)
    parser.add_argument(
        "--testbed", type=Path, help="testbed file (default: BMWG_TESTBED, then the embedded one)"
    )
    parser.add_argument("--profile", help="compliance profile (default: BMWG_PROFILE, then quick)")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="propose what to cut so that the run fits this time"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="what the order is drawn from (default 1; a run has its own)",
    )
    parser.add_argument(
        "--hash",
        action="store_true",
        help="print only the hash of the plan, by which a body challenges a run",
    )
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print each cell with its estimated traffic, then the totals and the finish time."""
    named = chosen.suites or chosen.test or chosen.tag
    tests = suites.DEFAULT_TESTS
    if named:
        tests = selection.selected(selection.suites_of(chosen), selection.included(chosen))
    told = Settings.from_environment({**os.environ, **selection.narrowing(chosen)})  # as a run takes them
    if told.narrowing:
        asked = {"testbed": chosen.testbed, "profile": chosen.profile}
        told = replace(told, **{name: value for name, value in asked.items() if value})
        tests = narrowed_tests(told, tests)
    if chosen.hash:
        named = {"testbed": chosen.testbed, "profile": chosen.profile}
        told = replace(told, **{name: value for name, value in named.items() if value})
        print(planned_sha256(told, tests))
        return 0
    wanted = PlanAsked(
        testbed=chosen.testbed or told.testbed,
        profile=chosen.profile or told.profile,
        seed=chosen.seed,
        budget_s=chosen.budget,
        narrowing=told.narrowing,
    )
    for line in rooms.warnings():
        print(line, file=sys.stderr)
    schedules = [room.schedule(wanted, mine) for room, mine in rooms.asked(tests).values()]
    if chosen.json:
        testbed = str(wanted.testbed) if wanted.testbed else None
        head = {"testbed": testbed, "profile": wanted.profile, "seed": wanted.seed}
        as_json.show("plan", {**head, "kinds": [one.as_json() for one in schedules]})
        return 0
    for schedule in schedules:
        for line in schedule.lines:
            print(line)
    if len(schedules) > 1:
        print(_in_all(schedules))
    return 0


def _in_all(schedules: Sequence[Schedule]) -> str:
    """Sum up the kinds of load of a plan; name those whose time is known only when they are measured."""
    cells = sum(len(one.cells) for one in schedules)
    known_s = sum(one.whole_s for one in schedules if one.whole_s is not None)
    said = f"in all: {cells} cells, about {clock_text(known_s)}"
    if open_ := [schedule.kind for schedule in schedules if schedule.whole_s is None]:
        said += f", and what {', '.join(open_)} take, which is measured and not known before"
    return said
