"""`bmwg completion SHELL`: a script by which the shell completes verbs, options and files.

Ids: CMPL-01 the package that writes it is not installed.
"""

from __future__ import annotations

import argparse
from typing import Any

from bmwg.methodology.errors import TestbedError

SHELLS = ("bash", "zsh", "tcsh")  # those that shtab knows


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "completion", help="print a script that completes commands in a shell", description=__doc__
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print the script. Raises TestbedError CMPL-01."""
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise TestbedError(
            "CMPL-01",
            "completion of commands",
            expected="the Python module shtab",
            found="none",
            hint="pip install 'bmwg-toolkit[completion]'",
        ) from error
    from bmwg.cli.main import MODULES, parser_of  # which reads this module

    print(shtab.complete(parser_of(MODULES)[0], shell=chosen.shell))
    return 0
