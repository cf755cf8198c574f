"""What is said about a cell that an error ended."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError


def one_line(error: BaseException) -> str:
    """Put an error into one line, as the reason of an outcome."""
    if not isinstance(error, ToolkitError):
        return " ".join(str(error).split())
    found = f"; found {error.found}" if error.found else ""
    return " ".join(f"{error.error_id} {error.what}{found}".split())
