"""`bmwg export RUN`: the answers of a run as CSV, JUnit or JSON, or all of many runs as tables of Parquet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder
from bmwg.methodology.errors import ConfigError, TrialInvalid
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
    parser.add_argument(
        "runs",
        type=run_folder,
        nargs="+",
        metavar="RUN",
        help="the run's folder, or its id; with --parquet also several, or a folder of run folders",
    )
    for form, (what, _) in _FORMS.items():
        told = f"{what}; a new file, or - to print it"
        parser.add_argument(f"--{form}", metavar="FILE", help=told)
    parser.add_argument(
        "--parquet",
        type=Path,
        metavar="FOLDER",
        help="tables of all that verifies: runs, outcomes, trials, streams, buckets, facts; a new folder",
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write each form that was named; what exists is refused.

    With --parquet 4 when a run was left out. Raises ConfigError EXP-01, EXP-02.
    """
    named = {form: value for form, value in vars(chosen).items() if form in _FORMS and value}
    if not named and not chosen.parquet:
        expected = " or ".join((*(f"--{form} FILE" for form in _FORMS), "--parquet FOLDER"))
        raise ConfigError("EXP-01", "bmwg export; nothing was written", expected=expected, found="none")
    if named and len(chosen.runs) != 1:
        raise ConfigError(
            "EXP-01",
            f"--{next(iter(named))}; nothing was written",
            expected="one run",
            found=str(len(chosen.runs)),
            hint="--parquet takes several",
        )
    for form, value in {**named, "parquet": chosen.parquet}.items():
        if value and value != _PRINTED and Path(value).exists():
            raise ConfigError(
                "EXP-02", f"--{form} {value}", expected="a new file", found="one", hint="choose another name"
            )
    if named:
        _write_forms(open_run(chosen.runs[0]), named)
    return _tables(chosen) if chosen.parquet else 0


def _write_forms(run: OpenedRun, named: dict[str, str]) -> None:
    for form, value in named.items():
        text = _FORMS[form][1](run)
        if value == _PRINTED:
            sys.stdout.write(text)
            continue
        try:
            with Path(value).open("x", encoding="utf-8", newline="") as stream:
                stream.write(text)
        except OSError as error:
            raise _unwritable(form, value, error) from error
        print(value)


def _tables(chosen: argparse.Namespace) -> int:
    from bmwg.reports.fleet.kept import verified  # what verifies takes long to load
    from bmwg.reports.store.folder import run_folders_in
    from bmwg.reports.tables.parquet import write_tables

    def why_not(folder: Path) -> str:
        findings = verified(folder, ()).findings
        return f"{len(findings)} findings: {findings[0].rule_id} {findings[0].where}" if findings else ""

    try:
        written = write_tables(run_folders_in(chosen.runs), chosen.parquet, why_not)
    except OSError as error:
        raise _unwritable("parquet", str(chosen.parquet), error) from error
    for left in written.left_out:
        print(f"left out: {left}", file=sys.stderr)
    told = ", ".join(f"{count} {name}" for name, count in written.rows.items())
    print(f"{written.folder}: {told}")
    return TrialInvalid.exit_code if written.left_out else 0


def _unwritable(form: str, value: str, error: OSError) -> ConfigError:
    return ConfigError(
        "EXP-02", f"--{form} {value}", expected="a place that can be written", found=str(error.strerror)
    )
