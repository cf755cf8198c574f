"""Runs tests in two passes: those that stand beside each other three at a time, then each `quiet` one alone.

    python -m tests.passes FOLDER... [pytest's options]

A pass for which nothing is selected is no failure while the other has tests.
"""

import subprocess
import sys

NOTHING_SELECTED = 5
AT_ONCE = ("-n", "3", "--dist", "loadfile")  # choice, adr 0639: they mostly wait; a module's bed is made once


def marks_asked(arguments: list[str]) -> tuple[str, list[str]]:
    """Take the option `-m` out of the arguments; without one, slow tests are left out."""
    if "-m" not in arguments:
        return "not slow", arguments
    at = arguments.index("-m")
    return arguments[at + 1], [*arguments[:at], *arguments[at + 2 :]]


def status_of(found: list[int]) -> int:
    """The first failure; nothing selected in one pass alone is none."""
    if set(found) == {NOTHING_SELECTED}:
        return NOTHING_SELECTED
    return next((status for status in found if status not in (0, NOTHING_SELECTED)), 0)


def main(arguments: list[str]) -> int:
    """Run both passes, the second also after a failure of the first."""
    asked, others = marks_asked(arguments)
    found = []
    for options, marks in ((AT_ONCE, "not quiet"), ((), "quiet")):
        command = [sys.executable, "-m", "pytest", *options, *others, "-m", f"({asked}) and {marks}"]
        print("==", *command[2:], flush=True)
        found.append(subprocess.run(command, check=False).returncode)
    return status_of(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
