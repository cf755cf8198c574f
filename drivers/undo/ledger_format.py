"""The files of a ledger as data: its lines, and its entry in the machine's index. Reading only."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import TestbedError

_PATH_MAX, _NAME_MAX = 4096, 255  # what Linux takes
_NAMESPACE = ("name", "pid", "start_ticks")
_PLACES: Mapping[str, tuple[str, ...]] = {
    "local": (),
    "ssh": ("destination", "name"),
    "namespace": _NAMESPACE,
    "host_namespace": (*_NAMESPACE, "host"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act that is not undone yet. `place` says where.

    Its kind is `local` (the machine of the runner), `namespace` (a node there), `ssh` (a host) or
    `host_namespace` (a node on a host).
    """

    number: int
    kind: str
    place: Mapping[str, JsonValue]
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


def read_index(index: Path) -> dict[str, Any] | None:
    """Return what an entry of the index says: ledger, pid, start_ticks; None when it is no such entry."""
    try:
        runner = json.loads(index.read_bytes())
        kinds = {key: type(runner[key]) for key in ("ledger", "pid", "start_ticks")}
    except (OSError, ValueError, RecursionError, TypeError, KeyError, IndexError):
        return None
    if kinds != {"ledger": str, "pid": int, "start_ticks": int} or not runner["ledger"].startswith("/"):
        return None
    path = runner["ledger"]
    return runner if "\0" not in path and len(path) < _PATH_MAX and _encodable(path) else None


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return all(len(part) <= _NAME_MAX for part in path.split("/"))


def read_entries(path: Path, kinds: Collection[str]) -> tuple[dict[int, Entry], int]:
    """Return what of a ledger is not undone yet, and the next free number; a torn last line is cut off.

    Raises TestbedError LEDGER-01.
    """
    pending: dict[int, Entry] = {}
    following = 1
    for line_number, line in _lines(path):
        try:
            document = json.loads(line)
            if "done" in document:
                pending.pop(document["done"], None)
                continue
            entry = _entry(document, kinds)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TestbedError(
                "LEDGER-01",
                f"{path} line {line_number}",
                expected="an entry of this format",
                found=str(error),
            ) from error
        pending[entry.number] = entry
        following = max(following, entry.number + 1)
    return pending, following


def _entry(document: Any, kinds: Collection[str]) -> Entry:
    entry = Entry(**document)
    if entry.kind not in kinds:
        raise ValueError(f"unknown kind {entry.kind!r}")
    if type(entry.number) is not int or not isinstance(entry.arguments, dict):
        raise ValueError("number and arguments are not what they must be")
    place = entry.place if isinstance(entry.place, dict) else {}
    lacking = [key for key in _PLACES[str(place["kind"])] if key not in place]
    if lacking:
        raise ValueError(f"a place without {', '.join(lacking)}")
    return entry


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.exists():
        return
    data = path.read_bytes()
    whole, _, torn = data.rpartition(b"\n")
    if torn:  # the run was killed while writing; its act had not begun, since that waits for fsync
        with path.open("r+b") as stream:
            stream.truncate(len(data) - len(torn))
    yield from enumerate((line for line in whole.split(b"\n") if line), start=1)
