"""What the tests of store and report share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import made_run


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a realistic run; tests that change files copy it first."""
    return made_run.realistic_run(tmp_path_factory.mktemp("results"))
