"""`bmwg fleet copy`: copies what is closed of a fleet's runs to a folder or an object store."""

from __future__ import annotations

import argparse
import sys

from bmwg.cli import exits
from bmwg.reports.fleet.plan import read_fleet
from bmwg.resources.fleet.copies import Store, copy_fleet


def handle(chosen: argparse.Namespace) -> int:
    """Print what was put there; 1 when something could not be copied."""
    made = copy_fleet(chosen.results, read_fleet(chosen.plan), Store(chosen.store))
    for name in made.put:
        print(name)
    for problem in made.problems:
        print(problem, file=sys.stderr)
    print(f"{len(made.put)} objects were copied, {len(made.problems)} runs could not be")
    return exits.FAILED if made.problems else 0
