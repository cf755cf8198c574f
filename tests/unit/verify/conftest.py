"""What the tests of checker, bundle and verify share."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import honest
import released as made_releases
import replayable

from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.bundle.signing import load_private, make_key


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that verifies; tests that change files copy it first."""
    return replayable.make_run(tmp_path_factory.mktemp("results"))


@pytest.fixture
def run_copy(run_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the run that a test may change."""
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """Return a copy of a module's own run (its fixture `made`) that a test may change."""
    return Path(shutil.copytree(made, tmp_path / made.name))


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return two key pairs: the signer's and another one's."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("signer", "other"):
        make_key(folder / name)
    return {name: folder / name for name in ("signer", "other", "signer.pub", "other.pub")}


@pytest.fixture(scope="session")
def bundle(run_folder: Path, keys: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a signed bundle of the run."""
    return make_bundle(
        run_folder,
        tmp_path_factory.mktemp("bundles") / "made.bmwg.tar",
        evidence=folder_evidence(run_folder),
        findings=[],
        signer=load_private(keys["signer"]),
    )


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which honest runs are made, each once for all processes of a session."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "honest"


@pytest.fixture
def copy_of(place: Path, tmp_path: Path) -> Any:
    """Return what gives a copy of an honest run that a test may change."""
    return lambda name: honest.copied(place, name, tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the toolkit know the commit of made runs as a release."""
    with made_releases.listed(tmp_path_factory.mktemp("releases")):
        yield
