"""`bmwg plan`: what a profile would measure on a testbed, in which order, and how long it takes."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.cli import selection
from bmwg.methodology import suites
from bmwg.resources import rooms
from bmwg.resources.challenged import planned_sha256
from bmwg.resources.narrowing import narrowed_tests
from bmwg.resources.rooms import PlanAsked
from bmwg.resources.settings import Settings


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
    for room, mine in rooms.asked(tests).values():
        for line in room.plan_lines(wanted, mine):
            print(line)
    return 0
