"""The tools by which the run's own Open vSwitch is configured and asked, all in its own folder.

Id: VSW-03 it refused a command.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bmwg.drivers.api import JsonValue
from bmwg.drivers.network import ovs_parts, ovs_words
from bmwg.methodology.errors import DriverError

FOLDER = Path("/run/bmwg-vswitch")
PLACES = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(FOLDER))
COMMAND_DEADLINE_S = 30.0


def ask(*words: str) -> str:
    """Ask the running switch; return its words as they are."""
    return run([ovs_parts.require().ask, f"--target={FOLDER}/switch.ctl", *words])


def configure(*words: str) -> str:
    """Change or read the database; return what the tool said."""
    parts = ovs_parts.require()
    base = [parts.configure, f"--db=unix:{FOLDER}/db.sock", f"--timeout={int(COMMAND_DEADLINE_S)}"]
    return run([*base, *words])


def read(table: str, name: str, column: str) -> JsonValue:
    """Return one column of one row as data."""
    said = configure("--format=json", "--columns", column, "list", table, name)
    return ovs_words.plain(json.loads(said)["data"][0][0])


def run(command: list[str]) -> str:
    """Run a tool of the suite in the switch's folder. Raises DriverError VSW-03 with what it said."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMMAND_DEADLINE_S + 5,
            check=False,
            env={**os.environ, **PLACES},
        )
    except subprocess.TimeoutExpired as error:
        raise DriverError(
            "VSW-03", f"{Path(command[0]).name}: no end", found=" ".join(command[1:])
        ) from error
    if done.returncode:
        raise DriverError(
            "VSW-03",
            f"{Path(command[0]).name} {' '.join(command[1:])}",
            expected="exit status 0",
            found=done.stderr.strip() or str(done.returncode),
        )
    return done.stdout
