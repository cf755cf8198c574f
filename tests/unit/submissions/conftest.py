"""What the tests of a body, its vendors and labs share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "verify"))
sys.path.insert(0, str(Path(__file__).parent))

import parties
import released as made_releases


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> parties.World:
    """Return a world that all tests of a session share: it is only added to."""
    made = parties.World(tmp_path_factory.mktemp("world"))
    made.lists()
    return made


@pytest.fixture(autouse=True, scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the toolkit know the commit of made runs as a release."""
    with made_releases.listed(tmp_path_factory.mktemp("releases")):
        yield


@pytest.fixture
def fresh(world: parties.World, tmp_path: Path) -> parties.World:
    """Return a world of a test's own, with the session's keys."""
    for path in world.place.glob("*.key*"):
        shutil.copy(path, tmp_path / path.name)
    made = parties.World(tmp_path, made_in=world.place)
    made.lists()
    return made
