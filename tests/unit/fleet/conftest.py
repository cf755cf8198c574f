"""Gives a fleet that was worked off, of which tests look at copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.fleet import made


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return plan and results of a fleet of two shards; whoever changes the results copies them first."""
    own = tmp_path_factory.getbasetemp()
    plan = made.worked_off((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "fleet-of-two")
    return plan, plan.parent / "res"
