"""`bmwg run`: the suites under Robot Framework, with a live display on a terminal."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from robot.run import run_cli

from bmwg.methodology import disturbed
from bmwg.methodology.errors import ConfigError
from bmwg.reports.store import read_run
from bmwg.reports.store.read import RUN_FILE
from bmwg.resources.in_guest import run_in_guest

GUEST_TESTBED, GUEST_PROFILE = "testbeds/guest.yaml", "guest"
GUEST_DEADLINE_S = 3600.0  # choice: under TCG a quick run of all options takes a quarter of it
DEFAULT_SUITES = ("testcases/containerized",)


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("run", help="run suites and write the report", description=__doc__)
    parser.add_argument("suites", nargs="*", type=Path, help="suites (default: testcases/containerized)")
    parser.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    parser.add_argument("--profile", help="compliance profile (default: quick)")
    parser.add_argument("--overlay", type=Path, help="facts about the machine that a person declares")
    parser.add_argument("--results", type=Path, help="folder of the runs (default: ./results)")
    parser.add_argument(
        "--test", action="append", default=[], metavar="ID", help="only tests with this id: tag"
    )
    parser.add_argument(
        "--in-guest", action="store_true", help="run in a virtual machine with the distribution's full kernel"
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Run the suites in this process; Robot's own output goes beside the run's folder."""
    suites = [Path(suite) for suite in chosen.suites] or found_suites()
    for suite in suites:
        if not suite.exists():
            raise ConfigError("RUN-01", "suite", expected="a file or folder", found=str(suite))
    results = chosen.results or Path(os.environ.get("BMWG_RESULTS") or "results")
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    os.environ["BMWG_RUN_ID"] = run_id
    os.environ.pop("BMWG_RUN", None)
    if chosen.in_guest:
        return _in_guest(chosen, suites, results, run_id)
    if chosen.testbed:
        os.environ["BMWG_TESTBED"] = str(chosen.testbed)
    if chosen.profile:
        os.environ["BMWG_PROFILE"] = chosen.profile
    if chosen.overlay:
        os.environ["BMWG_OVERLAY"] = str(chosen.overlay)
    return run_suites(suites, results, results / "robot" / run_id, chosen.test, results / run_id)


def _in_guest(chosen: argparse.Namespace, suites: Sequence[Path], results: Path, run_id: str) -> int:
    """Give the same command to a guest, where settings that were not named are those made for guests."""
    root = Path(__file__).resolve().parents[3]
    arguments = ["run", *(str(suite.resolve()) for suite in suites)]
    arguments += ["--testbed", str((chosen.testbed or root / GUEST_TESTBED).resolve())]
    arguments += ["--profile", chosen.profile or GUEST_PROFILE]
    for test_id in chosen.test:
        arguments += ["--test", test_id]
    return run_in_guest(arguments, results=results, run_id=run_id, deadline_s=GUEST_DEADLINE_S, say=_say)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run_suites(
    suites: Sequence[Path], results: Path, output: Path, test_ids: Sequence[str], folder: Path
) -> int:
    """Run suites under Robot Framework in this process, with a live display on a terminal; its exit status.

    `folder` is that of the run. Where no test failed, a run that hardly gave an answer on a machine that
    takes its CPUs away ends with `disturbed.EXIT_STATUS`.
    """
    live = sys.stdout.isatty()
    os.environ["BMWG_RESULTS"] = str(results)
    os.environ["BMWG_CONSOLE"] = "live" if live else "lines"
    options = ["--outputdir", str(output), "--console", "none" if live else "verbose"]
    for test_id in test_ids:
        options += ["--include", f"id:{test_id}"]
    status = int(run_cli([*options, *(str(suite) for suite in suites)], exit=False))
    if status == 0 and (folder / RUN_FILE).exists():
        run = read_run(folder)
        if disturbed.hardly_usable(run.outcomes, (trial.validity for trial in run.trials)):
            return disturbed.EXIT_STATUS
    return status


def found_suites() -> list[Path]:
    """The suites that run when none is named."""
    return [_found(suite) for suite in DEFAULT_SUITES]


def all_suites() -> list[Path]:
    """The folder of all shipped suites: a run to continue may hold tests of any."""
    return [_found("testcases")]


def _found(suite: str) -> Path:
    """Find a shipped suite from the working directory, or beside this source tree."""
    here = Path(suite)
    if here.exists():
        return here
    return Path(__file__).resolve().parents[3] / suite
