"""Gives the runs that rules are tried on a folder of the session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import runs


@pytest.fixture(scope="session", autouse=True)
def _folder_of_runs() -> Iterator[None]:
    with runs.folder() as folder:
        runs.ROOT[:] = [folder]
        yield
