"""The folder of a run: made once, never taken over; and those that lie in a folder of results."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store.files import not_written, sync_folder
from bmwg.reports.store.read import RUN_FILE

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TRIES = 8  # random suffixes tried before we say that the folder is the trouble


def new_folder(results_dir: Path, run_id: str | None, started: datetime) -> Path:
    """Make the folder of a run, named by its id or by the time. Raises ConfigError STORE-09, TestbedError."""
    if run_id is not None and not _RUN_ID.fullmatch(run_id):
        raise ConfigError(
            "STORE-09",
            f"run id {run_id!r}: cannot name a folder",
            expected="1..64 letters, digits, dots, dashes and underscores, a letter or digit first",
            found=repr(run_id),
        )
    stamp = started.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        results_dir.mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            folder = results_dir / (run_id or f"{stamp}-{secrets.token_hex(3)}")
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                if run_id is not None:
                    break
            else:
                sync_folder(results_dir)
                return folder
    except OSError as error:
        raise not_written(results_dir, error) from error
    raise ConfigError(
        "STORE-09",
        f"{folder}: exists already; no run is ever overwritten, and nothing was started",
        hint="leave the run id out, or name another",
    )


def run_folders_in(places: Iterable[Path]) -> list[Path]:
    """Return the run folders that are named, or lie in a folder that is.

    Raises ConfigError STORE-11 for a place without any.
    """
    found: list[Path] = []
    for place in places:
        inner = (
            [place]
            if (place / RUN_FILE).is_file()
            else sorted(path.parent for path in place.glob(f"*/{RUN_FILE}"))
        )
        if not inner:
            raise ConfigError(
                "STORE-11",
                f"{place}: no run",
                expected="a run's folder or id, or a folder of run folders",
                found="none",
            )
        found += inner
    return found
