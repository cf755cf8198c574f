"""The tools by which the run's own Open vSwitch is configured and asked, all in its own folder.

Id: VSW-03 it refused a command.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_parts, ovs_words
from bmwg.methodology.errors import DriverError

FOLDER = Path("/run/bmwg-vswitch")
PLACES = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(FOLDER))
COMMAND_DEADLINE_S = 30.0
CALL_DEADLINE_S = 240.0  # of a call on its node: the switch's start and a few commands, each with its own
DATAPATH = "ovs-netdev"  # the tap of a `netdev` datapath itself


def ask(*words: str) -> str:
    """Ask the running switch; return its words as they are. Raises DriverError VSW-03 with what it said.

    Its control socket speaks JSON-RPC 1.0; no program is started, since trials are read this way too.
    """
    method, *parameters = words
    question = json.dumps({"method": method, "params": parameters, "id": 0})
    try:
        said = _exchange(question.encode())
    except (OSError, ValueError) as error:
        raise DriverError("VSW-03", f"the vSwitch asked for {method}: no answer", found=str(error)) from error
    if said.get("error") is not None:
        raise DriverError(
            "VSW-03", f"the vSwitch asked for {' '.join(words)}", expected="an answer", found=said["error"]
        )
    return str(said.get("result"))


def asked(*, words: list[str]) -> str:
    """Node function: the same, from elsewhere."""
    return ask(*words)


def _exchange(question: bytes) -> dict[str, Any]:
    """Send one request to the control socket and return the reply, within the deadline in all."""
    end_s = time.monotonic() + COMMAND_DEADLINE_S
    answer = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.settimeout(COMMAND_DEADLINE_S)
        control.connect(str(FOLDER / "switch.ctl"))
        control.sendall(question)
        while part := control.recv(1 << 16):
            answer += part
            with contextlib.suppress(ValueError):  # there is more to come
                found: dict[str, Any] = json.loads(answer)
                return found
            control.settimeout(max(0.001, end_s - time.monotonic()))
    raise ValueError(f"it ended the connection after {len(answer)} octets")


def configure(*words: str) -> str:
    """Change or read the database; return what the tool said."""
    parts = ovs_parts.require()
    base = [parts.configure, f"--db=unix:{FOLDER}/db.sock", f"--timeout={int(COMMAND_DEADLINE_S)}"]
    return run([*base, *words])


def read(table: str, name: str, column: str) -> JsonValue:
    """Return one column of one row as data."""
    said = configure("--format=json", "--columns", column, "list", table, name)
    return ovs_words.plain(json.loads(said)["data"][0][0])


def taps() -> list[str]:
    """Return the interfaces that a switch which is killed leaves: its datapath's, and each bridge's."""
    found = [DATAPATH]
    with contextlib.suppress(DriverError):  # the database may be gone, too
        found += configure("list-br").split()
    return found


def run(command: list[str], given: str = "") -> str:
    """Run a tool of the suite in the switch's folder; it reads `given`.

    Raises DriverError VSW-03 with what it said.
    """
    try:
        done = subprocess.run(
            command,
            input=given,
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
