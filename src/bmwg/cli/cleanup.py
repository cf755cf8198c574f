"""`bmwg cleanup [RUN | --all]`: undo what a run left on the machine, after its ledger and nothing else."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder
from bmwg.drivers.undo.ledger import cleanup, cleanup_all
from bmwg.methodology.errors import ConfigError


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("cleanup", help="undo what a run left behind", description=__doc__)
    parser.add_argument("run", nargs="?", type=run_folder, help="the run's folder, or its id")
    parser.add_argument("--all", action="store_true", help="every run that the index on this machine knows")
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Undo each run's ledger; say what could not be undone and return 3 then."""
    if bool(chosen.run) == bool(chosen.all):
        raise ConfigError(
            "CLN-01", "bmwg cleanup", expected="a run's folder, or --all", found="both or neither"
        )
    done = cleanup_all() if chosen.all else {str(chosen.run): cleanup(chosen.run)}
    failures = sum(map(len, done.values()))
    if chosen.json:
        as_json.show("cleanup", {"runs": [{"folder": folder, "left": left} for folder, left in done.items()]})
        return 3 if failures else 0
    for folder, left in done.items():
        for failure in left:
            print(f"{folder}: {failure}", file=sys.stderr)
        print(f"{folder}: {'clean' if not left else f'{len(left)} left'}")
    return 3 if failures else 0
