"""A run whose device host has a kernel of its own, with accidents on the way; prints what became of it.

The runner is killed and the run resumed; the device's host loses its power amid it, which interrupts the run,
boots again, and the run goes on; in a second run a cable is pulled and put back. `bmwg cleanup` follows what
left something. Usage: accidents.py FOLDER, in namespaces of its own as `apart.py`. The exit status is the
worst of `bmwg verify`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.rehearsal.apart import Lab

_ENDS_WITHIN_S = 900.0
_PULLED_S = 20.0
_TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")
_FURTHER = 4  # lines of the journal between one accident and the next


def lines(folder: Path) -> int:
    """How many lines the journal holds."""
    return sum(journal.read_bytes().count(b"\n") for journal in folder.glob("results/*/trials.jsonl"))


def amid(folder: Path, command: subprocess.Popen[bytes], more: int) -> None:
    """Wait until the command has recorded so many trials more."""
    before, end_s = lines(folder), time.monotonic() + _ENDS_WITHIN_S
    while lines(folder) < before + more:
        assert command.poll() is None, f"ended with {command.returncode} before its accident"
        assert time.monotonic() < end_s, "no trial in time"
        time.sleep(0.2)


def said(what: str, command: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a command, and print how it ended."""
    status = command.wait(_ENDS_WITHIN_S)
    print(f"== {what}: status {status}", flush=True)
    return status


def run_of(folder: Path) -> str:
    """Return the folder of the latest run."""
    return str(max(header.parent for header in folder.glob("results/*/run.json")))


def main(folder: Path) -> int:
    """Let all three happen; return whether a run did not verify."""
    with Lab(folder) as lab:
        words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/lab.yaml"]
        words += ["--results", "FOLDER/results", *(word for test in _TESTS for word in ("--test", test))]
        command = lab.bmwg(*words)
        amid(lab.folder, command, _FURTHER)
        command.send_signal(signal.SIGKILL)
        said("run, runner killed", command)
        run = run_of(folder)
        lab.boot()
        said("cleanup", lab.bmwg("cleanup", run))

        command = lab.bmwg("resume", run)
        amid(lab.folder, command, _FURTHER)
        lab.machine.monitor.execute("quit")
        said("resume, host without power", command)
        lab.boot()
        said("cleanup", lab.bmwg("cleanup", run))
        said("resume, host there again", lab.bmwg("resume", run))
        first = said("verify", lab.bmwg("verify", run))

        command = lab.bmwg(*words)
        amid(lab.folder, command, _FURTHER)
        lab.pull(1, pulled=True)
        time.sleep(_PULLED_S)
        lab.pull(1, pulled=False)
        said("run, cable pulled", command)
        return max(first, said("verify", lab.bmwg("verify", run_of(folder))))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
