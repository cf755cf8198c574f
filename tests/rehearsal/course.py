"""The course of a rehearsal: commands of the toolkit, accidents amid its trials, one deadline, a journal.

`rehearsal.jsonl` in the lab's folder has a line for each thing that happened: `what`, `at_s` (seconds since
the rehearsal began) and what was found then. It is no evidence of a run, whose own journal is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bmwg.drivers.api.protocols import JsonValue

JOURNAL = "rehearsal.jsonl"
INTERRUPTED = 130
ANSWERS = frozenset({"measured", "unstable", "at_floor", "at_ceiling", "tester_limited"})
FAULT = '"faults":["'  # what the line of a trial with a fault has
_ENDS_WITHIN_S = 900.0
_STOPS_WITHIN_S = 60.0
_TRIES = 3
_APART = "REHEARSAL_APART"


class OverError(Exception):
    """The rehearsal took longer than it may, or was told to end."""


def in_own_namespaces() -> None:
    """Begin this program anew in network, mount and UTS namespaces of its own, unless that was done."""
    if _APART in os.environ:
        return
    spec = sys.modules["__main__"].__spec__
    assert spec is not None, "begin it by python -m"
    words = ["unshare", "--net", "--mount", "--uts", "--propagation", "private"]
    words += [sys.executable, "-m", spec.name, *sys.argv[1:]]
    os.execvpe(words[0], words, {**os.environ, _APART: "1"})


class Course:
    """What happens in a lab whose folder is made here; a context manager to be entered before the lab is.

    After `ends_within_s`, or at SIGTERM, it raises `OverError` once; what was entered since is then undone.
    """

    def __init__(self, folder: Path, *, ends_within_s: int) -> None:
        self.folder = folder
        self.events: list[dict[str, JsonValue]] = []
        self._ends_within_s = ends_within_s
        self._began_s = time.monotonic()
        self._commands: list[subprocess.Popen[bytes]] = []
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Course:
        self.folder.mkdir(parents=True)
        for number in (signal.SIGALRM, signal.SIGTERM):
            self._handlers[number] = signal.signal(number, self._over)
        signal.alarm(self._ends_within_s)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.alarm(0)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if exc[1] is not None:
            self.note("ended early", why=str(exc[1]) or type(exc[1]).__name__)

    def _over(self, number: int, frame: FrameType | None) -> None:
        signal.alarm(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what undoes is not to be cut off
        after_s = time.monotonic() - self._began_s
        raise OverError(f"{signal.Signals(number).name} after {after_s:.0f} s of {self._ends_within_s}")

    def note(self, what: str, **found: JsonValue) -> None:
        """Write that something happened into the journal, and print it."""
        event = {"at_s": round(time.monotonic() - self._began_s, 1), "what": what, **found}
        self.events.append(event)
        with (self.folder / JOURNAL).open("a") as journal:
            journal.write(json.dumps(event) + "\n")
        print(f"== {event['at_s']} s {what}: {json.dumps(found)}", flush=True)

    @contextmanager
    def commands(self) -> Iterator[None]:
        """End on leaving what was begun meanwhile, in order where it can be."""
        try:
            yield
        finally:
            for command in self._commands:
                if command.poll() is None:
                    command.terminate()
                    try:
                        command.wait(_STOPS_WITHIN_S)
                    except subprocess.TimeoutExpired:
                        command.kill()
                        command.wait(_STOPS_WITHIN_S)

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Begin a command of the toolkit, in which FOLDER stands for the lab's folder; it ends with us."""
        given = [word.replace("FOLDER", str(self.folder)) for word in words]
        argv = ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-m", "bmwg", *given]
        self._commands.append(subprocess.Popen(argv, env={**os.environ, "HOME": str(self.folder)}))
        return self._commands[-1]

    def ended(self, what: str, command: subprocess.Popen[bytes]) -> int:
        """Wait for the end of a command, and note how it ended."""
        status = command.wait(_ENDS_WITHIN_S)
        self.note(what, status=status, trials=len(self.trials()))
        return status

    def did(self, what: str, *words: str) -> int:
        """Run a command to its end."""
        return self.ended(what, self.begin(*words))

    def trials(self) -> list[str]:
        """Return the whole lines of the runs' journals, in the order of the runs."""
        files = sorted(self.folder.glob("results/*/trials.jsonl"))
        return [line for file in files for line in file.read_text().split("\n")[:-1]]

    def until(
        self, command: subprocess.Popen[bytes], words: str, *, since: int, within_s: float = _ENDS_WITHIN_S
    ) -> str:
        """Wait for a trial after the first `since` whose line holds these words; return the line.

        Empty where the command ended, or the time did, without one.
        """
        end_s = time.monotonic() + within_s
        while True:
            over = command.poll() is not None or time.monotonic() > end_s
            found = next((line for line in self.trials()[since:] if words in line), "")
            if found or over:
                return found
            time.sleep(0.2)

    def run_folder(self) -> str:
        """Return the folder of the latest run."""
        return str(max(header.parent for header in self.folder.glob("results/*/run.json")))

    def resumed(self, run: str) -> int:
        """Go on with a run to its end; a host that answers nothing for a while interrupts it, as in a lab."""
        return self._gone_on(run, "")[0]

    def amid(self, run: str, cell: str) -> subprocess.Popen[bytes]:
        """Go on with a run until a trial of a cell is recorded, by the beginning of the cell's id."""
        _, command = self._gone_on(run, f'"cell":"{cell}')
        return command

    def _gone_on(self, run: str, words: str) -> tuple[int, subprocess.Popen[bytes]]:
        for _ in range(_TRIES):
            since = len(self.trials())
            command = self.begin("resume", run)
            if words and self.until(command, words, since=since):
                return 0, command
            status = self.ended("resumed", command)
            if status != INTERRUPTED:
                assert not words, f"the run ended with {status} before a trial with {words}"
                return status, command
            self.did("cleanup", "cleanup", run)
        raise AssertionError(f"the run was interrupted {_TRIES} times: no trial with {words or 'its last'}")


def told_in(folder: Path) -> list[dict[str, JsonValue]]:
    """Return what the journal of a rehearsal tells."""
    return [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]
