"""`bmwg report RUN`: render the report anew from the run's own files."""

from __future__ import annotations

import argparse
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder
from bmwg.reports.exported import as_data
from bmwg.reports.opened import open_run
from bmwg.reports.render.page.report import FILES, write_form


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("report", help="render a run's report anew", description=__doc__)
    parser.add_argument("run", type=run_folder, help="the run's folder, or its id")
    parser.add_argument(
        "--format",
        choices=sorted(FILES),
        default="html",
        help="html (default, with report.rst and the plots), rst, text for mail, md, rfcxml",
    )
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write the report in the form asked for into the run's folder and print where; or print its answers."""
    if chosen.json:
        as_json.show("answers", as_data(open_run(chosen.run)))
        return 0
    print(write_form(chosen.run, chosen.format))
    return 0
