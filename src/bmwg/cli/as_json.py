"""What verbs print with `--json`: one document a call, whose `schema` names its form (docs/json.md)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--json` to a verb."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")


def text(form: str, told: Mapping[str, Any]) -> str:
    """Return a document of the form `<form>/1.0`, its `schema` first; the caller adds the end of the line."""
    return json.dumps({"schema": f"{form}/1.0", **told}, indent=1)


@contextmanager
def progress_aside() -> Iterator[None]:
    """Send what is told on the way to standard error: standard output has the document alone.

    The descriptor itself is turned, since Robot Framework and the display write to it past `sys.stdout`.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def show(form: str, told: Mapping[str, Any]) -> None:
    """Print a document."""
    print(text(form, told))
