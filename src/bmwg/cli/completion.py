"""`bmwg completion SHELL`: a script by which the shell completes commands; `man`: the manual page.

Ids: CMPL-01 the package that writes it is not installed.
"""

from __future__ import annotations

import argparse
from typing import Any

from bmwg.methodology.errors import TestbedError

SHELLS = ("bash", "zsh", "tcsh")  # those that shtab knows
MANUAL = "man"


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "completion",
        help="print a script that completes commands in a shell, or the manual page",
        description=__doc__,
    )
    parser.add_argument("shell", choices=(*SHELLS, MANUAL))
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print the script or the page. Raises TestbedError CMPL-01."""
    from bmwg.cli.main import MODULES, parser_of  # which reads this module

    parser = parser_of(MODULES)[0]
    try:
        if chosen.shell == MANUAL:
            from argparse_manpage.manpage import Manpage

            print(Manpage(parser))
            return 0
        import shtab
    except ModuleNotFoundError as error:
        raise TestbedError(
            "CMPL-01",
            "completion of commands, or the manual page",
            expected=f"the Python module {error.name}",
            found="none",
            hint="pip install 'bmwg-toolkit[completion]'",
        ) from error
    print(shtab.complete(parser, shell=chosen.shell))
    return 0
