"""`bmwg run`: the suites under Robot Framework, with a live display on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from robot.run import run_cli

from bmwg.cli import as_json, exits, repeat, selection
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.guest import guest_spec
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial import disturbed
from bmwg.reports.exported import as_data
from bmwg.reports.opened import open_run
from bmwg.reports.store import read_run
from bmwg.reports.store.read import RUN_FILE
from bmwg.resources.run import not_reached, preflight
from bmwg.resources.run.in_guest import cables_of, run_in_guest
from bmwg.resources.run.narrowing import narrowed_tests
from bmwg.resources.run.platform import overlay_facts
from bmwg.resources.run.settings import Settings

GUEST_TESTBED, GUEST_PROFILE = "testbeds/guest.yaml", "guest"
GUEST_DEADLINE_S = 3600.0  # choice: under TCG a quick run of all options takes a quarter of it


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("run", help="run suites and write the report", description=__doc__)
    selection.add_arguments(parser)
    selection.add_narrowing(parser)
    parser.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    parser.add_argument("--profile", help="compliance profile (default: quick)")
    parser.add_argument("--overlay", type=Path, help="facts about the machine that a person declares")
    parser.add_argument("--results", type=Path, help="folder of the runs (default: ./results)")
    parser.add_argument(
        "--challenge", type=Path, help="file of a body's challenge; the order is drawn from it"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for each trial, not each cell only")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="N runs of the same plan, so that `compare` has N a side"
    )
    parser.add_argument(
        "--at-most",
        type=int,
        metavar="M",
        help="with --repeat: go on to M runs a side while too few have numbers for `compare` to judge",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="TESTBED",
        help="with --repeat: runs of this testbed take turns",
    )
    parser.add_argument("--run-id", help=argparse.SUPPRESS)  # of one run of a series
    parser.add_argument(
        "--in-guest", action="store_true", help="run in a virtual machine with the distribution's full kernel"
    )
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Run the suites in this process; Robot's own output goes beside the run's folder.

    What can be known to be wrong is refused before Robot starts, with one message and nothing made.
    """
    if (chosen.repeat, chosen.against, chosen.at_most) != (None, None, None):
        return repeat.series(chosen)
    run_id = chosen.run_id or repeat.new_id()
    results = chosen.results or Path(os.environ.get("BMWG_RESULTS") or "results")
    return answered(chosen, results / run_id, lambda: _run(chosen, results, run_id))


def answered(chosen: argparse.Namespace, folder: Path, run: Callable[[], int]) -> int:
    """Run, and with `--json` print the answers of the run's folder, all else going to standard error."""
    if not chosen.json:
        return run()
    with as_json.progress_aside():
        status = run()
    if (folder / RUN_FILE).exists():
        as_json.show("answers", as_data(open_run(folder)))
    return status


def _run(chosen: argparse.Namespace, results: Path, run_id: str) -> int:
    suites, tags = selection.suites_of(chosen), selection.included(chosen)
    tests = selection.selected(suites, tags)
    if chosen.in_guest:
        if chosen.challenge:
            raise ConfigError("CHAL-03", "--challenge", expected="a run on this machine", found="--in-guest")
        return _in_guest(chosen, suites, tests, results, run_id)
    for name, value in (
        ("BMWG_TESTBED", chosen.testbed),
        ("BMWG_PROFILE", chosen.profile),
        ("BMWG_OVERLAY", chosen.overlay),
        ("BMWG_CHALLENGE", chosen.challenge),
        ("BMWG_RESULTS", results),
        ("BMWG_RUN_ID", run_id),
        ("BMWG_VERBOSE", "1" if chosen.verbose else None),
    ):
        if value:
            os.environ[name] = str(value)
    os.environ.pop("BMWG_RUN", None)
    os.environ.update(selection.narrowing(chosen))
    settings = Settings.from_environment()
    if settings.narrowing:
        tests = narrowed_tests(settings, tests)
        tags = [f"id:{test_id}" for test_id in sorted(tests)]
    preflight.check(settings, tests)
    return run_suites(suites, results, results / "robot" / run_id, tags, results / run_id)


def _in_guest(
    chosen: argparse.Namespace, suites: Sequence[Path], tests: Collection[str], results: Path, run_id: str
) -> int:
    """Give the same command to a guest, where settings that were not named are those made for guests."""
    testbed = (chosen.testbed or selection.found(GUEST_TESTBED)).resolve()
    profile = chosen.profile or GUEST_PROFILE
    told = load_testbed(testbed)
    preflight.check_files(testbed, profile, tests)  # refused here, before a machine boots
    if chosen.overlay:
        overlay_facts(chosen.overlay)
    preflight.check_results(Settings(results=results))
    os.environ["BMWG_RUN_ID"] = run_id
    os.environ.pop("BMWG_RUN", None)
    arguments = ["run", *(str(suite.resolve()) for suite in suites)]
    arguments += ["--testbed", str(testbed)]
    arguments += ["--profile", profile]
    arguments += ["--overlay", str(chosen.overlay.resolve())] if chosen.overlay else []
    arguments += selection.options(chosen)
    arguments += ["--verbose"] if chosen.verbose else []
    return run_in_guest(
        arguments,
        results=results,
        run_id=run_id,
        deadline_s=GUEST_DEADLINE_S,
        say=_say,
        cables=cables_of(told),
        guest=guest_spec(told.data),
        tester_cpus=told.tester.cpus,
    )


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run_suites(suites: Sequence[Path], results: Path, output: Path, tags: Sequence[str], folder: Path) -> int:
    """Run suites under Robot Framework in this process, with our own display; its exit status.

    `tags` select tests, one of them is enough; none selects all. `folder` is that of the run. Where no test
    failed, a run that was interrupted ends with `exits.INTERRUPTED`, and one that hardly gave an answer on a
    machine that takes its CPUs away with `disturbed.EXIT_STATUS`. Robot's own status, a count, becomes one
    of `exits`.
    """
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")  # on which no bar is drawn
    live = sys.stdout.isatty() and not dumb
    os.environ["BMWG_RESULTS"] = str(results)
    os.environ["BMWG_CONSOLE"] = "live" if live else "alone"
    options = ["--outputdir", str(output), "--console", "quiet", "--listener", not_reached.__name__]
    for tag in tags:
        options += ["--include", tag]
    status = int(run_cli([*options, *(str(suite) for suite in suites)], exit=False))
    if status == 0 and (folder / RUN_FILE).exists():
        run = read_run(folder)
        if run.status != "complete":
            return exits.INTERRUPTED
        if disturbed.hardly_usable(run.outcomes, (trial.validity for trial in run.trials)):
            return disturbed.EXIT_STATUS
    return exits.of_robot(status)


def all_suites() -> list[Path]:
    """The folder of all shipped suites: a run to continue may hold tests of any."""
    return [selection.found("testcases")]
