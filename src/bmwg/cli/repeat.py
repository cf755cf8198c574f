"""`bmwg run --repeat N`: a series of runs of the same plan, each a process and a run of its own.

With `--against` the runs of two testbeds take turns, and each round begins with the other one: a machine that
changes slowly does so for both. With `--at-most` the series goes on while too few runs have a number. It asks
which answers have one and not what they are, so that it does not choose among them. Ids: RUN-07 options that
make no series.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from string import ascii_uppercase

from bmwg.cli import exits, selection
from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.reports.compare.options import by_option
from bmwg.reports.compare.rows import wanting
from bmwg.reports.compare.sides import read_side
from bmwg.reports.store.read import RUN_FILE

_MOST = 100  # choice: a slip of the finger is no series of years
_REFUSED = ConfigError.exit_code
_SIGNALLED = (-signal.SIGINT, exits.INTERRUPTED)


def new_id() -> str:
    """Return the id of a run that begins now."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def series(chosen: argparse.Namespace) -> int:
    """Run the series and say how to compare it; the worst exit status of its runs.

    A run that breaks does not end the series; one that is refused or interrupted does. Raises ConfigError
    RUN-07.
    """
    _check(chosen)
    sides = [chosen.testbed, chosen.against] if chosen.against else [chosen.testbed]
    made: list[list[str]] = [[] for _ in sides]
    whole = chosen.repeat * len(sides)
    worst, count = 0, 0
    for turn in range(chosen.at_most or chosen.repeat):
        if turn >= chosen.repeat:
            lack = _wanting(made, chosen)
            if not lack:
                break
            whole += len(sides)
            print(f"one more round, {turn + 1} of at most {chosen.at_most}: {lack}", flush=True)
        for side in turns(len(sides), turn):
            count += 1
            run_id = new_id()
            print(f"run {count} of {whole}: {run_id}", flush=True)
            status = _run([*command(chosen, sides[side]), "--run-id", run_id])
            worst = max(worst, exits.INTERRUPTED if status in _SIGNALLED else abs(status))
            if status == _REFUSED:
                return status
            if (_results(chosen) / run_id / RUN_FILE).is_file():  # one that never began is no run of a side
                made[side].append(run_id)
            if status in _SIGNALLED:
                print(f"interrupted: {whole - count} of {whole} runs not reached")
                return exits.INTERRUPTED
    print(_next(made, chosen))
    return worst


def turns(sides: int, turn: int) -> list[int]:
    """Return the order of the sides in one round: it turns round each time."""
    order = list(range(sides))
    return order[::-1] if turn % 2 else order


def command(chosen: argparse.Namespace, testbed: Path | None) -> list[str]:
    """Return the command of one run, as it was given but for the series."""
    said = [sys.executable, "-m", "bmwg", "run", *map(str, chosen.suites)]
    named = (
        ("--testbed", testbed),
        ("--profile", chosen.profile),
        ("--overlay", chosen.overlay),
        ("--results", chosen.results),
    )
    for name, value in named:
        said += [name, str(value)] if value else []
    said += selection.options(chosen)
    said += ["--verbose"] if chosen.verbose else []
    return [*said, *(["--in-guest"] if chosen.in_guest else [])]


def _check(chosen: argparse.Namespace) -> None:
    if chosen.repeat is None:
        option = "--against" if chosen.against else "--at-most"
        raise ConfigError(
            "RUN-07", option, expected="--repeat N beside it", found="none", hint="add --repeat 5"
        )
    if not 1 <= chosen.repeat <= _MOST:
        raise ConfigError("RUN-07", "--repeat", expected=f"1 to {_MOST} runs", found=str(chosen.repeat))
    if chosen.at_most is not None and not chosen.repeat <= chosen.at_most <= _MOST:
        raise ConfigError(
            "RUN-07", "--at-most", expected=f"{chosen.repeat} to {_MOST} runs", found=str(chosen.at_most)
        )
    if chosen.at_most is not None and not chosen.against and len(_options(chosen)) < 2:
        raise ConfigError(
            "RUN-07",
            "--at-most",
            expected="two sides: --against, or --network twice",
            found="one",
            hint="a single side has nothing to be compared with",
        )
    if chosen.json:
        raise ConfigError(
            "RUN-07",
            "--repeat",
            expected="no --json: it prints one run",
            found="--json",
            hint="bmwg compare --json",
        )
    if chosen.challenge:
        raise ConfigError(
            "RUN-07", "--repeat", expected="no challenge: it is for one run", found="--challenge"
        )


def _run(command: Sequence[str]) -> int:
    """Run one command; an interruption is passed on once, and the run closes itself."""
    # a script's background programs are started to ignore SIGINT, and so would be the runs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(command, process_group=0)
    told = False
    while True:
        try:
            status = child.wait()
            return exits.INTERRUPTED if told else status
        except KeyboardInterrupt:
            if not told:
                child.send_signal(signal.SIGINT)
            told = True


def _options(chosen: argparse.Namespace) -> list[str]:
    return list(dict.fromkeys(chosen.network))


def _wanting(made: Sequence[Sequence[str]], chosen: argparse.Namespace) -> str:
    """Say what these runs lack to be compared; empty where it is nothing."""
    places = [",".join(str(_results(chosen) / run_id) for run_id in ids) for ids in made]
    try:
        sides = [read_side(name, place) for name, place in zip(ascii_uppercase, places, strict=False)]
        return wanting(sides if len(sides) > 1 else by_option(sides, _options(chosen)))
    except ToolkitError as error:  # a run that broke does not end the series
        return error.what


def _results(chosen: argparse.Namespace) -> Path:
    return chosen.results or Path(os.environ.get("BMWG_RESULTS") or "results")


def _next(made: Sequence[Sequence[str]], chosen: argparse.Namespace) -> str:
    if not all(made):
        return "nothing to be compared: no run began" + (" of one of the sides" if any(made) else "")
    where = "sudo " if "SUDO_UID" in os.environ else ""  # what root ran, only root reads
    where += f"BMWG_RESULTS={chosen.results} " if chosen.results else ""
    sides = [",".join(one) for one in made]
    options = _options(chosen) if len(sides) == 1 else []
    if len(sides) > 1 or len(options) > 1:
        named = [word for option in options for word in ("--network", option)]
        return f"hold them against each other by: {where}bmwg compare {' '.join([*sides, *named])}"
    return f"one side of a comparison: {where}bmwg compare {sides[0]} OTHERS"
