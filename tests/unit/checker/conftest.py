"""Gives the runs that rules are tried on a folder of the session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import runs


@pytest.fixture(scope="session", autouse=True)
def _folder_of_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    runs.ROOT[:] = [tmp_path_factory.mktemp("runs")]
