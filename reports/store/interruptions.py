"""When a run was cut off and went on: what is kept of it, and the note of the trial that is under way.

The note is a file of its own, written over before each trial and not synced: it outlives the process, and
after a power cut its absence costs one sentence, never a trial.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.methodology.search.offer import Spec
from bmwg.reports.store.files import not_written

UNDER_WAY_FILE = "under_way.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PAGE_OCTETS = 4096
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_KEYS = {"after_trial": int, "cell": str, "phase": str, "load_fps": int, "at": str, "boot": str}


def boot_id() -> str:
    """Return the kernel's random name of the time since the last boot; empty where there is none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class UnderWay:
    """The note of one run, written in place: one page, so that a kill leaves the former or the new one."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / UNDER_WAY_FILE
        self._handle = -1
        self._boot = boot_id()

    def note(self, *, after_trial: int, cell_id: str, phase: str, spec: Spec, at: str) -> None:
        """Say which trial is about to run. Raises TestbedError STORE-08."""
        note = {
            "after_trial": after_trial,
            "cell": cell_id,
            "phase": phase,
            "load_fps": spec.load,  # in the unit of its kind, as the bounds of a search
            "at": at,
            "boot": self._boot,
        }
        page = (json.dumps(note) + "\n").encode("ascii").rjust(_PAGE_OCTETS)
        try:
            if self._handle < 0:
                self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._handle, page, 0)
        except OSError as error:
            raise not_written(self._path, error) from error

    def forget(self) -> None:
        """Drop the note of a run that has come to its end."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the file; the note stays. Safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def describe(
    folder: Path,
    run: Mapping[str, Any],
    *,
    trials: int,
    last_sign_at: str,
    noticed_at: str,
    repairs: list[str],
) -> dict[str, Any]:
    """Return the entry of `interruptions` for a run that is about to be continued.

    `reason` is what the run itself said when it ended; of a run that said nothing, what can be told.
    """
    note = _note(folder)
    signs = [last_sign_at, note["at"] if note else ""]
    reason = run["interruption"]
    if run["status"] == "running":
        reason = "the runner ended without a word: killed, or out of power"
        if note and note["boot"] and boot_id() not in ("", note["boot"]):
            reason = "the machine was started anew"
    cut_off = None
    if note and note["after_trial"] == trials:
        cut_off = {key: note[key] for key in ("cell", "phase", "load_fps", "at")}
    return {
        "ended_at": run["ended_at"],
        "last_sign_at": max(signs),
        "noticed_at": noticed_at,
        "reason": reason or "no reason was recorded",
        "after_trial": trials,
        "trial_cut_off": cut_off,
        "repairs": repairs,
    }


def _note(folder: Path) -> dict[str, Any] | None:
    """Read the note; anything that is not exactly one counts as none."""
    try:
        descriptor = os.open(folder / UNDER_WAY_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            note = json.loads(os.read(descriptor, _PAGE_OCTETS))
        finally:
            os.close(descriptor)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(note, dict) or note.keys() != _KEYS.keys():
        return None
    if any(type(note[key]) is not kind for key, kind in _KEYS.items()) or note["load_fps"] < 1:
        return None
    if not (_UTC.fullmatch(note["at"]) and 0 < len(note["cell"]) <= 400 and note["phase"]):
        return None
    return note
