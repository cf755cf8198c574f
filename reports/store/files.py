"""Writing so that a kill or a power cut at any moment leaves the old content or the new, never a mixture."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from bmwg.methodology.errors import TestbedError, ToolkitBug


def opened(path: Path) -> BinaryIO:
    """Open a plain file for reading. Raises OSError, also for a FIFO or device, of which nobody waits."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "no plain file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


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


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, for a user who named it. Raises TestbedError STORE-08."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> TestbedError:
    """Return the error for a file that the machine did not let us write."""
    return TestbedError(
        "STORE-08",
        f"{path}: could not be written",
        found=error.strerror or str(error),
        hint="is the folder there, with room on its disk? finished trials of a run are kept: continue it",
    )


def utc_text(moment: datetime) -> str:
    """Write a time as the run files hold it: UTC, microseconds, `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy in JSON builtins; ToolkitBug STORE-05 when it holds anything else."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(data), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ToolkitBug(
            "STORE-05",
            "run: data that is not JSON",
            expected="None, bool, int, float, str, list, dict",
            found=str(error),
        ) from error
    return plain


Written = dict[int, tuple[Any, str]]  # an entry, which is kept so that its id stays its own, and its text


def pretty(data: Mapping[str, Any], written: Written | None = None) -> bytes:
    """A document for the eye: what it is first, then its keys in order, one value a line.

    `written` keeps the text of entries of its lists that stay as they are, for the next time.
    """
    known: Written = {} if written is None else written
    ordered = {"schema": data["schema"], "run_id": data["run_id"]}
    ordered |= {key: data[key] for key in sorted(data) if key not in ordered}
    lines = [f" {json.dumps(key)}: {_value(value, known)}" for key, value in ordered.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _value(value: Any, written: Written) -> str:
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return _indented(value, 1)
    for one in value:
        if id(one) not in written:
            written[id(one)] = (one, _indented(one, 2))
    return "[\n  " + ",\n  ".join(written[id(one)][1] for one in value) + "\n ]"


def _indented(value: Any, depth: int) -> str:
    """Return JSON of one value a line, as it stands at a depth: no text of JSON holds a line's end."""
    return json.dumps(value, indent=1, allow_nan=False).replace("\n", "\n" + " " * depth)


def rows(data: Mapping[str, Any]) -> bytes:
    """A large document: each entry of its tables on a line of its own, which is fast to write."""
    ordered = {"schema": data["schema"], "run_id": data["run_id"]}
    ordered |= {key: data[key] for key in sorted(data) if key not in ordered}
    return ("{\n" + ",\n".join(_row(key, value) for key, value in ordered.items()) + "\n}\n").encode("ascii")


def _row(key: str, value: Any) -> str:
    if not value or not isinstance(value, dict):
        return f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
    inner = (f" {json.dumps(name)}: {json.dumps(entry, allow_nan=False)}" for name, entry in value.items())
    return f"{json.dumps(key)}: {{\n" + ",\n".join(inner) + "\n}"


def free_name(path: Path) -> Path:
    """Return a name beside a torn file that nothing has."""
    number = 1
    while (candidate := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    return candidate
