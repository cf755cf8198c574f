"""Made releases of the toolkit, for runs whose header names their commits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

import replayable

import bmwg
from bmwg.methodology.answers import procedures
from bmwg.reports import releases
from bmwg.reports.releases import Release
from bmwg.schemas.formats import newest

MINE = Release(
    version=bmwg.__version__,
    commit=replayable.COMMIT,
    run=newest("run"),
    procedures=dict(procedures.CURRENT),
    profiles={name: sorted(hashes) for name, hashes in releases.shipped().items()},
)
OTHER = Release(
    version="0.0.9",
    commit="fedcba9876543210fedcba9876543210fedcba98",
    run=newest("run"),
    procedures={procedures.STANDING: procedures.version(procedures.STANDING) + 1},
    profiles={"quick": ["1" * 64]},
)


@contextmanager
def listed(folder: Path) -> Iterator[None]:
    """Have the toolkit know these releases, by a list in a folder."""
    file = folder / "releases.json"
    file.write_text(json.dumps({"releases": [asdict(MINE), asdict(OTHER)]}), encoding="ascii")
    releases.releases.cache_clear()
    with patch.object(releases, "FILE", file):
        yield
    releases.releases.cache_clear()
