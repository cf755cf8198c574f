"""`bmwg export RUN`: the answers of a run as CSV, JUnit or JSON, for other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder
from bmwg.methodology.errors import ConfigError
from bmwg.reports.exported import as_csv, as_data, as_junit
from bmwg.reports.opened import OpenedRun, open_run

_FORMS: dict[str, tuple[str, Callable[[OpenedRun], str]]] = {
    "csv": ("a row an answer", as_csv),
    "junit": ("a test case an answer, for what shows test results", as_junit),
    "json": (
        "the document `answers` of docs/json.md",
        lambda run: as_json.text("answers", as_data(run)) + "\n",
    ),
}
_PRINTED = "-"


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("export", help="write a run's answers for other programs", description=__doc__)
    parser.add_argument("run", type=run_folder, help="the run's folder, or its id")
    for form, (what, _) in _FORMS.items():
        told = f"{what}; a new file, or - to print it"
        parser.add_argument(f"--{form}", metavar="FILE", help=told)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write each form that was named; an existing file is refused. Raises ConfigError EXP-01, EXP-02."""
    named = {form: value for form, value in vars(chosen).items() if form in _FORMS and value}
    if not named:
        expected = " or ".join(f"--{form} FILE" for form in _FORMS)
        raise ConfigError("EXP-01", "bmwg export; nothing was written", expected=expected, found="none")
    for form, value in named.items():
        if value != _PRINTED and Path(value).exists():
            raise ConfigError(
                "EXP-02", f"--{form} {value}", expected="a new file", found="one", hint="choose another name"
            )
    run = open_run(chosen.run)
    for form, value in named.items():
        text = _FORMS[form][1](run)
        if value == _PRINTED:
            sys.stdout.write(text)
            continue
        try:
            with Path(value).open("x", encoding="utf-8", newline="") as stream:
                stream.write(text)
        except OSError as error:
            raise ConfigError(
                "EXP-02",
                f"--{form} {value}",
                expected="a file that can be written",
                found=str(error.strerror),
            ) from error
        print(value)
    return 0
