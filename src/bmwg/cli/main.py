"""The command `bmwg`: run, check and compare benchmarks of networks."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from bmwg.cli import exits
from bmwg.methodology.errors import ConfigError, TestbedError, ToolkitError
from bmwg.schemas.validation import near_name

MODULES = (  # of the verbs, in the order of the help
    "run",
    "resume",
    "plan",
    "fleet",
    "list_",
    "record",
    "lab",
    "calibrate",
    "report",
    "export",
    "compare",
    "trend",
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
    "completion",
    "sync",
)
_OTHERS = {
    "list": "list_",
    "doctor": "record",
    "import": "import_",
    "validate-method": "validate_method",
}  # named otherwise

_VERBS = "bmwg --help lists the verbs"
_READERS = ("report", "export", "trend", "verify")  # read a run, say what it holds, and end
_NEW_OBJECTS = 50_000  # choice: a line of a journal makes about a thousand


def modules_for(arguments: Sequence[str]) -> tuple[str, ...]:
    """The modules that a command line needs: the named verb's alone, for most take long to load."""
    verb = arguments[0] if arguments else ""
    if verb == "--version":
        return ()
    module = _OTHERS.get(verb, verb)
    return (module,) if module in MODULES else MODULES


class _Version(argparse.Action):
    """Prints the version and the commit, which git is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print, and end."""
        from bmwg.resources.run.provenance import toolkit_state  # only who asks waits for it

        version, commit, dirty = toolkit_state()
        print(f"bmwg {version}, commit {commit or 'unknown'}{', files were changed' if dirty else ''}")
        parser.exit()


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


def parser_of(modules: Sequence[str]) -> tuple[argparse.ArgumentParser, Any, dict[str, str]]:
    """Return the command's parser with some verbs, these verbs, and what each lacks that cannot be loaded."""
    parser = argparse.ArgumentParser(
        prog="bmwg",
        description="Run, check and compare benchmarks of networks.",
        epilog=exits.epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print version and commit")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    lacking: dict[str, str] = {}
    for module in modules:
        try:
            importlib.import_module(f"bmwg.cli.{module}").add_parser(verbs)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "bmwg":
                raise
            lacking[module] = f"needs the Python module {error.name}: pip install 'bmwg-toolkit[run]'"
            verbs.add_parser(module, help=lacking[module])
    return parser, verbs, lacking


def _run(given: Sequence[str]) -> int:
    modules = modules_for(given)
    parser, verbs, lacking = parser_of(modules)
    if lacking and len(modules) == 1:
        print(f"bmwg {modules[0]} {lacking[modules[0]]}", file=sys.stderr)
        return TestbedError.exit_code
    if given and not given[0].startswith("-") and given[0] not in verbs.choices:
        return _told(f"bmwg: no verb {given[0]}", near_name(given[0], verbs.choices), _VERBS)
    if given and given[0].startswith("--") and given[0] not in ("--help", "--version"):
        name = given[0].partition("=")[0]
        near = near_name(name, _options(verbs.choices["run"]))
        return _told(f"bmwg: {name} stands before the verb", f"bmwg run {near}" if near else "", _VERBS)
    chosen, rest = parser.parse_known_args(given)
    if rest:
        named, verb = _verb(given, verbs)
        name, more = rest[0].partition("=")[0], f"{named} --help lists what it takes"
        if name.startswith("-"):
            return _told(f"{named}: no option {rest[0]}", near_name(name, _options(verb)), more)
        return _told(f"{named}: {rest[0]} is one word too many, it takes {_taken(verb)}", None, more)
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
        return exits.INTERRUPTED
    return code


def _verb(given: Sequence[str], verbs: Any) -> tuple[str, argparse.ArgumentParser]:
    """Return the verb of a command line as it was named, and its parser: a verb may have verbs of its own."""
    parser: argparse.ArgumentParser = verbs.choices[given[0]]
    for action in parser._actions if len(given) > 1 else ():
        if isinstance(action, argparse._SubParsersAction) and given[1] in action.choices:
            return f"bmwg {given[0]} {given[1]}", action.choices[given[1]]
    return f"bmwg {given[0]}", parser


def _taken(verb: argparse.ArgumentParser) -> str:
    """Return what a verb takes beside its options, in words: several of a kind stand in one place."""
    taken = []
    for action in verb._actions:
        name = str(action.metavar or action.dest).upper()
        if action.nargs in ("+", "*") and not action.option_strings:
            taken.append(f"{name} ... without an option between")
        elif not action.option_strings:
            taken.append(f"one {name}")
    return " and ".join(taken) or "options alone"


def _options(verb: argparse.ArgumentParser) -> list[str]:
    return re.findall(r"--[a-z][a-z-]*", verb.format_help())


def _told(what: str, near: str | None, more: str) -> int:
    print(f"{what}; {f'did you mean {near}?' if near else more}", file=sys.stderr)
    return ConfigError.exit_code
