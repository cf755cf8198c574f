"""The command `bmwg`: verbs around the suites. Exit codes are those of the errors that they raise."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from bmwg import __version__
from bmwg.methodology.errors import TestbedError, ToolkitError

MODULES = (  # of the verbs, in the order of the help
    "run",
    "resume",
    "plan",
    "record",
    "calibrate",
    "report",
    "compare",
    "bundle",
    "verify",
    "import_",
    "registry",
    "challenge",
    "keys",
    "announce",
    "sign",
    "validate_method",
    "cloud",
    "cleanup",
    "sync",
)
_OTHERS = {"doctor": "record", "import": "import_", "validate-method": "validate_method"}  # named otherwise

_READERS = ("report", "verify")  # read a run, say what it holds, and end
_NEW_OBJECTS = 50_000  # choice: a line of a journal makes about a thousand


def modules_for(arguments: Sequence[str]) -> tuple[str, ...]:
    """The modules that a command line needs: the named verb's alone, for most take long to load."""
    verb = arguments[0] if arguments else ""
    module = _OTHERS.get(verb, verb)
    return (module,) if module in MODULES else MODULES


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for objects that only refer to each other after more new objects: what is read of a run has none.

    A search after each 700, as Python does it, goes through the same trials again and again.
    """
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; print a ToolkitError as its message alone and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with _seldom_collected() if given and given[0] in _READERS else nullcontext():
        return _run(given)


def _run(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bmwg", description=__doc__)
    parser.add_argument("--version", action="version", version=f"bmwg {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for module in modules_for(given):
        try:
            importlib.import_module(f"bmwg.cli.{module}").add_parser(verbs)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "bmwg":
                raise
            missing = f"needs the Python module {error.name}: pip install 'bmwg-toolkit[run]'"
            verbs.add_parser(module, help=missing)
            if len(modules_for(given)) == 1:
                print(f"bmwg {module} {missing}", file=sys.stderr)
                return TestbedError.exit_code
    chosen = parser.parse_args(given)
    try:
        code: int = chosen.handler(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has enough of it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except ToolkitError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return code
