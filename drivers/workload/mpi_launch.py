"""Node functions that watch a launch of MPI programs: which daemons are asked for, and how it ended.

mpirun is told an agent that says what it was asked to start on another host and starts nothing
(docs/adr/0400). Its words stand in the launcher's output, which is what is read here.
"""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.bounded import OUTPUT_LIMIT_OCTETS

ORDER, STATUS = "bmwg-order", "bmwg-status"
AGENT = f"echo {ORDER}"
SHELL = ("sh", "-c", f'"$@"; echo "{STATUS} $?"', "sh")  # before the launcher: its status is its last line
_POLL_S = 0.01


def ordered(*, folder: str, count: int, within_s: float) -> list[list[str]]:
    """Node function: wait for orders; each is a host and the command to start there.

    Returns fewer than `count` when the launcher ended before, or the time is over.
    """
    end_s = time.monotonic() + within_s
    while True:
        text = _read(folder)
        lines = text[: text.rfind("\n") + 1].splitlines()
        found = [shlex.split(line)[1:] for line in lines if line.startswith(f"{ORDER} ")]
        if len(found) >= count or _status(text) is not None or time.monotonic() > end_s:
            return found
        time.sleep(_POLL_S)


def finished(*, folder: str, within_s: float) -> dict[str, JsonValue]:
    """Node function: wait until the launcher has ended; returns `output`, `status`, `fault` (a sentence)."""
    end_s = time.monotonic() + within_s
    while True:
        text = _read(folder)
        status = _status(text)
        if status is not None:
            return {"output": text, "status": status, "fault": ""}
        if time.monotonic() > end_s:
            return {"output": text, "status": None, "fault": f"mpirun did not end within {within_s:g} s"}
        time.sleep(_POLL_S)


def _read(folder: str) -> str:
    with open(Path(folder, "output"), "rb") as file:
        return file.read(OUTPUT_LIMIT_OCTETS).decode("utf-8", "replace")


def _status(text: str) -> int | None:
    words = text.rstrip("\n").rpartition("\n")[2].split()
    if len(words) == 2 and words[0] == STATUS and text.endswith("\n"):
        return int(words[1])
    return None
