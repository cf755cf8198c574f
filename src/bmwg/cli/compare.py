"""`bmwg compare A B [C...]`: hold runs against each other."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder, run_folders
from bmwg.methodology.errors import ConfigError
from bmwg.reports import rooms
from bmwg.reports.compare import Comparison, compare, comparison_page, read_side
from bmwg.reports.compare.fields import UNDER_TEST
from bmwg.reports.compare.options import by_option
from bmwg.reports.compare.page import NOT_VERIFIED, of_runs
from bmwg.reports.compare.screen import comparison_screen
from bmwg.reports.compare.sides import Side
from bmwg.reports.published.ratios import published_page
from bmwg.reports.render.blocks import banner
from bmwg.reports.render.page.report import form_of
from bmwg.reports.store.files import write_new
from bmwg.reports.verify.verify import verify_folder

_ANOTHER = {  # comparisons of another kind, and the options that each does not read
    "published": ("network", "waive", "under_test"),
    "reproduce": ("network", "waive", "under_test", "unverified", "output"),
}
FORMS = ("screen", "text", "md", "rst", "html", "rfcxml", "json")


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("compare", help="hold runs against each other, fairly", description=__doc__)
    parser.add_argument(
        "sides",
        nargs="+",
        metavar="SIDE",
        help="a run's folder or id, a folder of run folders (repeats), or several joined by commas",
    )
    parser.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="OPTION",
        help="hold this network option of one side's runs against others, named by the same option again",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="one run beside the figures of published documents, as ratios to native",
    )
    parser.add_argument(
        "--reproduce",
        action="store_true",
        help="two bundles of two parties: does the second measure what the first did, by their stated widths",
    )
    parser.add_argument(
        "--waive",
        action="append",
        default=[],
        metavar="FIELD",
        help="this confounding field, or all below it, cannot matter",
    )
    parser.add_argument(
        "--under-test",
        action="append",
        default=[],
        metavar="FIELD",
        help="this field, or all below it, is what is compared (beside " + ", ".join(UNDER_TEST) + ")",
    )
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="take what the files say without computing it anew; nobody should believe the result",
    )
    parser.add_argument(
        "--format",
        choices=FORMS,
        help="screen (default for two sides: numbers first, on one screen), text (all of it) or another form",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")
    parser.add_argument(
        "--output", type=Path, help="write here instead of printing; an existing file is refused"
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print or write the comparison; 1 when fields on the compared path confound that nobody waived."""
    if chosen.output and chosen.output.exists():
        raise ConfigError(
            "CMP-06", f"{chosen.output} exists", expected="a new file", hint="choose another name"
        )
    if len(chosen.sides) > len(ascii_uppercase):
        raise ConfigError("CMP-01", "compare", expected="at most 26 sides", found=str(len(chosen.sides)))
    form = chosen.format or ("text" if chosen.published else "screen")
    if form == "screen" and chosen.published:
        raise ConfigError(
            "CMP-07",
            "--format screen",
            expected="sides held against each other",
            found="--published",
        )
    if another := next((name for name in _ANOTHER if getattr(chosen, name)), ""):
        _refuse_unused(chosen, another)
    if chosen.reproduce:
        return _reproduce(chosen)
    named = zip(ascii_uppercase, chosen.sides, strict=False)
    sides = [read_side(name, run_folders(place)) for name, place in named]
    if not chosen.unverified:
        for side in sides:
            _refuse_unverified(side)
    told = banner("interrupted", NOT_VERIFIED) if chosen.unverified else []
    if chosen.published:
        if form == "json" or [len(side.runs) for side in sides] != [1]:
            found = f"{sum(len(side.runs) for side in sides)} runs, form {form}"
            raise ConfigError("CMP-07", "--published", expected="one run, and a form of text", found=found)
        own = rooms.published(sides[0].runs[0])
        text = form_of([*published_page(own), *told], form, "published")
        code = 0
    else:
        sides = list(by_option(sides, chosen.network)) if chosen.network else sides
        made = compare(sides, waive=chosen.waive, under_test=(*UNDER_TEST, *chosen.under_test))
        made = replace(made, unverified=chosen.unverified)
        text = _in_form(made, form)
        code = 1 if made.open_confounders else 0
    if chosen.output:
        write_new(chosen.output, text)
        print(chosen.output)
    else:
        print(text, end="")
    return code


def _refuse_unused(chosen: argparse.Namespace, another: str) -> None:
    """Raise ConfigError CMP-07 for an option that another comparison does not read."""
    for name in _ANOTHER[another]:
        if getattr(chosen, name):
            raise ConfigError(
                "CMP-07",
                f"--{name.replace('_', '-')}",
                expected="sides held against each other field by field",
                found=f"--{another}",
            )


def _reproduce(chosen: argparse.Namespace) -> int:
    """Print whether a second party's run reproduces a first one: 0 agrees, 1 differs, 6 cannot tell."""
    if len(chosen.sides) != 2 or chosen.published or chosen.format:
        raise ConfigError(
            "CMP-07",
            "--reproduce",
            expected="two bundles, or folders of runs, and no other form",
            found=" ".join(map(str, [*chosen.sides, chosen.format or ""])).strip(),
        )
    from bmwg.cli.reproduced import reproduced_lines  # cryptography takes long to load

    code, lines = reproduced_lines(*map(run_folder, chosen.sides))
    for line in lines:
        print(line)
    return code


def _in_form(made: Comparison, form: str) -> str:
    if form == "screen":
        return comparison_screen(made)
    return _json(made) if form == "json" else form_of(comparison_page(made), form, "compare")


def _refuse_unverified(side: Side) -> None:
    """Raise ConfigError CMP-08 for the first run of a side whose figures do not follow from its trials."""
    for run in side.runs:
        if found := verify_folder(run.folder).findings:
            raise ConfigError(
                "CMP-08",
                f"side {side.name}: {run.folder}: the run does not verify",
                expected="figures that follow from the recorded trials",
                found=f"{len(found)} findings: {found[0].rule_id} {found[0].where}",
                hint=f"see all of them by `bmwg verify {run.folder}`",
            )


def _json(made: Comparison) -> str:
    data = {
        **({"unverified": True} if made.unverified else {}),
        **{name: True for name, said in of_runs(made.sides).items() if said},
        "sides": {side.name: [run.run_id for run in side.runs] for side in made.sides},
        "under_test": [asdict(difference) for difference in made.under_test],
        "confounders": [asdict(confounder) for confounder in made.confounders],
        "passing": [asdict(one) for one in made.passing],
        "unknown": made.unknown,
        "order": made.order,
        "rows": [asdict(row) | {"cell": row.cell.cell_id} for row in made.rows],
    }
    return as_json.text("comparison", data) + "\n"
