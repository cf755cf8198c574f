"""`bmwg fleet plan`: cuts a plan into shards and says what they hold."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.cli import selection
from bmwg.methodology import suites
from bmwg.reports.fleet.plan import text_of
from bmwg.reports.submissions.documents import write_new
from bmwg.resources.fleet.planned import fleet_document
from bmwg.resources.run.narrowing import narrowed_tests
from bmwg.resources.run.progress import clock_text
from bmwg.resources.run.settings import Settings

_FAR_LONGER = 1.5  # choice: than the average shard


def plan(chosen: argparse.Namespace) -> int:
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
        calibration=chosen.calibration,
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
    for shard in shards:
        beside = f", {shard['needed_cells']} more that they need" if shard["needed_cells"] else ""
        calibration = f", calibration {', '.join(shard['calibration'])}" if shard["calibration"] else ""
        said.append(
            f"shard {shard['number']}: about {clock_text(shard['estimate_s'])}, {shard['cells']} cells"
            f"{beside}{calibration}: {', '.join(shard['tests'])}"
        )
    longest, average_s = shards[0], sum(one["estimate_s"] for one in shards) / len(shards)
    if longest["estimate_s"] > _FAR_LONGER * average_s:
        said.append(
            f"shard {longest['number']} bounds the fleet, more testbeds do not help: tests are never parted;"
            f" leave {', '.join(longest['tests'])} out, or narrow the plan by --path or --frame-size"
        )
    if len(shards) > 1 and not any(one["calibration"] for one in shards):
        said.append("no calibration beside the tester's own qualification: --calibration always adds it")
    if document["toolkit"]["commit"] is None or document["toolkit"]["dirty"]:
        said.append("warning: the toolkit is of no known commit, or was changed: shards cannot tell it apart")
    return said
