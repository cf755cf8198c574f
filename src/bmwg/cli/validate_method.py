"""`bmwg validate-method`: run every algorithm on models whose truth is known, and write what came out.

No traffic is sent. The page follows from seed and cases alone, byte for byte. With --search or --model an
author's own search or model (module:name) is held beside the toolkit's (docs/methodology.md).
"""

from __future__ import annotations

import argparse
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

from bmwg.cli.case_deadline import bounded
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.simulated_devices.authored import model_of, search_of
from bmwg.methodology.simulated_devices.authored_page import authored_page
from bmwg.methodology.simulated_devices.markup import FORMATS, Page
from bmwg.methodology.simulated_devices.page import methods_page
from bmwg.methodology.simulated_devices.study import CASES, SEED

MOST_CASES = 100_000


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "validate-method", help="hold every search against models of known truth", description=__doc__
    )
    parser.add_argument("--cases", type=int, default=CASES, help=f"cases a row (default: {CASES})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of all luck (default: {SEED})")
    parser.add_argument(
        "--search",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="an AuthoredSearch of your own to hold beside the toolkit's; may be repeated",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="a Scene of your own, a device whose truth you state; may be repeated",
    )
    parser.add_argument("--format", choices=sorted(FORMATS), default="md", help="markup (default: md)")
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare with this file; write nothing")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Compute the page and write it, or say how a file differs from it."""
    if not 1 <= chosen.cases <= MOST_CASES:
        raise ConfigError(
            "MTH-01", "--cases: nothing was computed", expected=f"1..{MOST_CASES}", found=str(chosen.cases)
        )
    found = _read(chosen.check) if chosen.check is not None else ""
    text = FORMATS[chosen.format](_page(chosen))
    if chosen.check is not None:
        return _compare(text, found, chosen.check)
    if chosen.output is None:
        sys.stdout.write(text)
        return 0
    try:
        chosen.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "MTH-02",
            f"{chosen.output} cannot be written",
            expected="a file in a folder that exists",
            found=str(error),
        ) from error
    return 0


def _page(chosen: argparse.Namespace) -> Page:
    if not (chosen.search or chosen.model):
        return methods_page(cases=chosen.cases, seed=chosen.seed)
    here = str(Path.cwd())
    if here not in sys.path:  # an author's module lies beside the draft, and is installed nowhere
        sys.path.append(here)
    searches = [search_of(reference) for reference in chosen.search]
    models = [model_of(reference) for reference in chosen.model]
    return authored_page(searches, models, cases=chosen.cases, seed=chosen.seed, within=bounded())


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "MTH-03",
            f"{file} cannot be read; nothing was computed",
            expected="a page to compare",
            found=str(error),
        ) from error


def _compare(text: str, found: str, file: Path) -> int:
    difference = unified_diff(found.splitlines(), text.splitlines(), str(file), "computed", lineterm="", n=0)
    lines = list(difference)
    for line in lines[:40]:
        print(line)
    return 1 if lines or found != text else 0
