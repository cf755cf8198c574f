"""Writing so that a kill or a power cut at any moment leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
from pathlib import Path

from bmwg.methodology.errors import TestbedError


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content: temporary file beside it, fsync, rename, fsync of the folder.

    Raises TestbedError STORE-08; the former content then still stands.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # addresses and serials are its owner's affair
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> TestbedError:
    """Return the error for a file that the machine did not let us write."""
    return TestbedError(
        "STORE-08",
        f"{path}: could not be written",
        found=error.strerror or str(error),
        hint="free space on the results disk, then continue the run: finished trials are kept",
    )
