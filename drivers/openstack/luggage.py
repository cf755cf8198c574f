"""Builds the archive of the toolkit by which a server runs our agent: pure Python, not installed."""

from __future__ import annotations

import io
import tarfile
from functools import cache
from pathlib import Path

import execnet
import pyroute2

import bmwg

_WRAPPER = b"""#!/bin/sh
here=$(dirname "$0")
PYTHONPATH=$here exec /usr/bin/python3 "$@"
"""


@cache
def luggage() -> bytes:
    """Return a gzipped tar archive: this package, what its functions import, a `python` that has them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", dereference=True, compresslevel=4) as archive:
        for package in (bmwg, execnet, pyroute2):
            folder = Path(str(package.__file__)).parent
            for path in sorted(_sources(folder)):
                archive.add(path, f"{folder.name}/{path.relative_to(folder)}", recursive=False)
        entry = tarfile.TarInfo("python")
        entry.size, entry.mode = len(_WRAPPER), 0o755
        archive.addfile(entry, io.BytesIO(_WRAPPER))
    return data.getvalue()


def _sources(folder: Path) -> list[Path]:
    found = []
    for entry in folder.iterdir():  # not rglob, which does not follow the links that the package is made of
        if entry.is_dir():
            found += _sources(entry) if entry.name != "__pycache__" else []
        elif entry.suffix in (".py", ".json"):
            found.append(entry)
    return found
