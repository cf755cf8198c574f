"""What verbs print with `--json`: one document a call, whose `schema` names its form (docs/json.md)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--json` to a verb."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")


def text(form: str, told: Mapping[str, Any]) -> str:
    """Return a document of the form `<form>/1.0`, its `schema` first; the caller adds the end of the line."""
    return json.dumps({"schema": f"{form}/1.0", **told}, indent=1)


def show(form: str, told: Mapping[str, Any]) -> None:
    """Print a document."""
    print(text(form, told))
