"""Gives the runs that rules are tried on a folder of the session, in memory where the machine has that."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import runs

_MEMORY = Path("/dev/shm")  # a journal waits for the disk after each trial


@pytest.fixture(scope="session", autouse=True)
def _folder_of_runs() -> Iterator[None]:
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        runs.ROOT[:] = [Path(folder)]
        yield
