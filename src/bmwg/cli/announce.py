"""`bmwg announce start|end|abort|list|same`: a log of all runs, also of those not handed in."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bmwg.cli.runs import run_folder
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.checker.findings import shown
from bmwg.reports.store.files import utc_text
from bmwg.reports.store.read import RUN_FILE, load_document
from bmwg.reports.submissions import announcements


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "announce", help="announce a run before anybody knows its result", description=__doc__
    )
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    for name in announcements.ACTS:
        act = acts.add_parser(name, help=f"announce the {name} of a run")
        act.add_argument("run", type=run_folder, help="the run's folder")
        act.add_argument("--log", type=Path, required=True, help="the log to add a line to")
        act.add_argument(
            "--key", type=Path, required=True, help="the private key that will sign the run's bundle"
        )
        act.add_argument("--said", default="", help="what is to be said of it, such as why it was given up")
        act.set_defaults(handler=_announce, act=name)
    told = acts.add_parser("list", help="say what was announced; signatures are not checked")
    told.add_argument("log", type=Path)
    told.set_defaults(handler=_list)
    same = acts.add_parser("same", help="hold two copies of a log against each other")
    same.add_argument("log", type=Path)
    same.add_argument("other", type=Path)
    same.set_defaults(handler=_same)


def _announce(chosen: argparse.Namespace) -> int:
    run = load_document(chosen.run / RUN_FILE, "run")
    now = utc_text(datetime.now(UTC))
    line = announcements.append(
        chosen.log, run, chosen.act, load_private(chosen.key), at=now, said=chosen.said
    )
    print(f"{chosen.log}: line {line.told['number']}, {line.sha256}: give the file to the body")
    return 0


def _list(chosen: argparse.Namespace) -> int:
    for run_id, one in announcements.runs(announcements.read_log(chosen.log)).items():
        print(f"{shown(run_id)}: {shown(one.words)}")
    return 0


def _same(chosen: argparse.Namespace) -> int:
    announcements.require_one_history(chosen.log, chosen.other)
    print("one history: the shorter copy is the beginning of the other")
    return 0
