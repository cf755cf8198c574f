"""`bmwg import FILE`: read a result file of another tool and say what its numbers are; nothing is graded."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.reports.importers import TOOLS, as_json, foreign_page, read_foreign
from bmwg.reports.render.page.report import form_of
from bmwg.reports.store.checks import check_own
from bmwg.reports.store.files import write_new

FORMS = ("text", "md", "rst", "html", "rfcxml", "json")


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("import", help="read a result file of another tool", description=__doc__)
    parser.add_argument("file", type=Path, help="the result file")
    parser.add_argument(
        "--tool", help="the tool that wrote it: " + ", ".join(TOOLS) + " (default: told by its keys)"
    )
    parser.add_argument(
        "--format", choices=FORMS, default="text", help="text (default), json or another form"
    )
    parser.add_argument(
        "--output", type=Path, help="write here instead of printing; an existing file is refused"
    )
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print or write what the file says."""
    if chosen.output and chosen.output.exists():
        raise ConfigError(
            "IMP-04", f"{chosen.output} exists", expected="a new file", hint="choose another name"
        )
    result = read_foreign(chosen.file, chosen.tool)
    data = as_json(result)
    check_own(data, "foreign")
    if chosen.format == "json":
        text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    else:
        text = form_of(foreign_page(result), chosen.format, f"foreign-{result.source_sha256[:12]}")
    if chosen.output:
        write_new(chosen.output, text)
        print(chosen.output)
    else:
        print(text, end="")
    return 0
