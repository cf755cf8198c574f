"""What a fleet keeps beside its runs: who works on what now, what happened, and what its programs said.

Nothing here decides what is answered: that stands in the runs. A folder that lost it goes on all the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bmwg.drivers.undo.locks import held
from bmwg.reports.fleet.plan import Fleet
from bmwg.reports.store.files import not_written, utc_text

EVENTS = "events.jsonl"
STUCK = "stuck"  # a run that could not go on: the shard begins another attempt


class FleetState:
    """The folder `fleet-<hash>` below the results. Lines are only ever added to what happened."""

    def __init__(self, results: Path, fleet: Fleet) -> None:
        self.folder = results / f"fleet-{fleet.sha256[:12]}"

    def make(self) -> None:
        """Make the folder. Raises TestbedError STORE-08."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_written(self.folder, error) from error

    def note(self, event: str, *, shard: int, run: str = "", testbed: str = "", why: str = "") -> None:
        """Add what happened, durably: one line, in one write. Raises TestbedError STORE-08."""
        told = {
            "at": utc_text(datetime.now(UTC)),
            "event": event,
            "shard": shard,
            "run": run,
            "testbed": testbed,
            "why": why,
        }
        path = self.folder / EVENTS
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, (json.dumps(told) + "\n").encode("ascii"))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise not_written(path, error) from error

    def stuck(self) -> frozenset[str]:
        """Return the runs that could not go on. A line that was cut off says nothing."""
        try:
            lines = (self.folder / EVENTS).read_text("ascii", errors="replace").splitlines()
        except OSError:
            return frozenset()
        return frozenset(run for line in lines if (run := _stuck_run(line)))

    @contextmanager
    def working(self, shard: int, testbed: str) -> Iterator[None]:
        """Have a shard and a testbed for this process alone. Raises TestbedError LOCK-01, LOCK-02."""
        locks = self.folder / "locks"
        with held(f"shard {shard} of this fleet", locks), held(f"testbed {testbed}", locks):
            yield


def _stuck_run(line: str) -> str:
    try:
        told = json.loads(line)
    except ValueError:
        return ""
    return str(told.get("run", "")) if isinstance(told, dict) and told.get("event") == STUCK else ""
