"""Finds the run that a command line names: a folder, or a run's id below the results folder."""

from __future__ import annotations

import os
from pathlib import Path


def run_folder(named: str) -> Path:
    """Return the path as it was given where it is there, else the run of that id in the results folder.

    The results folder is `BMWG_RESULTS`, or `./results`. What is neither stays as it was given: the verb
    refuses it.
    """
    given = Path(named)
    below = Path(os.environ.get("BMWG_RESULTS") or "results") / named
    return below if not given.exists() and below.is_dir() else given


def run_folders(named: str) -> str:
    """Return a side of a comparison, parts joined by commas, with each id as its folder."""
    return ",".join(str(run_folder(part)) for part in named.split(","))
