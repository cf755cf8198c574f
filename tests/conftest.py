"""Removes what a killed pass of these tests left on the machine, before the first test of the next one.

A run refuses to start beside pods and processes of an ended run (LOCK-03), so leftovers would fell
every later test.
"""

import contextlib
import os
import re
from pathlib import Path

import pytest

from bmwg.drivers.ledger import at_work, cleanup
from bmwg.methodology.errors import ToolkitError

PASS_FOLDER = re.compile(r"(.*/pytest-of-[^/]+/pytest-\d+)/")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Clean up once a pass, not once a worker; only root can have left or can remove anything."""
    if os.geteuid() == 0 and "PYTEST_XDIST_WORKER" not in os.environ:
        for folder in list(at_work()):
            if _left_by_a_killed_pass(folder):
                with contextlib.suppress(ToolkitError, OSError):  # the tests that it fells say what is wrong
                    cleanup(folder)


def _left_by_a_killed_pass(run_folder: Path) -> bool:
    """Whether it lies in a pass's temporary folder and the process that `.lock` in there names is gone."""
    found = PASS_FOLDER.match(f"{run_folder}/")
    if found is None:
        return False
    try:
        return not Path(f"/proc/{int((Path(found[1]) / '.lock').read_text())}").exists()
    except (OSError, ValueError):
        return True
