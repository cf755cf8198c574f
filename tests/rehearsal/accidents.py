"""A run whose device host has a kernel of its own, with accidents on the way, and a journal of them.

The runner is killed and the run resumed; the device's host loses its power amid it, which interrupts the run,
boots again, and the run goes on; in a second run a cable is pulled and put back. `bmwg cleanup` follows what
left something. Usage: `python -m tests.rehearsal.accidents FOLDER`, root; FOLDER is made, with the journal
`rehearsal.jsonl` (`course.py`). The exit status is the worst of `bmwg verify`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.rehearsal.apart import Lab
from tests.rehearsal.course import FAULT, Course, in_own_namespaces

ENDS_WITHIN_S = 1740
_TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "CN-TPUT-1.3")
_SEEN_WITHIN_S = 90.0


def happen(course: Course, lab: Lab) -> int:
    """Let all three happen; return the worst status of `bmwg verify`."""
    words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/lab.yaml"]
    words += ["--results", "FOLDER/results", *(word for test in _TESTS for word in ("--test", test))]
    command = course.begin(*words)
    assert course.until(command, '"cell":"wire/', since=0), "the run ended before a trial of its wire"
    command.kill()
    course.ended("runner killed", command)
    run = course.run_folder()
    lab.boot()
    course.did("cleanup", "cleanup", run)

    command = course.amid(run, "node/")
    os.kill(lab.machine.pid, signal.SIGKILL)
    course.ended("host without power", command)
    lab.boot()
    course.did("cleanup", "cleanup", run)
    course.resumed(run)
    first = course.did("verified", "verify", run)

    since = len(course.trials())
    command = course.begin(*words)
    assert course.until(command, '"cell":"node/', since=since), "the run ended before a trial of its node"
    since = len(course.trials())
    lab.pull(1, pulled=True)
    seen = course.until(command, FAULT, since=since, within_s=_SEEN_WITHIN_S)
    lab.pull(1, pulled=False)
    course.note("cable pulled", fault=seen.partition(FAULT)[2].partition('"')[0])
    course.ended("run", command)
    return max(first, course.did("verified", "verify", course.run_folder()))


def main(folder: Path) -> int:
    """Rehearse; return whether a run did not verify."""
    with Course(folder, ends_within_s=ENDS_WITHIN_S) as course, Lab(folder) as lab, course.commands():
        return happen(course, lab)


if __name__ == "__main__":
    in_own_namespaces()
    raise SystemExit(main(Path(sys.argv[1]).resolve()))
