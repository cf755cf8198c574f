"""BMWG toolkit: the IETF benchmarking methodologies as executable, checkable suites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bmwg.reports.opened import OpenedRun

__version__ = "1.0.0.dev0"  # of the release that comes next (docs/adr/0608)


def open_run(path: str | Path) -> OpenedRun:
    """Open the folder of a finished run: its answers, trials and facts as typed records (docs/python.md)."""
    from bmwg.reports.opened import open_run as opened  # importing bmwg alone loads no reader

    return opened(path)
