"""The command `bmwg`: verbs around the suites. Exit codes are those of the errors that they raise."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bmwg import __version__
from bmwg.cli import (
    bundle,
    calibrate,
    cleanup,
    compare,
    import_,
    plan,
    record,
    registry,
    report,
    resume,
    run,
    sync,
    validate_method,
    verify,
)
from bmwg.methodology.errors import ToolkitError

VERBS = (
    run,
    resume,
    plan,
    record,
    calibrate,
    report,
    compare,
    bundle,
    verify,
    import_,
    registry,
    validate_method,
    cleanup,
    sync,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; print a ToolkitError as its message alone and return its exit code."""
    parser = argparse.ArgumentParser(prog="bmwg", description=__doc__)
    parser.add_argument("--version", action="version", version=f"bmwg {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for module in VERBS:
        module.add_parser(verbs)
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.handler(chosen)
    except ToolkitError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return code
