"""`bmwg fleet ACT`: one plan for several testbeds, in shards that are runs of their own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.cli import fleet_read, fleet_run, fleet_shard, selection
from bmwg.methodology import suites
from bmwg.reports.fleet.plan import text_of
from bmwg.reports.submissions.documents import write_new
from bmwg.resources.fleet.planned import Calibration, fleet_document
from bmwg.resources.narrowing import narrowed_tests
from bmwg.resources.progress import clock_text
from bmwg.resources.settings import Settings


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("fleet", help="share a plan out to several testbeds", description=__doc__)
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    plan = acts.add_parser("plan", help="cut a plan into shards; nothing is started")
    selection.add_arguments(plan)
    selection.add_narrowing(plan)
    plan.add_argument("--shards", type=int, required=True, help="at most so many runs; at least the testbeds")
    plan.add_argument(
        "--testbed", type=Path, help="a testbed like those of the fleet (default: the embedded)"
    )
    plan.add_argument("--profile", help="compliance profile (default: BMWG_PROFILE, then quick)")
    plan.add_argument("--seed", type=int, default=1, help="what the order is drawn from (default 1)")
    plan.add_argument(
        "--calibration",
        choices=[one.value for one in Calibration],
        default=Calibration.AUTO.value,
        help="measure the same cells in each shard: auto where they take at most a twentieth of its time",
    )
    plan.add_argument("--output", type=Path, help="file to write (default: print it)")
    plan.set_defaults(handler=_plan)
    fleet_run.add_act(acts)
    fleet_shard.add_act(acts)
    fleet_read.add_acts(acts)


def _plan(chosen: argparse.Namespace) -> int:
    """Write the plan; say on standard error what it holds."""
    tests = suites.DEFAULT_TESTS
    if chosen.suites or chosen.test or chosen.tag:
        tests = selection.selected(selection.suites_of(chosen), selection.included(chosen))
    told = Settings.from_environment(
        {**os.environ, "BMWG_ORDER_SEED": str(chosen.seed), **selection.narrowing(chosen)}
    )
    asked = {"testbed": chosen.testbed, "profile": chosen.profile}
    told = replace(told, **{name: value for name, value in asked.items() if value})
    if told.profile.endswith(".yaml"):
        told = replace(told, profile=str(Path(told.profile).resolve()))
    if told.narrowing:
        tests = narrowed_tests(told, tests)
    document = fleet_document(
        told,
        tests,
        [str(suite) for suite in chosen.suites or selection.DEFAULT_SUITES],
        shards=chosen.shards,
        calibration=Calibration(chosen.calibration),
    )
    if chosen.output:
        print(write_new(chosen.output, text_of(document).encode("ascii")))
    else:
        sys.stdout.write(text_of(document))
    for line in _lines(document):
        print(line, file=sys.stderr)
    return 0


def _lines(document: Mapping[str, Any]) -> list[str]:
    """Say in lines what a plan holds."""
    shards = document["shards"]
    said = [
        f"fleet {document['fleet_sha256'][:12]}: {document['cells']} cells in {len(shards)} shards; one run"
        f" takes about {clock_text(document['estimate_s'])}, the longest shard"
        f" {clock_text(max(one['estimate_s'] for one in shards))}"
    ]
    for one in shards:
        beside = f", {one['needed_cells']} more that they need" if one["needed_cells"] else ""
        calibration = f", calibration {', '.join(one['calibration'])}" if one["calibration"] else ""
        said.append(
            f"shard {one['number']}: about {clock_text(one['estimate_s'])}, {one['cells']} cells"
            f"{beside}{calibration}: {', '.join(one['tests'])}"
        )
    if len(shards) > 1 and not any(one["calibration"] for one in shards):
        said.append("no calibration beside the tester's own qualification: --calibration always adds it")
    if document["toolkit"]["commit"] is None or document["toolkit"]["dirty"]:
        said.append("warning: the toolkit is of no known commit, or was changed: shards cannot tell it apart")
    return said
