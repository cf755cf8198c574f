"""How many octets a file has, and the files within a tar archive."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from bmwg.methodology.record.booted import Counted

_BLOCK_OCTETS = 512  # of st_blocks, whatever the file system's own are (stat(2))


def of_file(path: str | Path) -> dict[Counted, int]:
    """Return a file's length, and what its file system holds for it: less of one with holes."""
    status = Path(path).stat()
    return {Counted.LENGTH: status.st_size, Counted.ALLOCATED: status.st_blocks * _BLOCK_OCTETS}


def of_files(paths: Mapping[str, str | Path]) -> dict[str, dict[Counted, int]]:
    """Return the same of each file, by its name here."""
    return {name: of_file(path) for name, path in paths.items()}


def of_layer(layer: bytes) -> dict[Counted, int]:
    """Return the octets of a layer's tar archive, and of the plain files in it."""
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        unpacked = sum(member.size for member in archive if member.isreg())
    return {Counted.ARCHIVE: len(layer), Counted.UNPACKED: unpacked}
