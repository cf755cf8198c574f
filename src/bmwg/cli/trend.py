"""`bmwg trend RUNS...`: many runs by time; where a level jumped, by how much, and what changed there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bmwg.cli import as_json, exits
from bmwg.cli.runs import run_folder
from bmwg.methodology.errors import ConfigError, ToolkitError, TrialInvalid
from bmwg.reports.compare.page import NOT_VERIFIED
from bmwg.reports.compare.trend import NEWEST, Told, Trend, told, trends
from bmwg.reports.compare.trend_page import plots_of, trends_page, verdict
from bmwg.reports.fleet.kept import verified
from bmwg.reports.render.blocks import Block, Figure, banner
from bmwg.reports.render.page.report import form_of
from bmwg.reports.store import read_run
from bmwg.reports.store.files import not_written
from bmwg.reports.store.folder import run_folders_in

_FORMS = ("text", "html", "md", "rst", "rfcxml", "json")


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("trend", help="many runs by time: where a level jumped", description=__doc__)
    parser.add_argument(
        "runs",
        nargs="+",
        type=run_folder,
        metavar="RUNS",
        help="folders of run folders, or runs by folder or id; two runs at least",
    )
    parser.add_argument(
        "--newest",
        type=int,
        default=NEWEST,
        metavar="N",
        help=f"hold the last level against the one before so many of the newest runs (default {NEWEST})",
    )
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="take what the files say without computing it anew; nobody should believe the result",
    )
    parser.add_argument(
        "--format", choices=_FORMS, default="text", help="html alone has plots (default: text)"
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")
    parser.add_argument("--output", type=Path, help="write here instead of printing; it is written anew")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print or write the trends; 1 when a series became worse by more than its width.

    A run that cannot be read or does not verify is left out and named; the status is 4 then, since nobody
    knows whether that run is worse. Nor does anybody where the newest run that was asked for a series gave no
    plain number, or none ever did: the status is 6. Raises what `trends` raises.
    """
    if chosen.newest < 1:
        raise ConfigError("CMP-05", "--newest", expected="1 run or more", found=str(chosen.newest))
    left_out: list[ToolkitError] = []
    runs = _runs(run_folders_in(chosen.runs), left_out, unverified=chosen.unverified)
    for error in left_out:
        print(f"left out: {error}", file=sys.stderr)
    made = trends(runs)
    before = banner("interrupted", NOT_VERIFIED) if chosen.unverified else []
    if left_out:
        before += banner("interrupted", f"Runs left out, since they do not verify: {len(left_out)}.")
    text = _in_form(made, before, len(left_out), chosen)
    if chosen.output:
        try:
            chosen.output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise not_written(chosen.output, error) from error
        print(verdict(made, chosen.newest))
        print(chosen.output)
    else:
        print(text, end="")
    series = [one for trend in made for one in trend.series]
    if any(one.worsened(chosen.newest) for one in series):
        return exits.FAILED
    if left_out:
        return TrialInvalid.exit_code
    return exits.UNTOLD if not series or any(one.silent for one in series) else 0


def _runs(folders: Sequence[Path], left_out: list[ToolkitError], *, unverified: bool) -> list[Told]:
    """Return what a trend takes of the runs, one after the other."""
    runs = []
    for folder in folders:
        try:
            if not unverified and (found := verified(folder, ()).findings):
                raise ConfigError(
                    "CMP-08",
                    f"{folder}: the run does not verify",
                    expected="figures that follow from the recorded trials",
                    found=f"{len(found)} findings: {found[0].rule_id} {found[0].where}",
                    hint=f"see all of them by `bmwg verify {folder}`",
                )
            runs.append(told(read_run(folder)))
        except ToolkitError as error:
            left_out.append(error)
    return runs


def _in_form(made: Sequence[Trend], before: list[Block], left_out: int, chosen: argparse.Namespace) -> str:
    if chosen.format == "json":
        return _json(made, left_out, chosen.newest)
    page = trends_page(made, chosen.newest)
    page[1:1] = before  # below the title
    if chosen.format == "html":
        return form_of(page, "html", "trend", plots_of(made))
    return form_of([one for one in page if not isinstance(one, Figure)], chosen.format, "trend")


def _json(made: Sequence[Trend], left_out: int, newest: int) -> str:
    data = {
        "newest": newest,
        **({"left_out": left_out} if left_out else {}),
        "trends": [
            {
                "testbeds": list(trend.testbeds),
                "profile": trend.profile,
                "simulated": trend.simulated,
                "runs": [run.run_id for run in trend.runs],
                "series": [
                    {
                        "metric": series.metric,
                        "unit": series.unit,
                        "cell": series.cell.cell_id,
                        "points": [asdict(point) for point in series.points],
                        "gaps": series.gaps,
                        "silent": series.silent,
                        "levels": list(series.levels),
                        "changes": [asdict(change) | {"ratio": change.ratio} for change in series.changes],
                        "judged": not series.not_judged(newest),
                        "worse": series.worsened(newest),
                    }
                    for series in trend.series
                ],
            }
            for trend in made
        ],
    }
    return as_json.text("trend", data) + "\n"
