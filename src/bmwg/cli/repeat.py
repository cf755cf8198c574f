"""`bmwg run --repeat N`: a series of runs of the same plan, each a process and a run of its own.

With `--against` the runs of two testbeds take turns, and each round begins with the other one: a machine that
changes slowly does so for both. Ids: RUN-07 options that make no series.
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

from bmwg.cli import exits, selection
from bmwg.methodology.errors import ConfigError

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
    for turn in range(chosen.repeat):
        for side in turns(len(sides), turn):
            count += 1
            run_id = new_id()
            print(f"run {count} of {whole}: {run_id}", flush=True)
            status = _run([*command(chosen, sides[side]), "--run-id", run_id])
            worst = max(worst, exits.INTERRUPTED if status in _SIGNALLED else abs(status))
            if status == _REFUSED:
                return status
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
        raise ConfigError(
            "RUN-07", "--against", expected="--repeat N beside it", found="none", hint="add --repeat 5"
        )
    if not 1 <= chosen.repeat <= _MOST:
        raise ConfigError("RUN-07", "--repeat", expected=f"1 to {_MOST} runs", found=str(chosen.repeat))
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


def _next(made: Sequence[Sequence[str]], chosen: argparse.Namespace) -> str:
    where = "sudo " if "SUDO_UID" in os.environ else ""  # what root ran, only root reads
    where += f"BMWG_RESULTS={chosen.results} " if chosen.results else ""
    sides = [",".join(one) for one in made]
    options = list(dict.fromkeys(chosen.network)) if len(sides) == 1 else []
    if len(sides) > 1 or len(options) > 1:
        named = [word for option in options for word in ("--network", option)]
        return f"hold them against each other by: {where}bmwg compare {' '.join([*sides, *named])}"
    return f"one side of a comparison: {where}bmwg compare {sides[0]} OTHERS"
